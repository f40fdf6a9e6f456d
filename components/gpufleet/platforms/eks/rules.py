"""Findings about pools on EKS about several layers: image, zones, raw arguments, and capacity:
reservations, Capacity Blocks, spot, UltraServers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.contract.driver_ranges import is_older, version_parts
from gpufleet.contract.programs.karpenter_keys import (
    AUTO_MODE,
    AUTO_MODE_LABELS,
    WELL_KNOWN,
)
from gpufleet.contract.programs.karpenter_keys import AWS as PREFIX
from gpufleet.contract.programs.karpenter_machines import NodeRequirement, admits
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
from gpufleet.platforms.eks.efa import node_huge_pages
from gpufleet.platforms.eks.karpenter_values import karpenter_pools
from gpufleet.platforms.eks.node_repair_rules import validate_node_repair
from gpufleet.platforms.eks.shape import EksShape, eks_shape, is_reserved
from gpufleet.platforms.unused_options import unused_options
from gpufleet.spec.base import Ownership
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)


def validate_purchase(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Findings about reservations, blocks and spot, in addition to those of `capacity_rules`."""
    # A resource group of reservations may have several types and zones.
    ways = [
        (index, one.mode)
        for index, one in enumerate(pool.capacity)
        if one.reserved is None or reservation_group_region(one.reserved.id) is None
    ]
    index = next((index for index, mode in ways if mode == "reserved"), 0)
    known = {"modes": [mode for _, mode in ways], "first": f"{pool.path}.capacity[{index}]"}
    yield from _rules("reservation", pool.path, pool=pool, shape=shape, **known)
    yield from validate_block(pool)


_MACHINES = {"p6e-gb200": 9, "trn2u": 4}
"""Family -> machines of the smallest UltraServer."""


def validate_ultraserver(pool: Pool, kubernetes_version: str) -> Iterable[Finding]:
    """Machines that are sold and connected as one unit (Amazon EKS user guide
    `ml/ml-eks-nvidia-ultraserver` 00e3293, P6e-GB200: 9 or 18 machines, Kubernetes 1.33, claims, no
    MIG with the driver of the AMI; Amazon EC2, Trn2 UltraServers: 4 machines; read 2026-11-23)."""
    row = pool.machines[0].instance
    if row is None or row.family not in _MACHINES:
        return
    rest, minor = pool.nodes.maximum % (size := _MACHINES[row.family]), minor_of(kubernetes_version)
    known = {"rest": rest, "size": size, "kubernetes": kubernetes_version, "minor": minor}
    yield from _rules("ultraserver", pool.path, pool=pool, row=row, **known)


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
        key, more = shape.options.kms_key_arn, pool.nodes.maximum + 1
        known: dict[str, object] = {
            "region": spec.cluster.region,
            "key_region": key and key.split(":")[3],
        }
        known |= {"one_more": more, "reserved": is_reserved(pool)}
        yield from _rules("pool", pool.path, pool=pool, shape=shape, **known)
        yield from [] if auto else _image(pool, shape, spec)
        yield from validate_zones(pool, shape.zones, shape.one_zone, spec.cluster.region)
        yield from validate_purchase(pool, shape)
        yield from validate_ultraserver(pool, spec.cluster.kubernetes_version)
        yield from validate_bottlerocket(pool)
        yield from validate_scaled_group(pool)
        yield from [] if auto else validate_raw(pool, shape)
        yield from validate_options(pool)


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
        yield from _rules("release", pool.path, release=found, minor=known[1], wanted=wanted)
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
    known = {"release": release, "first": first, "branch": branch, "before": before}
    yield from _rules("driver", pool.path, pool=pool, needed=needed, **known)


def validate_options(pool: Pool) -> Iterable[Finding]:
    """Each written option that has no effect. Sources: Amazon EKS user guide,
    `automode/create-node-class` 6121ad5 (fields of the NodeClass); the definitions karpenter.sh/v1
    and karpenter.k8s.aws/v1 of v1.14.1."""
    for section, name, because in unused_options(pool, Path(__file__).parent):
        place = f"{pool.path}.{section}.{name}"
        known = {"because": because, "instead": "managed" if section == "eks" else "karpenter"}
        yield from _rules("unused", place, pool=pool, found=name, **known)


def validate_raw(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    """Raw arguments of a node group and its launch template."""
    rows, options = Path(__file__).parent, shape.options
    yield from validate_raw_arguments(pool, rows, "eks.nodeGroup", options.node_group)
    yield from validate_raw_arguments(pool, rows, "eks.launchTemplate", options.launch_template)


# Findings about pools that Karpenter provisions.


def validate_karpenter(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All findings about Karpenter's pools. Helm installs the folder `crds` of a chart once, and
    never changes it. Huge pages and other prices are only in a NodeOverlay. Gates are off by
    default; gpufleet switches them on if it installs Karpenter."""
    for pool in pools:
        if pool.provisioner.by_node_pool and pool.ownership is not Ownership.EXISTING:
            yield from _validate_pool(pool, pool.spec.karpenter or KarpenterPoolOptions())
    addon, ours = spec.addons.karpenter, karpenter_pools(pools)
    pinned = load(spec.catalogue, overlay=spec.catalogue_overlay).chart("karpenter").version
    release, overlay = addon.version or pinned, addon.node_overlay
    yield from _rules(
        "karpenter",
        spec=spec,
        addon=addon,
        ours=ours,
        release=release,
        version=version_parts(release),
        minor=minor_of(spec.cluster.kubernetes_version),
        overlay=addon.ownership is not Ownership.EXISTING if overlay is None else overlay,
        paged=[pool.name for pool in ours if node_huge_pages(pool)],
    )


def _validate_pool(pool: Pool, options: KarpenterPoolOptions) -> Iterator[Finding]:
    rows = Path(__file__).parent
    yield from validate_raw_arguments(pool, rows, "karpenter.nodePool", options.node_pool)
    yield from validate_raw_arguments(pool, rows, "karpenter.nodeClass", options.node_class)
    auto = pool.provisioner is Provisioner.AUTO_MODE
    prefix, labels = (AUTO_MODE, AUTO_MODE_LABELS) if auto else (PREFIX, WELL_KNOWN)
    machines = [one.instance for one in pool.machines if one.instance is not None]
    for index, wanted in enumerate(options.requirements):
        read = NodeRequirement(0, wanted.key, wanted.operator, wanted.values)
        left = {one.name for one in machines if admits(one, read)}
        yield from _rules(
            "requirement",
            f"{pool.path}.karpenter.requirements[{index}]",
            pool=pool,
            wanted=wanted,
            auto=auto,
            prefixes=[prefix],
            labels=labels,
            short=wanted.key.removeprefix(prefix),
            plain=wanted.key.removeprefix(PREFIX),
            # EC2 reports 0 GPUs for machines with a part of one.
            lost=[one.name for one in pool.machines if one.fraction != 1 and one.name not in left],
            # The catalogue does not have labels of Neuron devices.
            some=bool(left) or not machines or pool.gpu.vendor != "nvidia",
        )
