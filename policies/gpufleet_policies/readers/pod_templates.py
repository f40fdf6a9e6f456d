"""The place of pod templates in each kind, and the number of pods of each template.

Kinds are looked up by group and kind, whatever the version: older versions still appear in files.
"""

from collections.abc import Callable
from typing import Any

from gpufleet.cluster.fact import known, unknown
from gpufleet_policies.readers.batch_templates import BATCH_KINDS
from gpufleet_policies.readers.other_pods import SPARK
from gpufleet_policies.readers.raw_pods import (
    Groups,
    PodMakerKind,
    RawGroup,
    count,
    template,
    times,
)
from gpufleet_policies.readers.ray_templates import RAY_KINDS
from gpufleet_policies.readers.reading import at
from gpufleet_policies.readers.serving_templates import SERVING_KINDS


def _pod(document: dict[str, Any]) -> Groups:
    yield RawGroup(
        "", "spec", document.get("spec"), known(1, place="spec"), document.get("metadata")
    )


def _replicated(replicas: str = "spec.replicas") -> Callable[[dict[str, Any]], Groups]:
    def groups(document: dict[str, Any]) -> Groups:
        yield template(document, "", "spec.template", count(document, replicas))

    return groups


def _stateful_set(document: dict[str, Any]) -> Groups:
    named = at(document, "spec.serviceName")
    yield template(document, "", "spec.template", count(document, "spec.replicas"), subdomain=named)


def _daemon_set(document: dict[str, Any]) -> Groups:
    yield template(document, "", "spec.template", unknown("status.desiredNumberScheduled"))


def _pod_template(document: dict[str, Any]) -> Groups:
    yield template(document, "", "template", unknown("template"))


def _leader_worker_set(document: dict[str, Any]) -> Groups:
    replicas = count(document, "spec.replicas")
    size = count(document, "spec.leaderWorkerTemplate.size")
    worker = "spec.leaderWorkerTemplate.workerTemplate"
    leader = "spec.leaderWorkerTemplate.leaderTemplate"
    stated = {"spreads": size.found != 1}
    if at(document, leader) is None:
        yield template(document, "", worker, times(replicas, size), together=size, stated=stated)
        return
    yield template(document, "leader", leader, replicas, together=size, stated=stated)
    others = known(max(0, size.value - 1), place=size.place) if size.is_known else size
    yield template(
        document, "worker", worker, times(replicas, others), together=size, stated=stated
    )


def _notebook(document: dict[str, Any]) -> Groups:
    yield template(document, "", "spec.template", known(1, place="spec"))


def _built_in(
    groups: Callable[[dict[str, Any]], Groups], *, node_agent: bool = False
) -> PodMakerKind:
    return PodMakerKind(groups, checked_on_creation=True, node_agent=node_agent)


KINDS: dict[tuple[str, str], PodMakerKind] = {
    ("", "Pod"): _built_in(_pod),
    ("", "PodTemplate"): _built_in(_pod_template),
    ("", "ReplicationController"): _built_in(_replicated()),
    ("apps", "Deployment"): _built_in(_replicated()),
    ("apps", "StatefulSet"): _built_in(_stateful_set),
    ("apps", "ReplicaSet"): _built_in(_replicated()),
    ("apps", "DaemonSet"): _built_in(_daemon_set, node_agent=True),
    # Old names of the same kinds, still met in files.
    ("extensions", "Deployment"): _built_in(_replicated()),
    ("extensions", "DaemonSet"): _built_in(_daemon_set, node_agent=True),
    ("apps.openshift.io", "DeploymentConfig"): PodMakerKind(_replicated()),
    ("argoproj.io", "Rollout"): PodMakerKind(_replicated()),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): PodMakerKind(
        _leader_worker_set, starts_together=True
    ),
    ("kubeflow.org", "Notebook"): PodMakerKind(_notebook),
    ("sparkoperator.k8s.io", "SparkApplication"): SPARK,
    **BATCH_KINDS,
    **RAY_KINDS,
    **SERVING_KINDS,
}
"""Group and kind -> where its pods are."""
