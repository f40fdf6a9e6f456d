"""Pod templates of model servers: Knative, NIM, the vLLM production stack, Dynamo."""

from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.cluster.fact import Fact, absent, known, unknown
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet_policies.readers.raw_pods import (
    Groups,
    RawContainer,
    RawGroup,
    at_least_one,
    count,
    model_of_address,
    name_of,
    natural,
    node_terms,
    own_pods,
    template,
    times,
    vllm_arguments,
)
from gpufleet_policies.readers.reading import at, fact

_SOME: Fact[int] = unknown("pods")
_POD_FIELDS = frozenset({"containers", "initContainers", "nodeSelector", "tolerations"})


def predictor(document: dict[str, Any]) -> Groups:
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


def runtime(document: dict[str, Any]) -> Groups:
    """KServe's runtimes are templates: the number of their pods is not known."""
    yield RawGroup("", "spec", document.get("spec"), _SOME)
    workers = at(document, "spec.workerSpec")
    if is_mapping(workers):
        yield RawGroup("worker", "spec.workerSpec", workers, _SOME)


def llm(is_template: bool) -> Callable[[dict[str, Any]], Groups]:
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


def knative(document: dict[str, Any]) -> Groups:
    """Knative: at least one pod while there are any."""
    yield template(document, "", "spec.template", at_least_one(_knative_minimum(document)))


_AUTOSCALING = "autoscaling.knative.dev/"


def _knative_annotation(document: dict[str, Any], *names: str) -> Fact[int]:
    written = mapping(at(document, "spec.template.metadata.annotations"))
    for name in names:
        value = written.get(_AUTOSCALING + name)
        if value is not None:
            place = f"spec.template.metadata.annotations[{_AUTOSCALING}{name}]"
            return fact(value, natural, place)
    return absent("spec.template.metadata.annotations")


def _knative_minimum(document: dict[str, Any]) -> Fact[int]:
    return _knative_annotation(document, "min-scale", "minScale").or_default(0)


def knative_scaling(document: dict[str, Any]) -> Iterator[ScalingFacts]:
    """Bounds in annotations of the template."""
    maximum = _knative_annotation(document, "max-scale", "maxScale")
    if maximum.found == 0:
        maximum = absent(maximum.place)  # 0 means no limit
    yield ScalingFacts(
        place="spec.template.metadata.annotations",
        minimum=_knative_minimum(document),
        maximum=maximum,
    )


_DRA = "draResources"
"""Claims of a NIMService, as a pod names them (NVIDIA/k8s-nim-operator v3.1.2
`api/apps/v1alpha1/common_types.go`)."""
_STAGES = "spec.multiNode.parallelism.pipeline"
"""Pods of one replica, each with a stage of the model (NIMService of the operator 3.1.2; the key
was `pp` between releases only)."""


def nim(document: dict[str, Any]) -> Groups:
    """NIMService: one container, in fields of its own."""
    spec = mapping(at(document, "spec"))
    image = mapping(spec.get("image"))
    repository, tag = image.get("repository"), image.get("tag")
    name = f"{repository}:{tag}" if isinstance(repository, str) else None
    fields = {
        "name": "nim",
        "image": name,
        **{k: spec.get(k) for k in ("command", "args", "env", "resources")},
    }
    claims = [
        {"name": f"claim-{at}", **one} for at, one in enumerate(map(mapping, items(spec.get(_DRA))))
    ]
    if claims:
        named = [{"name": one["name"]} for one in claims]
        fields["resources"] = {**mapping(fields["resources"]), "claims": named}
    near = spec.get("podAffinity")
    scheduling = {**spec, "resourceClaims": claims} if claims else spec
    if near is not None:
        scheduling = {**scheduling, "affinity": {"podAffinity": near}}
    stages = count(document, _STAGES) if "multiNode" in spec else known(1)
    pods = count(document, "spec.replicas")
    yield RawGroup(
        "",
        "spec",
        scheduling,
        times(pods, stages),
        {"annotations": spec.get("annotations"), "labels": spec.get("labels")},
        stages,
        (RawContainer("spec", fields),),
        {
            # A NIM image is called after its model.
            "model": repository if isinstance(repository, str) else None,
            "spreads": "multiNode" in spec,
            "claims": _DRA,
        },
    )


def nim_cache(document: dict[str, Any]) -> Groups:
    """A job that downloads a model; its pod needs no GPU."""
    spec = mapping(at(document, "spec"))
    fields = {"name": "cache", "resources": spec.get("resources"), "env": spec.get("env")}
    yield RawGroup("", "spec", spec, known(1), containers=(RawContainer("spec", fields),))


def vllm_runtime(document: dict[str, Any]) -> Groups:
    """The vLLM production stack has its own short forms for all parts of a pod."""
    place = "spec.deploymentConfig"
    config = mapping(at(document, place))
    resources = mapping(config.get("resources"))
    settings = mapping(at(document, "spec.vllmConfig"))
    asked = {k: resources[k] for k in ("cpu", "memory") if k in resources}
    devices = {"nvidia.com/gpu": resources["gpu"]} if resources.get("gpu") is not None else {}
    fields = {
        "name": "vllm",
        "args": vllm_arguments(settings),
        "env": settings.get("env"),
        "resources": {"requests": asked, "limits": devices},
    }
    scheduling = {
        "tolerations": config.get("toleration"),
        **node_terms(config.get("nodeSelectorTerms")),
    }
    stated = {
        "model": model_of_address(at(document, "spec.model.modelURL")),
        "tensor": settings.get("tensorParallelSize"),
    }
    yield own_pods("", place, scheduling, count(document, f"{place}.replicas"), fields, stated)


def dynamo(document: dict[str, Any]) -> Groups:
    """NVIDIA Dynamo: components with pod templates; before v1beta1 services with a short form of
    resources (`gpu: "1"`)."""
    for index, component in enumerate(items(at(document, "spec.components"))):
        nodes = count(component, "multinode.nodeCount")
        pods = times(count(component, "replicas"), nodes)
        name = name_of(component, "name", index)
        yield template(component, name, "podTemplate", pods, f"spec.components[{index}].", nodes)
    for name, service in mapping(at(document, "spec.services")).items():
        fields = mapping(service)
        place = f"spec.services.{name}"
        resources = {
            part: {("nvidia.com/gpu" if k == "gpu" else k): v for k, v in mapping(values).items()}
            for part, values in mapping(fields.get("resources")).items()
            if part in ("requests", "limits")
        }
        pod = mapping(fields.get("extraPodSpec"))
        main = mapping(pod.get("mainContainer"))
        container = RawContainer(
            f"{place}.extraPodSpec.mainContainer",
            {"name": "main", **main, "resources": resources},
            short_form=True,
        )
        nodes = count(fields, "multinode.nodeCount")
        pods = times(count(fields, "replicas"), nodes)
        yield RawGroup(name, place, pod, pods, None, nodes, (container,))
