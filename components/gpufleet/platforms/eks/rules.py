"""Findings about pools on EKS about several layers: image, zones, raw arguments, and capacity:
reservations, Capacity Blocks, spot, UltraServers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpufleet.contract.driver_ranges import is_older
from gpufleet.findings import Finding, Severity, error, findings_in, rules_in, warning
from gpufleet.fleet.autoscaler_rules import validate_scaled_group
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.clouds.aws_capacity import (
    reservation_group_region,
    validate_block,
    validate_zones,
)
from gpufleet.platforms.clouds.aws_tags import (
    validate_karpenter_tags,
    validate_role_tags,
    validate_tags,
)
from gpufleet.platforms.eks.bottlerocket import validate_bottlerocket
from gpufleet.platforms.eks.node_repair_rules import validate_node_repair
from gpufleet.platforms.eks.shape import EksShape, eks_shape, is_reserved
from gpufleet.platforms.unused_options import unused_options
from gpufleet.spec.base import Ownership
from gpufleet.spec.capacity import Capacity
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

_RESERVATION = re.compile(r"^cr-[0-9a-f]+$")


def validate_purchase(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Findings about reservations, blocks and spot, in addition to those of `capacity_rules`."""
    yield from _reservations(pool, shape)
    yield from validate_block(pool)
    yield from _placement(pool, shape)


def _reservations(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    modes = [entry.mode for entry in pool.capacity if not _of_group(entry)]
    group = not pool.provisioner.by_node_pool
    yield from _rules("reservation", pool.path, pool=pool, modes=modes)
    if "reserved" in modes and group and len(shape.zones) != 1:
        yield _finding(
            "reservation-zone-missing", f"{pool.path}.capacity[{_place(pool)}]", found=shape.zones
        )
    for index, entry in enumerate(pool.capacity):
        if entry.reserved is not None:
            yield from _reservation_id(pool, f"{pool.path}.capacity[{index}].reserved.id", entry)


def _placement(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    group = not pool.provisioner.by_node_pool
    if group and "placement" in shape.options.launch_template:
        return  # an existing group
    if shape.placement_group and is_reserved(pool):
        yield _finding(
            "reservation-placement-group",
            pool.path,
            fix=(
                "remove `placementGroup`"
                "; an existing group is named in "
                + ("`eks.launchTemplate.placement`" if group else "`karpenter.placementGroup`")
            ),
            found=True,
        )


def _place(pool: Pool) -> int:
    """Index of the first reservation with its own id among the capacity types."""
    ways = enumerate(pool.capacity)
    return next(i for i, one in ways if one.reserved is not None and not _of_group(one))


def _of_group(entry: Capacity) -> bool:
    """Whether it is a resource group of reservations, which may have several types and zones."""
    return entry.reserved is not None and reservation_group_region(entry.reserved.id) is not None


def _reservation_id(pool: Pool, place: str, entry: Capacity) -> Iterable[Finding]:
    assert entry.reserved is not None
    identifier = entry.reserved.id
    if not _of_group(entry):
        if not _RESERVATION.match(identifier):
            yield _finding("reservation-id", place, found=identifier)
        return
    if pool.provisioner.by_node_pool:
        yield _finding("reservation-group-with-karpenter", place, found=identifier)


_MACHINES = {"p6e-gb200": 9, "trn2u": 4}
"""Family -> machines of the smallest UltraServer."""
_SINCE = (1, 33)
"""First Kubernetes minor with P6e UltraServers on EKS."""


def validate_ultraserver(pool: Pool, kubernetes_version: str) -> Iterable[Finding]:
    """Machines that are sold and connected as one unit (Amazon EKS user guide
    `ml/ml-eks-nvidia-ultraserver` 00e3293, P6e-GB200: 9 or 18 machines, Kubernetes 1.33, claims, no
    MIG with the driver of the AMI; Amazon EC2, Trn2 UltraServers: 4 machines; read 2026-11-23)."""
    row = pool.machines[0].instance
    size = None if row is None else _MACHINES.get(row.family)
    if row is None or size is None:
        return
    if pool.nodes.maximum % size:
        yield warning(
            "ultraserver-in-part",
            f"{pool.path}.nodes.max",
            f"a block of {row.name} has whole UltraServers of {size} machines"
            + (" or 18" if row.family == "p6e-gb200" else "")
            + f", and {pool.nodes.maximum} are declared: the rest is paid and not used",
            f"write a multiple of {size}",
            found=pool.nodes.maximum,
            limit=size,
        )
    if row.family == "p6e-gb200" and minor_of(kubernetes_version) < _SINCE:
        yield _finding("ultraserver-kubernetes-too-old", found=kubernetes_version, limit="1.33")


_LINUX_RELEASE = re.compile(r"^(1\.[0-9]+)\.[0-9]+-([0-9]{8})$")
_BOTTLEROCKET_RELEASE = re.compile(r"^([0-9]+\.[0-9]+\.[0-9]+)(-[0-9a-f]{6,12})?$")

LATEST = "latest"
PROD = "prod"
"""Environment whose images must be pinned."""

FOR_PARTS = ("al2023-nvidia",)
"""Images that choose the vGPU module on machines with a part of a GPU (awslabs/amazon-eks-ami
81fec2e, `nvidia-kmod-load.sh`)."""


def validate_eks(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All EKS findings about the pools that gpufleet creates."""
    yield from _tags(spec, pools)
    yield from validate_node_repair(pools)
    for pool in pools:
        if pool.ownership is Ownership.EXISTING:
            continue
        shape, auto = eks_shape(pool), pool.provisioner is Provisioner.AUTO_MODE
        yield from _rules("pool", pool.path, pool=pool, shape=shape)
        yield from [] if auto else _image(pool, shape, spec)
        yield from validate_zones(pool, shape.zones, shape.one_zone, spec.cluster.region)
        yield from validate_purchase(pool, shape)
        yield from validate_ultraserver(pool, spec.cluster.kubernetes_version)
        yield from validate_bottlerocket(pool)
        yield from validate_scaled_group(pool)
        yield from [] if auto else validate_raw(pool, shape)
        yield from validate_options(pool)
        yield from _key_and_pull(pool, shape, spec.cluster.region)


def _key_and_pull(pool: Pool, shape: EksShape, region: str | None) -> Iterable[Finding]:
    """EBS accepts keys of its own region (Amazon EBS user guide, encryption requirements); nodeadm
    is only on Amazon Linux 2023 (awslabs/amazon-eks-ami `nodeadm/internal/api/feature_gate.go`)."""
    key = shape.options.kms_key_arn
    where = None if key is None else key.split(":")[3]
    if None not in (where, region) and where != region:
        yield _finding("kms-key-in-other-region", pool.path, found=where, limit=region)
    named = pool.image is not None and not pool.image.key.startswith("al2023")
    if shape.options.fast_image_pull and named and pool.provisioner is not Provisioner.AUTO_MODE:
        yield error(
            "fast-image-pull-image",
            f"{pool.path}.eks.fastImagePull",
            "only nodes of Amazon Linux 2023 can be set to pull images in parallel, and the image "
            f"is {pool.image.key if pool.image else 'not known'}",
            "remove fastImagePull, or write `image: al2023-nvidia`",
            found=pool.image.key if pool.image else None,
        )


def _tags(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    made = [pool.provisioner for pool in pools if pool.ownership is not Ownership.EXISTING]
    roles = {
        Provisioner.KARPENTER: spec.addons.karpenter,
        Provisioner.CLUSTER_AUTOSCALER: spec.addons.cluster_autoscaler,
    }
    findings = validate_tags(spec.tags, "tags")
    if Provisioner.KARPENTER in made:
        findings += validate_karpenter_tags(spec.tags, "tags")
    if any(provisioner in made and addon.ours for provisioner, addon in roles.items()):
        findings += validate_role_tags(spec.tags, "tags")
    return findings


def release_of(version: str) -> tuple[str, str | None] | None:
    """Karpenter's name of an AMI release, and its Kubernetes minor, if it contains one.

    `1.36.0-20261101` is `v20261101` for 1.36; `1.52.0-7a6b3c1d` is `v1.52.0`, as `1.52.0` is. None:
    neither form.
    """
    if found := _LINUX_RELEASE.match(version):
        return f"v{found[2]}", found[1]
    if found := _BOTTLEROCKET_RELEASE.match(version):
        return f"v{found[1]}", None
    return None


def _image(pool: Pool, shape: EksShape, spec: FleetSpec) -> Iterable[Finding]:
    options = shape.options
    parts = [machine.name for machine in pool.machines if machine.fraction != 1]
    yield from _rules("image", pool.path, pool=pool, parts=parts, fit=FOR_PARTS)
    if options.release_version == LATEST or options.release_version is None:
        if options.ami_id is None:
            yield from _unpinned(
                pool, options.release_version, spec.environment, spec.cluster.kubernetes_version
            )
    else:
        yield from _release(pool, shape, options.release_version, spec.cluster.kubernetes_version)


def _unpinned(
    pool: Pool, written: str | None, environment: str, kubernetes_version: str
) -> Iterable[Finding]:
    """`latest`, explicit or by default: an error if explicit for a prod cluster, else a warning."""
    prod = environment == PROD
    if not prod and written is None:
        return
    karpenter = pool.provisioner is Provisioner.KARPENTER
    yield (error if prod and written is not None else warning)(
        "image-not-pinned",
        f"{pool.path}.eks.releaseVersion",
        (
            "Karpenter uses the alias `latest`, and each release of the image replaces all nodes"
            if karpenter
            else "the newest image of the day is used: two groups of one declaration may differ"
        )
        + ("; deploying it to prod is refused" if prod and karpenter and written is None else ""),
        f'write `eks: {{releaseVersion: "{kubernetes_version}.0-<date>"}}`, with a '
        "release you tested",
        environment=environment,
    )


def pinning_missing(pool: Pool, environment: str, kubernetes_version: str) -> list[Finding]:
    """Findings that `validate_eks` reports as warnings, to allow plans, and deploying refuses."""
    options = pool.spec.eks
    pinned = options is not None and (options.release_version or options.ami_id)
    if environment != PROD or pool.provisioner is not Provisioner.KARPENTER or pinned:
        return []
    found = _unpinned(pool, None, environment, kubernetes_version)
    return [replace(one, severity=Severity.ERROR) for one in found]


def _release(pool: Pool, shape: EksShape, found: str, wanted: str) -> Iterable[Finding]:
    form = "1.52.0-7a6b3c1d" if shape.bottlerocket else f"{wanted}.0-20261101"
    known = release_of(found)
    karpenter = pool.provisioner is Provisioner.KARPENTER
    # EKS names a release of Bottlerocket with its commit; Karpenter's alias has only the version.
    short = shape.bottlerocket and "-" not in found and not karpenter
    if known is None or shape.bottlerocket != (known[1] is None) or short:
        yield _finding("image-release-unreadable", pool.path, found=found, form=form)
    elif known[1] is not None and known[1] != wanted:
        yield _finding(
            "image-release-for-other-kubernetes",
            pool.path,
            release=found,
            found=known[1],
            limit=wanted,
        )
    elif known[1] is not None:
        yield from validate_release_driver(pool, known[0])


def validate_release_driver(pool: Pool, release: str) -> Iterable[Finding]:
    """A release, `v20260801`, that is older than the image's branch for the pool's GPU."""
    image, support = pool.image, pool.gpu.support
    if image is None or support is None or pool.gpu.key not in image.branches:
        return
    branch, first = image.branches[pool.gpu.key]
    before = image.driver_branch
    needed = support.first_driver
    if before is None or needed is None or not is_older(before, needed):
        return
    if release.removeprefix("v") >= first:
        return
    yield _finding(
        "driver-not-for-gpu",
        pool.path,
        found=release,
        image=image.key,
        before=before,
        gpu=pool.gpu.key,
        needed=needed,
        pool=pool.name,
        limit=first,
        branch=branch,
    )


_CODES = {
    Provisioner.KARPENTER: ("karpenter-decides", "Karpenter"),
    Provisioner.AUTO_MODE: ("auto-mode-decides", "EKS Auto Mode"),
}


def validate_options(pool: Pool) -> Iterable[Finding]:
    """Each written option that has no effect. Sources: Amazon EKS user guide,
    `automode/create-node-class` 6121ad5 (fields of the NodeClass); the definitions karpenter.sh/v1
    and karpenter.k8s.aws/v1 of v1.14.1."""
    for section, name, because in unused_options(pool, Path(__file__).parent):
        code, who = _CODES[pool.provisioner]
        instead = "managed" if section == "eks" else "karpenter"
        yield error(
            code,
            f"{pool.path}.{section}.{name}",
            f"`{name}` has no effect with {who}: {because}",
            f"remove it, or write `provisioner: {instead}`",
            found=name,
        )


def validate_raw(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Raw arguments of a node group and its launch template."""
    rows, options = Path(__file__).parent, shape.options
    yield from validate_raw_arguments(pool, rows, "eks.nodeGroup", options.node_group)
    yield from validate_raw_arguments(pool, rows, "eks.launchTemplate", options.launch_template)
