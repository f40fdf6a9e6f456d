"""Pod templates of KubeRay: RayCluster, RayJob, RayService."""

from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.cluster.workload import Ray
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet_policies.readers.raw_pods import (
    Groups,
    JobFields,
    PodMakerKind,
    at_least_one,
    count,
    name_of,
    natural,
    template,
    times,
)
from gpufleet_policies.readers.ray_serve import serve_facts, serving_groups
from gpufleet_policies.readers.reading import at, boolean, fact, whole

_MANY = 2**31 - 1
"""`maxReplicas` that KubeRay itself fills in where none is written."""


def _groups(path: str) -> Callable[[dict[str, Any]], Groups]:
    def groups(document: dict[str, Any]) -> Groups:
        head = f"{path}.headGroupSpec"
        workers = items(at(document, f"{path}.workerGroupSpecs"))
        numbers = [times(_standing(worker), count(worker, "numOfHosts")) for worker in workers]
        known_all = all(number.is_known for number in numbers)
        total: Fact[int] = (
            known(1 + sum(number.value for number in numbers)) if known_all else unknown(path)
        )
        shared = _stated(at(document, head))
        one = known(1, place=head)
        yield template(document, "head", f"{head}.template", one, together=total, stated=shared)
        for index, (worker, pods) in enumerate(zip(workers, numbers, strict=True)):
            place = f"{path}.workerGroupSpecs[{index}]."
            name = name_of(worker, "groupName", index)
            yield template(worker, name, "template", pods, place, total, _stated(worker))

    return groups


def _stated(group: Any) -> dict[str, Any]:
    """The GPUs that Ray is given, by `resources` or `rayStartParams`; and whether KubeRay mounts
    a memory volume at /dev/shm, as it does in all pods unless Ray's store is elsewhere
    (ray-project/kuberay `ray-operator/controllers/ray/common/pod.go`, BuildPod), or may."""
    requests = (at(group, "resources.GPU"), at(group, "rayStartParams.num-gpus"))
    counts = [whole(str(one).strip("\"'")) for one in requests if isinstance(one, str | int)]
    return {
        "promised_gpus": max((one for one in counts if one), default=0),
        "shared_memory": at(group, "rayStartParams.plasma-directory") in (None, UNKNOWN),
    }


def _standing(worker: Any) -> Fact[int]:
    """Current replicas, else the minimum; at least one of a group that can grow from 0."""
    key = "minReplicas" if at(worker, "replicas") is None else "replicas"
    pods = count(worker, key, 0)
    return pods if at(worker, "maxReplicas") == 0 else at_least_one(pods)


def _scaling(path: str) -> Callable[[dict[str, Any]], Iterator[ScalingFacts]]:
    def scaling(document: dict[str, Any]) -> Iterator[ScalingFacts]:
        place = f"{path}.enableInTreeAutoscaling"
        enabled = fact(at(document, place), boolean, place).or_default(False)
        of_all = f"{path}.autoscalerOptions.idleTimeoutSeconds"
        for index, worker in enumerate(items(at(document, f"{path}.workerGroupSpecs"))):
            where = f"{path}.workerGroupSpecs[{index}]"
            most = f"{where}.maxReplicas"
            written = at(worker, "maxReplicas")
            unlimited = whole(written) == _MANY
            maximum = absent(most) if unlimited else fact(written, natural, most)
            least = at(worker, "minReplicas")
            own = at(worker, "idleTimeoutSeconds") is not None
            cooldown = f"{where}.idleTimeoutSeconds" if own else of_all
            wait = at(worker, "idleTimeoutSeconds") if own else at(document, of_all)
            yield ScalingFacts(
                place=where,
                minimum=fact(least, natural, f"{where}.minReplicas").or_default(0),
                maximum=maximum,
                group=name_of(worker, "groupName", index),
                enabled=enabled,
                cooldown_seconds=fact(wait, natural, cooldown),
                cooldown_place=cooldown,
            )

    return scaling


def _ray(path: str, read: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[..., Ray]:
    def ray(document: dict[str, Any]) -> Ray:
        start = f"{path}.headGroupSpec.rayStartParams"
        parameters = at(document, start)
        written = UNKNOWN if parameters is UNKNOWN else mapping(parameters).get("num-gpus")
        place = f"{path}.enableInTreeAutoscaling"
        return Ray(
            head_gpu_count=fact(written, lambda v: str(v).strip() or None, f"{start}.num-gpus"),
            autoscaling=fact(at(document, place), boolean, place).or_default(False),
            **read(document),
        )

    return ray


def _job(document: dict[str, Any]) -> dict[str, Any]:
    """Whether the cluster goes with the job: by flag, by a deletion strategy, or not its own."""
    place = "spec.shutdownAfterJobFinishes"
    if at(document, "spec.clusterSelector"):
        return {"ends_with_job": known(True, place="spec.clusterSelector")}
    deletion = at(document, "spec.deletionStrategy")
    if deletion is None:
        deletion = at(document, "spec.deletionPolicy")
    if deletion is not None:
        return {"ends_with_job": _deletes(deletion)}
    return {"ends_with_job": fact(at(document, place), boolean, place).or_default(False)}


def _deletes(strategy: Any) -> Fact[bool]:
    """A strategy that deletes the cluster, its workers or itself after success."""
    place = "spec.deletionStrategy"
    if not is_mapping(strategy):
        return unknown(place)
    rules = items(strategy.get("deletionRules"))
    said = [at(rule, "policy") for rule in rules] or [at(strategy, "onSuccess.policy")]
    if not all(isinstance(policy, str) for policy in said):
        return unknown(place)
    return known(any(policy != "DeleteNone" for policy in said), place=place)


RAY_KINDS: dict[tuple[str, str], PodMakerKind] = {
    ("ray.io", "RayCluster"): PodMakerKind(
        _groups("spec"), scaling=_scaling("spec"), ray=_ray("spec", lambda _: {})
    ),
    ("ray.io", "RayJob"): PodMakerKind(
        _groups("spec.rayClusterSpec"),
        job=JobFields(
            ("spec.activeDeadlineSeconds",),
            "spec.backoffLimit",
            time_to_live="spec.ttlSecondsAfterFinished",
        ),
        scaling=_scaling("spec.rayClusterSpec"),
        ray=_ray("spec.rayClusterSpec", _job),
        starts_together=True,
    ),
    ("ray.io", "RayService"): PodMakerKind(
        serving_groups(_groups("spec.rayClusterConfig")),
        scaling=_scaling("spec.rayClusterConfig"),
        ray=_ray("spec.rayClusterConfig", serve_facts),
        serves=True,
    ),
}
"""Group and kind -> where its pods are."""
