"""Values of Cluster Autoscaler's chart (9.59.0) on EKS.

The program is selected by the cluster's Kubernetes minor; the chart's own default is not. Sources:
kubernetes/autoscaler `cluster-autoscaler/cloudprovider/aws`, `expander/priority`, tag 1.36.1.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from gpufleet.documents.data_files import data_part
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
    scaled, answers = scaled_pools(pools), addon.provisioning_requests
    requests = provisioning_requests if answers is None else answers
    tested = any(pool.acceptance is not None for pool in scaled)
    by_priority = addon.expander is Expander.PRIORITY
    return data_part(
        Path(__file__).with_name("autoscalers"),
        "clusterAutoscaler",
        region=region,
        account=SERVICE_ACCOUNT,
        expander=addon.expander.value,
        threshold=addon.scale_down_gpu_utilization_threshold,
        minutes=PROVISION_MINUTES,
        requests=requests or None,
        content_type="application/json" if requests else None,
        claims=any(pool.spec.sharing.dra is not None for pool in scaled) or None,
        startup_taint=NOT_ACCEPTED.key if tested else None,
        tag=PROGRAMS.get(kubernetes_version),
        priorities=priorities(pools, prefix) if by_priority else None,
    )


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
