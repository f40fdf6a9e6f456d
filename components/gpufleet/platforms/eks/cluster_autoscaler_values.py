"""Values of Cluster Autoscaler's chart (9.59.0) on EKS.

The program is selected by the cluster's Kubernetes minor; the chart's own default is not. Sources:
kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws`, `expander/priority`, tag 1.36.1.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import NOT_ACCEPTED, Pool
from gpufleet.platforms.eks.names import LONGEST, name_prefix
from gpufleet.spec.addons import ClusterAutoscaler, Expander
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

CHART = "cluster-autoscaler"
SERVICE_ACCOUNT = "cluster-autoscaler"
PROGRAMS = {"1.35": "v1.35.0", "1.36": "v1.36.1"}
"""Kubernetes minor -> latest known program of that minor (2026-08)."""

PROVISION_MINUTES = 30
"""Maximum start time of a new GPU node; the program's default of 15 minutes is too short for large
machines and reserved capacity."""

PRIORITIES = {"capacityBlock": 50, "reserved": 50, "spot": 30, "onDemand": 10}
"""Capacity type -> priority, highest first. Prepaid capacity comes first."""
FALLBACK = 1
"""Priority of every other group: a group that matches no entry would never be chosen."""

_DIGITS = "[0-9a-f]{7,26}"
"""Suffix of a name prefix from the provider: 7 hexadecimal digits (Pulumi) or 26 (Terraform)."""
_UUID = "[0-9a-f]{8}-"
"""Start of the suffix from EKS."""

ADDON = "addons.clusterAutoscaler"


def validate_autoscaler(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """Settings of a fleet's node groups that Cluster Autoscaler does not support."""
    addon = spec.addons.cluster_autoscaler
    if addon.ours and scaled_pools(pools):
        yield from validate_program(addon, spec.cluster.kubernetes_version)
        yield from validate_priorities(addon, pools, spec.resource_prefix)


def scaled_pools(pools: Sequence[Pool]) -> list[Pool]:
    """Pools whose nodes Cluster Autoscaler adds and removes."""
    return [pool for pool in pools if pool.provisioner is Provisioner.CLUSTER_AUTOSCALER]


def validate_program(addon: ClusterAutoscaler, kubernetes_version: str) -> Iterator[Finding]:
    """Whether a program for the cluster's version is known, or was named."""
    if _named_tag(addon) is not None or kubernetes_version in PROGRAMS:
        return
    yield _finding(
        "cluster-autoscaler-version-unknown",
        ADDON,
        found=kubernetes_version,
        allowed=list(PROGRAMS),
    )


def _named_tag(addon: ClusterAutoscaler) -> str | None:
    image = cast("dict[str, object]", addon.values.get("image") or {})
    tag = image.get("tag")
    return tag if isinstance(tag, str) else None


def cluster_autoscaler_values(
    addon: ClusterAutoscaler,
    pools: Sequence[Pool],
    prefix: str,
    region: str,
    kubernetes_version: str,
    *,
    provisioning_requests: bool,
) -> dict[str, Any]:
    """The values, without the cluster's name, which the component adds."""
    arguments: dict[str, Any] = {
        "expander": addon.expander.value,
        "scale-down-gpu-utilization-threshold": addon.scale_down_gpu_utilization_threshold,
        "max-node-provision-time": f"{PROVISION_MINUTES}m",
        "balance-similar-node-groups": False,
        "skip-nodes-with-system-pods": False,
    }
    answers = addon.provisioning_requests
    if provisioning_requests if answers is None else answers:
        arguments["enable-provisioning-requests"] = True
        # Releases up to v1.35.0 write these objects as protobuf, which definitions do not have
        # (kubernetes/autoscaler#8855; PR 10014 to 10016 of 2026-07-21).
        arguments["kube-api-content-type"] = "application/json"
    if any(pool.spec.sharing.dra is not None for pool in scaled_pools(pools)):
        arguments["enable-dynamic-resource-allocation"] = True  # off before 1.36
    if any(pool.acceptance is not None for pool in scaled_pools(pools)):
        # The taint is removed once a node has passed: new nodes count as if they did not have it.
        arguments["startup-taint"] = NOT_ACCEPTED.key
    values: dict[str, Any] = {
        "cloudProvider": "aws",
        "awsRegion": region,
        "rbac": {"serviceAccount": {"create": True, "name": SERVICE_ACCOUNT}},
        "extraArgs": arguments,
    }
    if kubernetes_version in PROGRAMS:
        values["image"] = {"tag": PROGRAMS[kubernetes_version]}
    if addon.expander is Expander.PRIORITY:
        values["expanderPriorities"] = priorities(pools, prefix)
    return values


def priorities(pools: Sequence[Pool], prefix: str) -> dict[str, list[str]]:
    """Priority -> patterns over names of Auto Scaling groups, highest first.

    EKS calls the group of node group G `eks-G-<uuid>`, and the highest priority of all matching
    patterns is used: `^eks-ml-chat-.*` would also match the pool `chat-large`. So each pattern ends
    with the digits of the name.
    """
    found: dict[int, list[str]] = {}
    for pool in scaled_pools(pools):
        found.setdefault(_rank(pool), []).append(_pattern(pool, prefix))
    found.setdefault(FALLBACK, []).append(".*")
    return {str(rank): found[rank] for rank in sorted(found, reverse=True)}


def validate_priorities(
    addon: ClusterAutoscaler, pools: Sequence[Pool], prefix: str
) -> Iterator[Finding]:
    """Pools whose groups the priority expander cannot distinguish: long names are shortened."""
    if addon.expander is not Expander.PRIORITY:
        return
    first: dict[str, Pool] = {}
    for pool in scaled_pools(pools):
        other = first.setdefault(_pattern(pool, prefix), pool)
        if _rank(other) != _rank(pool):
            names = {"other": other.name, "limit": LONGEST["node group"]}
            yield from _rules("alike", pool.path, pool=pool, **names)


def _rank(pool: Pool) -> int:
    return PRIORITIES.get(pool.capacity[0].mode, FALLBACK)


def _pattern(pool: Pool, prefix: str) -> str:
    """Matches the Auto Scaling group of the pool, and of no other pool."""
    if pool.spec.import_id is not None:
        return f"^eks-{pool.spec.import_id.rsplit(':', 1)[-1]}-{_UUID}"
    return f"^eks-{name_prefix(prefix, pool.name, 'node group')}{_DIGITS}-{_UUID}"
