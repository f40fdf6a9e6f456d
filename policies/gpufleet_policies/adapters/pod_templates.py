"""Where the pod templates of each kind sit, and how many pods each of them makes.

Kinds are looked up by group and kind, whatever the version: older versions still appear in files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gpufleet_policies.adapters.reading import at, fact, items, mapping, whole
from gpufleet_policies.facts.tristate import Fact, known, unknown


@dataclass(frozen=True, slots=True)
class RawGroup:
    """One pod template, not yet read."""

    name: str
    place: str
    """Field path of the pod spec."""
    spec: Any
    pods: Fact[int]
    metadata: Any = None
    """Of the template."""


Groups = Iterator[RawGroup]


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known about a kind that makes pods."""

    groups: Callable[[dict[str, Any]], Groups]
    runs_to_completion: bool = False
    checked_on_creation: bool = False
    """The API server validates the pod template itself; it cannot for custom resources."""
    suspend: str = "spec.suspend"
    deadlines: tuple[str, ...] = field(default=())
    """Where a longest run may be set."""


def _times(*factors: Fact[int]) -> Fact[int]:
    product = 1
    for factor in factors:
        if not factor.is_known:
            return unknown(factor.place)
        product *= factor.value
    return known(product, place=factors[0].place)


def _count(document: Any, path: str, default: int = 1) -> Fact[int]:
    return fact(at(document, path), whole, path).or_default(default)


def _pod(document: dict[str, Any]) -> Groups:
    yield RawGroup("", "spec", document.get("spec"), known(1, place="spec"))


def _replicated(replicas: str = "spec.replicas") -> Callable[[dict[str, Any]], Groups]:
    def groups(document: dict[str, Any]) -> Groups:
        yield _template(document, "", "spec.template", _count(document, replicas))

    return groups


def _daemon_set(document: dict[str, Any]) -> Groups:
    yield _template(document, "", "spec.template", unknown("status.desiredNumberScheduled"))


def _cron_job(document: dict[str, Any]) -> Groups:
    pods = _count(document, "spec.jobTemplate.spec.parallelism")
    yield _template(document, "", "spec.jobTemplate.spec.template", pods)


def _template(document: Any, name: str, path: str, pods: Fact[int], prefix: str = "") -> RawGroup:
    return RawGroup(
        name,
        f"{prefix}{path}.spec",
        at(document, f"{path}.spec"),
        pods,
        at(document, f"{path}.metadata"),
    )


def _job_set(path: str) -> Callable[[dict[str, Any]], Groups]:
    def groups(document: dict[str, Any]) -> Groups:
        for index, job in enumerate(items(at(document, path))):
            pods = _times(_count(job, "replicas"), _count(job, "template.spec.parallelism"))
            name = str(mapping(job).get("name", index))
            yield _template(job, name, "template.spec.template", pods, f"{path}[{index}].")

    return groups


def _leader_worker_set(document: dict[str, Any]) -> Groups:
    replicas, size = (
        _count(document, "spec.replicas"),
        _count(document, "spec.leaderWorkerTemplate.size"),
    )
    worker = "spec.leaderWorkerTemplate.workerTemplate"
    leader = "spec.leaderWorkerTemplate.leaderTemplate"
    if at(document, leader) is None:
        yield _template(document, "", worker, _times(replicas, size))
        return
    yield _template(document, "leader", leader, replicas)
    others = known(size.value - 1, place=size.place) if size.is_known else size
    yield _template(document, "worker", worker, _times(replicas, others))


def _by_role(path: str) -> Callable[[dict[str, Any]], Groups]:
    def groups(document: dict[str, Any]) -> Groups:
        for role, spec in mapping(at(document, path)).items():
            yield _template(spec, role, "template", _count(spec, "replicas"), f"{path}.{role}.")

    return groups


def _ray(path: str) -> Callable[[dict[str, Any]], Groups]:
    def groups(document: dict[str, Any]) -> Groups:
        head = f"{path}.headGroupSpec"
        yield _template(document, "head", f"{head}.template", known(1, place=head))
        for index, workers in enumerate(items(at(document, f"{path}.workerGroupSpecs"))):
            pods = _times(_count(workers, "replicas", 0), _count(workers, "numOfHosts"))
            name = str(mapping(workers).get("groupName", index))
            place = f"{path}.workerGroupSpecs[{index}]."
            yield _template(workers, name, "template", pods, place)

    return groups


def _predictor(document: dict[str, Any]) -> Groups:
    predictor = at(document, "spec.predictor")
    pods = _count(document, "spec.predictor.minReplicas")
    if isinstance(predictor, dict) and isinstance(predictor.get("model"), dict):
        model = {"name": "kserve-container", **predictor["model"]}
        yield RawGroup("", "spec.predictor", {**predictor, "containers": [model]}, pods)
        return
    yield RawGroup("", "spec.predictor", predictor, pods)


def _notebook(document: dict[str, Any]) -> Groups:
    yield _template(document, "", "spec.template", known(1, place="spec"))


_JOB_DEADLINE = ("spec.activeDeadlineSeconds",)
_KUBEFLOW_DEADLINE = ("spec.runPolicy.activeDeadlineSeconds", "spec.activeDeadlineSeconds")


def _built_in(groups: Callable[[dict[str, Any]], Groups]) -> Kind:
    return Kind(groups, checked_on_creation=True)


KINDS: dict[tuple[str, str], Kind] = {
    ("", "Pod"): _built_in(_pod),
    ("", "ReplicationController"): _built_in(_replicated()),
    ("apps", "Deployment"): _built_in(_replicated()),
    ("apps", "StatefulSet"): _built_in(_replicated()),
    ("apps", "ReplicaSet"): _built_in(_replicated()),
    ("apps", "DaemonSet"): _built_in(_daemon_set),
    ("batch", "Job"): Kind(_replicated("spec.parallelism"), True, True, deadlines=_JOB_DEADLINE),
    ("batch", "CronJob"): Kind(
        _cron_job, True, True, deadlines=("spec.jobTemplate.spec.activeDeadlineSeconds",)
    ),
    ("jobset.x-k8s.io", "JobSet"): Kind(_job_set("spec.replicatedJobs"), True),
    ("trainer.kubeflow.org", "TrainJob"): Kind(_job_set("spec.template.spec.replicatedJobs"), True),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): Kind(_leader_worker_set),
    ("kubeflow.org", "PyTorchJob"): Kind(
        _by_role("spec.pytorchReplicaSpecs"),
        True,
        suspend="spec.runPolicy.suspend",
        deadlines=_KUBEFLOW_DEADLINE,
    ),
    ("kubeflow.org", "MPIJob"): Kind(
        _by_role("spec.mpiReplicaSpecs"),
        True,
        suspend="spec.runPolicy.suspend",
        deadlines=_KUBEFLOW_DEADLINE,
    ),
    ("kubeflow.org", "TFJob"): Kind(
        _by_role("spec.tfReplicaSpecs"),
        True,
        suspend="spec.runPolicy.suspend",
        deadlines=_KUBEFLOW_DEADLINE,
    ),
    ("kubeflow.org", "Notebook"): Kind(_notebook),
    ("ray.io", "RayCluster"): Kind(_ray("spec")),
    ("ray.io", "RayJob"): Kind(_ray("spec.rayClusterSpec"), True, deadlines=_JOB_DEADLINE),
    ("ray.io", "RayService"): Kind(_ray("spec.rayClusterConfig")),
    ("serving.kserve.io", "InferenceService"): Kind(_predictor),
    ("serving.knative.dev", "Service"): Kind(_notebook),
}
"""Group and kind -> where its pods are."""
