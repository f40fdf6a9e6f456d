"""Managed node group of an EKS pool: `aws:eks/nodeGroup` in the provider's spelling.

The component adds cluster, role, subnets and launch template.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.layout_waves import group_labels as labels_of_group
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.taint_effects import EFFECTS
from gpufleet.platforms.eks.autoscaler_tags import autoscaler_tags, node_group_labels
from gpufleet.platforms.eks.launch_template import NODES
from gpufleet.platforms.eks.names import name_prefix, pool_tags
from gpufleet.platforms.eks.node_repair_rules import repair_config
from gpufleet.platforms.eks.rules import LATEST
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.spec.platforms.eks import UpdateStrategy
from gpufleet.spec.pool import Provisioner

_rules = rules_in(__file__)

STRATEGIES = {UpdateStrategy.MINIMAL: "MINIMAL", UpdateStrategy.SURGE: "DEFAULT"}

CREATION_ONLY: Sequence[str] = data_part(NODES, "createdWith")
"""Arguments that an imported group keeps."""

MANAGED: Sequence[str] = data_part(NODES, "managed")
"""Arguments that an imported group gets once it is managed."""

DESIRED = "scalingConfig.desiredSize"
"""Set once: afterwards it belongs to the autoscaler."""


@dataclass(frozen=True, slots=True)
class GroupSize:
    """The size of a node group as EKS reports it, in nodes."""

    minimum: int
    maximum: int
    desired: int


def scaled(
    scaling: Mapping[str, Any], present: GroupSize | None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """`scalingConfig` of the request, and the part of it that the engine must ignore.

    The provider sends all three sizes whenever one differs from the engine's state. An ignored
    `desiredSize` would be that of the state: a group that was scaled up would shrink, and EKS
    refuses a new minimum above it or a new maximum below it. So new bounds are sent together with
    the present size, moved into them; with the same bounds the size is ignored.

    Args:
        scaling: The declared `scalingConfig`.
        present: The present size of the group; None for one that does not exist.
    """
    declared = dict(scaling)
    least, most = declared.get("minSize"), declared.get("maxSize")
    if present is None or least is None or most is None:
        return declared, (DESIRED,)
    if (present.minimum, present.maximum) == (least, most):
        return declared, (DESIRED,)
    return {**declared, "desiredSize": min(max(present.desired, least), most)}, ()


def node_group(
    pool: Pool, shape: EksShape, prefix: str, tags: Mapping[str, str], kubernetes_version: str
) -> dict[str, Any]:
    """The arguments, without values of other resources."""
    options, release = shape.options, shape.options.release_version
    block = shape.capacity_type == "CAPACITY_BLOCK"
    arguments = data_part(
        NODES,
        "nodeGroup",
        **dict(options),
        prefix=name_prefix(prefix, pool.name, "node group"),
        capacity_type=shape.capacity_type,
        labels=group_labels(pool),
        taints=[
            {"key": taint.key, "value": taint.value, "effect": EFFECTS[taint.effect]}
            for taint in pool.taints
        ],
        least=pool.nodes.minimum,
        most=pool.nodes.maximum,
        max_unavailable=min(options.update.max_unavailable, pool.nodes.maximum),
        strategy=STRATEGIES[options.update.strategy],
        repair=repair_config(pool),
        tags={**pool_tags(pool, prefix, tags), **(autoscaler_tags(pool) or {})},
        types=None if block else [machine.name for machine in pool.machines],
        ami_type=None if shape.custom else shape.ami_type,
        version=None if shape.custom else kubernetes_version,
        release=None if shape.custom or release == LATEST else release,
    )
    for entry in pool.capacity:
        if entry.capacity_block is not None:
            window = entry.capacity_block
            arguments["tags"]["gpufleet.dev/capacity-block-until"] = window.until.isoformat()
            if window.starts is not None:
                arguments["tags"]["gpufleet.dev/capacity-block-starts"] = window.starts.isoformat()
    return {**arguments, **shape.options.node_group}


def group_labels(pool: Pool) -> dict[str, str]:
    """Labels with which nodes of the group register."""
    if pool.provisioner is Provisioner.CLUSTER_AUTOSCALER:
        return node_group_labels(pool)
    return dict(labels_of_group(pool))


def chosen_zones(
    pool: Pool, shape: EksShape, available: Collection[str]
) -> tuple[tuple[str, ...], list[Finding]]:
    """The zones of the pool's subnets, among the zones of the connection."""
    there = sorted(available)
    wanted = shape.zones or tuple(there)
    missing = [zone for zone in wanted if zone not in available]
    known = {"there": there, "shown": ", ".join(there) or "-", "wanted": wanted, "missing": missing}
    return wanted, list(_rules("zones", pool.path, pool=pool, shape=shape, **known))
