"""Pod templates of KubeRay: RayCluster, RayJob, RayService.

Ray Serve: ray-project/ray `python/ray/llm/_internal/serve` (LLMConfig) and
`python/ray/serve/schema.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gpufleet.cluster.container import is_gpu_resource
from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.cluster.workload import Ray
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet_policies.readers.document_text import read_documents
from gpufleet_policies.readers.raw_pods import (
    Groups,
    RawGroup,
    at_least_one,
    count,
    name_of,
    natural,
    template,
    times,
    total_of,
)
from gpufleet_policies.readers.reading import at, boolean, decimal, fact, whole

_SERVE = "spec.serveConfigV2"
_SIZES = ("tensor_parallel_size", "pipeline_parallel_size")
_MODEL = "llm_config"
"""Key under which a deployment keeps the model configuration that it was read from."""


def _serve_facts(document: dict[str, Any]) -> dict[str, Any]:
    """Replicas in the Serve configuration of a RayService."""
    deployments = _deployments(at(document, "spec.serveConfigV2"))
    return {
        "serving_gpus": _serving_gpus(deployments),
        "downscale_delay_seconds": _downscale_delay(deployments),
    }


def _deployments(text: Any) -> Fact[tuple[Any, ...]]:
    """Deployments of all applications of a Serve configuration, which is YAML inside YAML."""
    if text is None:
        return absent(_SERVE)
    if not isinstance(text, str) or "{{" in text or "${" in text:
        return unknown(_SERVE)
    try:
        documents = read_documents(text)
    except UnreadableDocumentError:
        return unknown(_SERVE)
    found = documents[0].data if documents else None
    if not is_mapping(found):
        return unknown(_SERVE)
    applications = items(found.get("applications"))
    deployments = [
        one
        for application in applications
        for one in (*items(at(application, "deployments")), *_models(application))
    ]
    return known(tuple(deployments), place=_SERVE) if deployments else unknown(_SERVE)


def _models(application: Any) -> Iterator[dict[str, Any]]:
    """Models of `ray.serve.llm`, each as a deployment: a replica has a GPU for each part of its
    model, and by default one replica (ray-project/ray, LLMConfig)."""
    for config in items(at(application, "args.llm_configs")):
        own = mapping(at(config, "deployment_config"))
        sizes = [natural(at(config, f"engine_kwargs.{key}") or 1) for key in _SIZES]
        placed = at(config, "placement_group_config") is not None
        gpus = UNKNOWN if None in sizes or placed else (sizes[0] or 1) * (sizes[1] or 1)
        scaled = own.get("autoscaling_config") is not None
        replicas = own.get("num_replicas", UNKNOWN if scaled else 1)
        options = {"num_gpus": gpus}
        yield {**own, "num_replicas": replicas, "ray_actor_options": options, _MODEL: config}


def _serving_gpus(deployments: Fact[tuple[Any, ...]]) -> Fact[int]:
    """GPUs of all replicas of all deployments, where every deployment states both numbers."""
    if not deployments.is_known:
        return Fact(deployments.state, place=_SERVE)
    total = 0
    for deployment in deployments.value:
        replicas = at(deployment, "autoscaling_config.max_replicas")
        if replicas is None:
            replicas = at(deployment, "num_replicas")
        number, gpus = natural(replicas), natural(_gpus_of(deployment))
        if number is None or gpus is None:
            return unknown(_SERVE)
        total += number * gpus
    return known(total, place=_SERVE)


def _gpus_of(deployment: Any) -> Any:
    """As written; a float with an integer value as an int."""
    found = decimal(at(deployment, "ray_actor_options.num_gpus"))
    if found is None:
        return None
    return int(found) if found == found.to_integral_value() else UNKNOWN


def _downscale_delay(deployments: Fact[tuple[Any, ...]]) -> Fact[int]:
    """The longest wait of a deployment with GPUs before an idle replica goes; absent: all have
    Ray's own."""
    if not deployments.is_known:
        return Fact(deployments.state, place=_SERVE)
    waits = [
        int(seconds)
        for deployment in deployments.value
        if decimal(at(deployment, "ray_actor_options.num_gpus"))
        for seconds in [decimal(at(deployment, "autoscaling_config.downscale_delay_s"))]
        if seconds is not None and seconds >= 0
    ]
    return known(max(waits), place=_SERVE) if waits else absent(_SERVE)


def serving_groups(path: str) -> Callable[[dict[str, Any]], Groups]:
    """The groups of a RayService; the only one with GPUs serves its only model, where that is so.

    A replica of the model is in one pod where its GPUs are not more than the pod's: Ray packs the
    processes of a replica.
    """

    def served(document: dict[str, Any]) -> Groups:
        found = list(ray_groups(path)(document))
        with_gpus = [one for one in found if _gpus_of_pod(one) is not None]
        deployments = _deployments(at(document, _SERVE))
        models = [one for one in deployments.found or () if _MODEL in one]
        only = models[0] if len(models) == len(deployments.found or ()) == 1 else None
        for one in found:
            serves = only is not None and with_gpus == [one]
            yield _with_model(one, only) if serves and only is not None else one

    return served


def _with_model(group: RawGroup, deployment: dict[str, Any]) -> RawGroup:
    config, held = deployment[_MODEL], _gpus_of_pod(group)
    gpus, replicas = natural(_gpus_of(deployment)), natural(deployment.get("num_replicas"))
    stated: dict[str, Any] = {**group.stated, "model": _name(config)}
    for key, name in zip(_SIZES, ("tensor", "pipeline"), strict=True):
        stated[name] = at(config, f"engine_kwargs.{key}")
    if gpus is None or not held or held % gpus:
        return replace(group, stated=stated)
    # With one pod all replicas are in it; a pod that one replica fills holds no other.
    alone = group.pods.found == 1
    stated["data_local"] = 1 if held == gpus else replicas if alone and replicas else UNKNOWN
    return replace(group, stated=stated, together=known(1, place=_SERVE))


def _name(config: Any) -> str | None:
    """Name of the weights: their source, unless that is a folder or a bucket."""
    source, name = (at(config, f"model_loading_config.{k}") for k in ("model_source", "model_id"))
    plain = isinstance(source, str) and not source.startswith(("/", ".")) and "://" not in source
    found = source if plain else name
    return found if isinstance(found, str) else None


def _gpus_of_pod(group: RawGroup) -> int | None:
    """GPUs that the pods of a group request; 0 if the number is unknown, None without any."""
    asked: list[Any] = []
    for container in items(at(group.spec, "containers")):
        resources = mapping(at(container, "resources"))
        named = {**mapping(resources.get("requests")), **mapping(resources.get("limits"))}
        asked += [value for name, value in named.items() if is_gpu_resource(name)]
    if not asked:
        return None
    numbers = [natural(value) for value in asked]
    return sum(number or 0 for number in numbers) if None not in numbers else 0


_MANY = 2**31 - 1
"""`maxReplicas` that KubeRay itself fills in where none is written."""


def ray_groups(path: str) -> Callable[[dict[str, Any]], Groups]:
    """The head and the groups of workers of a cluster under a path."""

    def groups(document: dict[str, Any]) -> Groups:
        head = f"{path}.headGroupSpec"
        workers = items(at(document, f"{path}.workerGroupSpecs"))
        numbers = [times(_standing(worker), count(worker, "numOfHosts")) for worker in workers]
        shared = _stated(at(document, head))
        one = known(1, place=head)
        total = total_of([one, *numbers])
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


def ray_scaling(path: str) -> Callable[[dict[str, Any]], Iterator[ScalingFacts]]:
    """Scaling of each group of workers, in the tree."""

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


def ray(path: str) -> Callable[..., Ray]:
    """What only objects of Ray have, of one whose cluster is under a path."""
    read = {"spec.rayClusterSpec": _job, "spec.rayClusterConfig": _serve_facts}.get(path)

    def facts(document: dict[str, Any]) -> Ray:
        start = f"{path}.headGroupSpec.rayStartParams"
        parameters = at(document, start)
        written = UNKNOWN if parameters is UNKNOWN else mapping(parameters).get("num-gpus")
        place = f"{path}.enableInTreeAutoscaling"
        return Ray(
            head_gpu_count=fact(written, lambda v: str(v).strip() or None, f"{start}.num-gpus"),
            autoscaling=fact(at(document, place), boolean, place).or_default(False),
            **(read(document) if read else {}),
        )

    return facts


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
