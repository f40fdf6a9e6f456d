"""Reads the present size of a node group from EKS, so that new bounds do not change it."""

from typing import Any, cast

import pulumi

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.platforms.eks.aws_objects import look_up
from gpufleet.platforms.eks.node_group_arguments import GroupSize

LIST = "aws:eks/getNodeGroups:getNodeGroups"
DESCRIBE = "aws:eks/getNodeGroup:getNodeGroup"


class ClusterGroups:
    """The node groups of a cluster: a fleet lists their names once."""

    def __init__(self, cluster: str | None) -> None:
        """Read nothing yet.

        Args:
            cluster: Name of the cluster. None if it is an output, which cannot be waited for here:
                nothing is read then.
        """
        self._cluster = cluster
        self._names: list[str] | None = None

    def present_size(self, component: pulumi.Resource, prefix: str, pool: str) -> GroupSize | None:
        """Size of the pool's group; None if it does not exist yet, or cannot be read.

        Two read-only calls: `eks:ListNodegroups`, once per fleet, and `eks:DescribeNodegroup`. If
        they are refused, only the engine's state is known, and a warning reports it.

        Args:
            component: Resource with the AWS provider.
            prefix: Prefix of the group's name; the provider adds letters and digits.
            pool: Name of the pool, which is a tag of its group.
        """
        if self._cluster is None:
            return None
        try:
            found = [
                group
                for name in sorted(self._listed(component, self._cluster))
                if name.startswith(prefix) and "-" not in name.removeprefix(prefix)
                for group in [_described(component, self._cluster, name)]
                if _tags(group).get(POOL_LABEL) == pool
            ]
        except _NotAskedError as problem:
            return _unknown(component, pool, problem)
        return _size(found[-1]) if found else None  # the provider's suffixes grow with time

    def imported_size(self, component: pulumi.Resource, name: str, pool: str) -> GroupSize | None:
        """Size of a group with a known name, as `present_size`."""
        if self._cluster is None:
            return None
        try:
            return _size(_described(component, self._cluster, name))
        except _NotAskedError as problem:
            return _unknown(component, pool, problem)

    def _listed(self, component: pulumi.Resource, cluster: str) -> list[str]:
        if self._names is None:
            answer = _ask(component, LIST, {"clusterName": cluster})
            self._names = list(answer.get("names") or [])
        return self._names


class _NotAskedError(Exception):
    """A look-up without an answer."""


def _described(component: pulumi.Resource, cluster: str, name: str) -> dict[str, Any]:
    return _ask(component, DESCRIBE, {"clusterName": cluster, "nodeGroupName": name})


def _ask(component: pulumi.Resource, function: str, arguments: dict[str, str]) -> dict[str, Any]:
    """The result; empty for a cluster or group that does not exist yet."""
    try:
        answer = look_up(component, function, arguments)
    except Exception as problem:  # the SDK raises plain Exception for every refusal
        if "ResourceNotFoundException" in str(problem) or "No cluster found" in str(problem):
            return {}
        raise _NotAskedError(str(problem)) from problem
    return cast("dict[str, Any]", answer or {})


def _tags(group: dict[str, Any]) -> dict[str, str]:
    return group.get("tags") or {}


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
