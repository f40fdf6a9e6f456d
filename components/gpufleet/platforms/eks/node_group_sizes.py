"""Asks EKS for the size a node group has now, so that new bounds leave it alone."""

from typing import Any, cast
from weakref import WeakKeyDictionary

import pulumi

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.platforms.eks.aws_objects import look_up
from gpufleet.platforms.eks.node_group_arguments import GroupSize

LIST = "aws:eks/getNodeGroups:getNodeGroups"
DESCRIBE = "aws:eks/getNodeGroup:getNodeGroup"

_LISTED: WeakKeyDictionary[pulumi.Resource, dict[str, list[str]]] = WeakKeyDictionary()
"""Component that holds pools -> cluster -> names of its groups: a fleet asks once."""


def present_size(
    component: pulumi.Resource,
    holder: pulumi.Resource | None,
    cluster: pulumi.Input[str],
    prefix: str,
    pool: str,
) -> GroupSize | None:
    """Size of the pool's group; None where there is none yet, or where it cannot be known.

    Two read-only calls: `eks:ListNodegroups`, once per fleet, and `eks:DescribeNodegroup`. When
    they are refused, the engine's memory is all there is, and a warning says so.

    Args:
        component: Whose AWS provider is asked.
        holder: What the component's pool is one of, such as a GpuFleet.
        cluster: Name of the cluster; an output cannot be waited for here.
        prefix: What the group's name begins with; the provider adds letters and digits.
        pool: Name of the pool, which its group is tagged with.
    """
    if not isinstance(cluster, str):
        return None
    try:
        names = _names(component, holder, cluster)
        found = [
            group
            for name in sorted(names)
            if name.startswith(prefix) and "-" not in name.removeprefix(prefix)
            for group in [_described(component, cluster, name)]
            if (group.get("tags") or {}).get(POOL_LABEL) == pool
        ]
    except _NotAskedError as problem:
        return _unknown(component, pool, problem)
    return _size(found[-1]) if found else None  # the provider's suffixes grow with time


def imported_size(
    component: pulumi.Resource, cluster: pulumi.Input[str], name: str, pool: str
) -> GroupSize | None:
    """Size of a group whose name is known, as `present_size`."""
    if not isinstance(cluster, str):
        return None
    try:
        return _size(_described(component, cluster, name))
    except _NotAskedError as problem:
        return _unknown(component, pool, problem)


class _NotAskedError(Exception):
    """A look-up without an answer."""


def _names(component: pulumi.Resource, holder: pulumi.Resource | None, cluster: str) -> list[str]:
    known: dict[str, list[str]] = {} if holder is None else _LISTED.setdefault(holder, {})
    if cluster not in known:
        known[cluster] = list(_ask(component, LIST, {"clusterName": cluster}).get("names") or [])
    return known[cluster]


def _described(component: pulumi.Resource, cluster: str, name: str) -> dict[str, Any]:
    return _ask(component, DESCRIBE, {"clusterName": cluster, "nodeGroupName": name})


def _ask(component: pulumi.Resource, function: str, arguments: dict[str, str]) -> dict[str, Any]:
    """The answer; empty for a cluster or group that does not exist yet."""
    try:
        answer = look_up(component, function, arguments)
    except Exception as problem:  # the SDK raises plain Exception for every refusal
        if "ResourceNotFoundException" in str(problem) or "No cluster found" in str(problem):
            return {}
        raise _NotAskedError(str(problem)) from problem
    return cast("dict[str, Any]", answer or {})


def _size(group: dict[str, Any]) -> GroupSize | None:
    scaling = next(iter(group.get("scalingConfigs") or ()), None)
    if scaling is None:
        return None
    return GroupSize(int(scaling["minSize"]), int(scaling["maxSize"]), int(scaling["desiredSize"]))


def _unknown(component: pulumi.Resource, pool: str, problem: _NotAskedError) -> None:
    pulumi.log.warn(
        f"the present size of {pool} is not known, and new bounds would send the size of the last "
        f"deployment: allow eks:ListNodegroups and eks:DescribeNodegroup, or refresh first "
        f"({problem})",
        component,
    )
