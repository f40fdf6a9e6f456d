"""Pod templates of KServe: inference services, language models, runtimes."""

from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.cluster.fact import Fact, known, unknown
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.documents.shapes import is_mapping, mapping
from gpufleet_policies.readers.raw_pods import (
    Groups,
    PodMakerKind,
    RawContainer,
    RawGroup,
    at_least_one,
    count,
    model_of_address,
    natural,
    times,
)
from gpufleet_policies.readers.reading import at, fact

_SOME: Fact[int] = unknown("pods")
_POD_FIELDS = frozenset({"containers", "initContainers", "nodeSelector", "tolerations"})


def _predictor(document: dict[str, Any]) -> Groups:
    """KServe: the model of a framework, or the user's containers; and their transformers."""
    predictor = mapping(at(document, "spec.predictor"))
    pods = at_least_one(count(document, "spec.predictor.minReplicas"))
    workers = at(predictor, "workerSpec")
    size, stated = known(1), {"model": model_of_address(at(predictor, "model.storageUri"))}
    if is_mapping(workers):
        stages = count(workers, "pipelineParallelSize")
        size = stages
        stated |= {
            "tensor": workers.get("tensorParallelSize"),
            "pipeline": workers.get("pipelineParallelSize"),
            "spreads": True,
        }
    place = "spec.predictor"
    containers = None
    framework = next(
        (
            key
            for key, value in predictor.items()
            if is_mapping(value) and key not in _POD_FIELDS and "resources" in value
        ),
        "model" if is_mapping(predictor.get("model")) else None,
    )
    if framework is not None:
        fields = {"name": "kserve-container", **predictor[framework]}
        containers = (RawContainer(f"{place}.{framework}", fields),)
    yield RawGroup("", place, predictor, pods, None, size, containers, stated)
    if is_mapping(workers):
        others = known(size.value - 1) if size.is_known else size
        yield RawGroup(
            "worker", f"{place}.workerSpec", workers, times(pods, others), None, size, None, stated
        )
    for role in ("transformer", "explainer"):
        spec = at(document, f"spec.{role}")
        if is_mapping(spec):
            yield RawGroup(role, f"spec.{role}", spec, at_least_one(count(spec, "minReplicas")))


def _predictor_scaling(document: dict[str, Any]) -> Iterator[ScalingFacts]:
    place = "spec.predictor"
    yield ScalingFacts(
        place=place,
        minimum=count(document, f"{place}.minReplicas"),
        maximum=fact(at(document, f"{place}.maxReplicas"), natural, f"{place}.maxReplicas"),
    )


def _runtime(document: dict[str, Any]) -> Groups:
    """KServe's runtimes are templates: the number of their pods is not known."""
    yield RawGroup("", "spec", document.get("spec"), _SOME)
    workers = at(document, "spec.workerSpec")
    if is_mapping(workers):
        yield RawGroup("worker", "spec.workerSpec", workers, _SOME)


def _llm(*, is_template: bool = False) -> Callable[[dict[str, Any]], Groups]:
    """KServe's LLMInferenceService: decode pods, and prefill pods where they are apart."""

    def groups(document: dict[str, Any]) -> Groups:
        model = model_of_address(at(document, "spec.model.uri")) or model_of_address(
            at(document, "spec.model.name")
        )
        for name, path in (("", "spec"), ("prefill", "spec.prefill")):
            part = at(document, path)
            if not is_mapping(part):
                continue
            parallel = mapping(part.get("parallelism"))
            replicas = count(part, "replicas")
            if part.get("replicas") is None:
                replicas = at_least_one(count(part, "scaling.minReplicas"))
            size = _llm_size(part, parallel)
            # One pod of a replica has all of tensor parallelism, and no preset reads `pipeline`
            # without workers (kserve/kserve#4946, kserve/kserve#6044).
            spreads = size.found != 1
            stated = {
                "model": model,
                "tensor": parallel.get("tensor"),
                "pipeline": parallel.get("pipeline") if spreads else None,
                "data": parallel.get("data"),
                # Of a group of pods the whole size counts: `dataLocal` is the part of one pod.
                "data_local": None if spreads else parallel.get("dataLocal"),
                "spreads": spreads,
                "preset": True,
            }
            place = f"{path}.template"
            pods = _SOME if is_template else replicas
            if is_mapping(part.get("template")):
                yield RawGroup(name, place, part["template"], pods, None, size, stated=stated)
            if is_mapping(part.get("worker")):
                others = known(size.value - 1) if size.is_known else size
                worker = f"{name}-worker".strip("-")
                yield RawGroup(
                    worker,
                    f"{path}.worker",
                    part["worker"],
                    times(pods, others),
                    None,
                    size,
                    stated=stated,
                )

    return groups


def _llm_size(part: dict[str, Any], parallel: dict[str, Any]) -> Fact[int]:
    """Pods of one replica: data over local data parallelism, or the stages of the pipeline."""
    if not is_mapping(part.get("worker")):
        return known(1)
    data, local = natural(parallel.get("data")), natural(parallel.get("dataLocal"))
    if data and local and data % local == 0:
        return known(data // local)
    stages = natural(parallel.get("pipeline"))
    return known(stages) if stages else _SOME


def _llm_scaling(document: dict[str, Any]) -> Iterator[ScalingFacts]:
    place = "spec.scaling"
    if is_mapping(at(document, place)):
        cooldown = f"{place}.keda.cooldownPeriod"
        yield ScalingFacts(
            place=place,
            minimum=count(document, f"{place}.minReplicas"),
            maximum=fact(at(document, f"{place}.maxReplicas"), natural, f"{place}.maxReplicas"),
            cooldown_seconds=fact(at(document, cooldown), natural, cooldown),
            cooldown_place=cooldown,
        )


KSERVE_KINDS: dict[tuple[str, str], PodMakerKind] = {
    ("serving.kserve.io", "InferenceService"): PodMakerKind(
        _predictor, scaling=_predictor_scaling, serves=True
    ),
    ("serving.kserve.io", "ServingRuntime"): PodMakerKind(_runtime),
    ("serving.kserve.io", "ClusterServingRuntime"): PodMakerKind(_runtime),
    ("serving.kserve.io", "LLMInferenceService"): PodMakerKind(
        _llm(), scaling=_llm_scaling, serves=True
    ),
    ("serving.kserve.io", "LLMInferenceServiceConfig"): PodMakerKind(_llm(is_template=True)),
}
"""Group and kind -> where its pods are."""
