"""Findings about pools on EKS that no single layer sees: image, zones, purchase, raw arguments."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpufleet.contract.node_group import judge_node_group
from gpufleet.findings import Finding, Severity, error, warning
from gpufleet.fleet.autoscaler_rules import judge_scaled_group
from gpufleet.fleet.eks_shape import EksShape, eks_shape
from gpufleet.fleet.eks_tags import judge_tags
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership, Platform
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Provisioner

_ZONE_OF_REGION = re.compile(r"^(-[a-z]+-[0-9]+)?[a-z]$")
"""What follows the region: `a`, or of a local zone `-lax-1a`."""
_LINUX_RELEASE = re.compile(r"^(1\.[0-9]+)\.[0-9]+-([0-9]{8})$")
_BOTTLEROCKET_RELEASE = re.compile(r"^([0-9]+\.[0-9]+\.[0-9]+)-[0-9a-f]{6,12}$")

LATEST = "latest"
PROD = "prod"
"""Environment whose images must be pinned."""

WIRED = ("clusterName", "nodeRoleArn", "subnetIds", "launchTemplate", "nodeGroupName", "userData")
"""Raw arguments that are refused: components wire them, or identity hangs on them."""


def judge_eks(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """Everything of this kind about the pools that gpufleet makes."""
    if spec.platform is not Platform.EKS:
        return []
    findings = judge_tags(spec.tags, "tags")
    for pool in pools:
        if pool.ownership is Ownership.EXISTING:
            continue
        shape = eks_shape(pool)
        findings += [
            *_image(pool, shape, spec),
            *_zones(pool, shape, spec),
            *_purchase(pool, shape),
            *judge_scaled_group(pool),
            *_raw(pool, shape),
        ]
    return findings


def release_of(version: str) -> tuple[str, str | None] | None:
    """What Karpenter calls an AMI release, and the Kubernetes minor it is for, where it says so.

    `1.36.0-20261101` is `v20261101` for 1.36; `1.52.0-7a6b3c1d` is `v1.52.0`. None: neither form.
    """
    if found := _LINUX_RELEASE.match(version):
        return f"v{found[2]}", found[1]
    if found := _BOTTLEROCKET_RELEASE.match(version):
        return f"v{found[1]}", None
    return None


def _image(pool: Pool, shape: EksShape, spec: FleetSpec) -> Iterable[Finding]:
    image, options = pool.image, shape.options
    wanted = spec.cluster.kubernetes_version
    last = None if image is None else image.last_kubernetes
    if image is not None and last is not None and _minor(wanted) > _minor(last):
        yield error(
            "image-not-for-kubernetes",
            f"{pool.path}.image",
            f"{image.key} is published up to Kubernetes {last}, and the cluster is {wanted}",
            "write `image: al2023-nvidia`",
            found=wanted,
            limit=last,
        )
    if shape.custom and options.ami_id is None:
        yield error(
            "image-id-missing",
            f"{pool.path}.eks.amiId",
            f"EKS publishes no image {image.key if image else '?'} for "
            f"{pool.machines[0].architecture}",
            "name yours: `eks: {amiId: ami-...}`, or choose al2023-nvidia",
        )
    if shape.efa and image is not None and not image.efa:
        yield warning(
            "image-without-efa",
            f"{pool.path}.image",
            f"{image.key} is not known to bring the EFA driver: nodes may have interfaces that no "
            "pod can use",
            "write `image: al2023-nvidia`",
            found=image.key,
        )
    if options.release_version == LATEST or options.release_version is None:
        if options.ami_id is None:
            yield from _unpinned(
                pool, options.release_version, spec.environment, spec.cluster.kubernetes_version
            )
    else:
        yield from _release(pool, shape, options.release_version, wanted)


def _unpinned(
    pool: Pool, written: str | None, environment: str, kubernetes_version: str
) -> Iterable[Finding]:
    """`latest`, written or not: fatal where it is written for a prod cluster, and never silent."""
    prod = environment == PROD
    if not prod and written is None:
        return
    karpenter = pool.provisioner is Provisioner.KARPENTER
    yield (error if prod and written is not None else warning)(
        "image-not-pinned",
        f"{pool.path}.eks.releaseVersion",
        (
            "Karpenter takes the alias `latest`, and each release of the image replaces all nodes"
            if karpenter
            else "the newest image of the day is taken: two groups of one declaration may differ"
        )
        + ("; deploying it to prod is refused" if prod and karpenter and written is None else ""),
        f'write `eks: {{releaseVersion: "{kubernetes_version}.0-<date>"}}`, with a '
        "release you tested",
        environment=environment,
    )


def pinning_missing(pool: Pool, environment: str, kubernetes_version: str) -> list[Finding]:
    """What `judge_eks` only warns of, so that plans can be made, and what deploying refuses."""
    options = pool.spec.eks
    pinned = options is not None and (options.release_version or options.ami_id)
    if environment != PROD or pool.provisioner is not Provisioner.KARPENTER or pinned:
        return []
    found = _unpinned(pool, None, environment, kubernetes_version)
    return [replace(one, severity=Severity.ERROR) for one in found]


def _release(pool: Pool, shape: EksShape, found: str, wanted: str) -> Iterable[Finding]:
    form = "1.52.0-7a6b3c1d" if shape.bottlerocket else f"{wanted}.0-20261101"
    known = release_of(found)
    if known is None or shape.bottlerocket != (known[1] is None):
        yield error(
            "image-release-unreadable",
            f"{pool.path}.eks.releaseVersion",
            f"{found!r} is no release of this image",
            f"write it as {form}",
            found=found,
        )
    elif known[1] is not None and known[1] != wanted:
        yield error(
            "image-release-for-other-kubernetes",
            f"{pool.path}.eks.releaseVersion",
            f"release {found} is for Kubernetes {known[1]}, and the cluster is {wanted}",
            f"choose a release that begins with {wanted}.",
            found=known[1],
            limit=wanted,
        )


def _minor(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _zones(pool: Pool, shape: EksShape, spec: FleetSpec) -> Iterable[Finding]:
    region = spec.cluster.region
    for index, zone in enumerate(pool.spec.zones):
        if region is not None and not _is_zone(zone, region):
            yield error(
                "zone-not-in-region",
                f"{pool.path}.zones[{index}]",
                f"{zone} is no zone of {region}",
                f"write it as {region}a",
                found=zone,
                limit=region,
            )
    if shape.one_zone is not None and len(shape.zones) > 1:
        yield error(
            "zones-too-many",
            f"{pool.path}.zones",
            f"{', '.join(shape.zones)} are {len(shape.zones)} zones, and {shape.one_zone}",
            f"write `zones: [{shape.zones[0]}]`, and make a pool for each zone",
            found=list(shape.zones),
            limit=1,
        )
    for index, entry in enumerate(pool.capacity):
        bought = entry.capacity_block or entry.reserved
        if bought is None or bought.zone is None:
            continue
        place = f"{pool.path}.capacity[{index}].{entry.mode}.zone"
        if region is not None and not _is_zone(bought.zone, region):
            yield error(
                "zone-not-in-region",
                place,
                f"{bought.zone} is no zone of {region}",
                "a reservation of another region cannot be used here",
                found=bought.zone,
                limit=region,
            )
        if pool.spec.zones and bought.zone not in pool.spec.zones:
            yield error(
                "reservation-in-other-zone",
                place,
                f"the reservation is in {bought.zone}, and the pool's zones are "
                f"{', '.join(pool.spec.zones)}",
                f"write `zones: [{bought.zone}]`, or remove `zones`",
                found=bought.zone,
                allowed=list(pool.spec.zones),
            )


def _is_zone(zone: str, region: str) -> bool:
    return zone.startswith(region) and bool(_ZONE_OF_REGION.match(zone.removeprefix(region)))


def _purchase(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    modes = [entry.mode for entry in pool.capacity]
    group = pool.provisioner is not Provisioner.KARPENTER
    if "reserved" in modes and group and len(pool.machines) > 1:
        yield error(
            "reservation-one-type",
            f"{pool.path}.instanceTypes",
            f"a reservation is of one instance type, and {len(pool.machines)} are possible",
            "name the reservation's type alone in instanceTypes",
            found=[machine.name for machine in pool.machines],
        )
    if "reserved" in modes and group and len(shape.zones) != 1:
        yield error(
            "reservation-zone-missing",
            f"{pool.path}.capacity[{modes.index('reserved')}].reserved.zone",
            "a reservation is in one zone, and the group would launch in every zone with a subnet",
            "add `zone: us-east-1a`, the reservation's own",
            found=list(shape.zones),
        )
    for index, entry in enumerate(pool.capacity):
        if entry.reserved is not None and not entry.reserved.id.startswith("cr-"):
            yield error(
                "reservation-id",
                f"{pool.path}.capacity[{index}].reserved.id",
                f"{entry.reserved.id!r} is no EC2 capacity reservation",
                "write its id, cr- and 17 hexadecimal digits",
                found=entry.reserved.id,
            )
    if shape.capacity_type == "CAPACITY_BLOCK" and pool.nodes.minimum > 0 and group:
        yield warning(
            "capacity-block-min-nodes",
            f"{pool.path}.nodes.min",
            f"min is {pool.nodes.minimum}: before the block begins and after it ended, the group "
            "tries and fails to start nodes",
            "write 0, and scale when the block begins",
            found=pool.nodes.minimum,
        )
    if "spot" in modes and len(pool.machines) == 1:
        yield warning(
            "spot-one-type",
            f"{pool.path}.instanceTypes",
            f"spot capacity of {pool.machines[0].name} alone: when that type is gone, so is the "
            "pool",
            "name several types of the same GPU and count, or add `onDemand` behind spot",
            found=pool.machines[0].name,
        )


def _raw(pool: Pool, shape: EksShape) -> Iterable[Finding]:
    options = shape.options
    paths = f"{pool.path}.eks.nodeGroup", f"{pool.path}.eks.launchTemplate"
    raw = (options.node_group, options.launch_template)
    for arguments, path in zip(raw, paths, strict=True):
        for key in WIRED:
            if key in arguments:
                yield error(
                    "raw-argument-wired",
                    f"{path}.{key}",
                    f"{key} follows from the connection and the declaration",
                    "remove it here and give it in `connection`",
                    found=key,
                )
    if options.node_group and pool.provisioner is Provisioner.KARPENTER:
        yield error(
            "raw-argument-without-node-group",
            paths[0],
            f"Karpenter makes the nodes of {pool.name}, and there is no node group",
            "remove it, or write `provisioner: managed`",
        )
    types = [machine.name for machine in pool.machines]
    one = shape.capacity_type == "CAPACITY_BLOCK"
    group = {
        "capacityType": shape.capacity_type,
        **({} if one else {"instanceTypes": types}),
        **({} if shape.custom else {"amiType": shape.ami_type}),
        **options.node_group,
    }
    template = {
        **({"instanceType": types[0]} if one else {}),
        **(_BLOCK if one else {}),
        **({"networkInterfaces": [_PRIMARY]} if shape.efa else {}),
        **options.launch_template,
    }
    if options.node_group or options.launch_template:
        yield from judge_node_group(group, template, *paths)


_BLOCK = {
    "instanceMarketOptions": {"marketType": "capacity-block"},
    "capacityReservationSpecification": {
        "capacityReservationTarget": {"capacityReservationId": ""}
    },
}
_PRIMARY = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
