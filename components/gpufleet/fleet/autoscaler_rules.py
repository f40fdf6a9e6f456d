"""Findings about autoscalers that a platform cannot use."""

from collections.abc import Iterable

from gpufleet.findings import Finding, error
from gpufleet.spec.base import Platform
from gpufleet.spec.fleet_spec import FleetSpec


def judge_autoscalers(spec: FleetSpec) -> list[Finding]:
    """What is switched on where it would do harm or nothing."""
    return list(_judge(spec))


def _judge(spec: FleetSpec) -> Iterable[Finding]:
    if spec.platform is Platform.GKE and spec.addons.cluster_autoscaler.enabled:
        yield error(
            "cluster-autoscaler-on-gke",
            "addons.clusterAutoscaler.enabled",
            "GKE runs its own autoscaler, and a second one fights it over node counts",
            "remove it: `nodes.min` and `nodes.max` of a pool set GKE's",
            found=spec.platform.value,
        )
    if spec.platform is not Platform.EKS and spec.addons.karpenter.enabled:
        yield error(
            "karpenter-not-on-eks",
            "addons.karpenter.enabled",
            f"Karpenter's production provider is AWS's, and the fleet is for {spec.platform.value}",
            "remove it",
            found=spec.platform.value,
        )
