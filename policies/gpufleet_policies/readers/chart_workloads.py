"""Charts whose values are GPU workloads: vLLM production stack, JupyterHub, app-template.

The rendered objects are not available while a program is planned; the values hold enough facts.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpufleet.cluster.container import GPU
from gpufleet.cluster.fact import known, unknown
from gpufleet.cluster.release_values import joined
from gpufleet.cluster.scaling import ScalingFacts
from gpufleet.cluster.workload import WorkloadFacts
from gpufleet.documents.shapes import is_mapping, items, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.raw_pods import (
    Groups,
    PodMakerKind,
    RawContainer,
    RawGroup,
    count,
    model_of_address,
    name_of,
    natural,
    node_terms,
    own_pods,
    scaling_of,
    vllm_arguments,
)
from gpufleet_policies.readers.reading import at, boolean, fact
from gpufleet_policies.readers.workload import read_workload

_CULL_SECONDS = 3600
"""Seconds after which JupyterHub stops an unused server by default: one hour."""


def _models(values: dict[str, Any]) -> Groups:
    """`servingEngineSpec.modelSpec`: a Deployment each, with its own short forms."""
    shared = mapping(values.get("servingEngineSpec"))
    for index, spec in enumerate(items(shared.get("modelSpec"))):
        place = f"servingEngineSpec.modelSpec[{index}]"
        fields = mapping(spec)
        settings = mapping(fields.get("vllmConfig"))
        resource = fields.get("requestGPUType")
        resource_name = resource if isinstance(resource, str) else GPU
        container = {
            "name": "vllm",
            "image": fields.get("repository"),
            "args": vllm_arguments(settings) or None,
            "env": fields.get("env"),
            "resources": _short_resources(fields, name=resource_name),
        }
        scheduling = {
            "tolerations": shared.get("tolerations"),
            "nodeSelector": fields.get("nodeSelector"),
            **node_terms(fields.get("nodeSelectorTerms")),
        }
        stated: dict[str, Any] = {
            "model": model_of_address(fields.get("modelURL")),
            "tensor": settings.get("tensorParallelSize"),
            "pipeline": settings.get("pipelineParallelSize"),
            "preset": True,  # the chart adds probes
            "shared_memory": _has_shared_memory(fields, settings),
        }
        pods, together = count(spec, "replicaCount"), known(1)
        name, ray = name_of(spec, "name", index), mapping(fields.get("raySpec"))
        if ray.get("enabled") is not None and ray.get("enabled") is not False:
            # One Ray cluster serves one copy: its head, and `replicaCount` workers
            # (vllm-project/production-stack, helm/templates/ray-cluster.yaml).
            together = known(pods.value + 1) if pods.is_known else pods
            stated["spreads"] = True
            own = _short_resources(mapping(ray.get("headNode")), name=resource_name)
            head, at_head = {**container, "resources": own}, f"{place}.raySpec.headNode"
            yield own_pods(f"{name} head", at_head, scheduling, known(1), head, stated, together)
        yield own_pods(name, place, scheduling, pods, container, stated, together)


def _has_shared_memory(fields: dict[str, Any], settings: dict[str, Any]) -> bool:
    """Whether the chart may mount a volume at /dev/shm, or the pod has its node's: by one key of
    `vllmConfig`, and not by the same option in `extraArgs` (vllm-project/production-stack f1f9822
    helm/templates/deployment-vllm-multi.yaml)."""
    others = ("extraVolumeMounts", "lmcacheConfig", "raySpec")
    return "tensorParallelSize" in settings or any(key in fields for key in others)


def _short_resources(spec: dict[str, Any], *, name: str) -> dict[str, Any]:
    """`requestCPU`, `requestMemory` and `requestGPU` in the words of a container."""
    requests = {"cpu": spec.get("requestCPU"), "memory": spec.get("requestMemory")}
    gpus = spec.get("requestGPU")
    return {
        "requests": {key: value for key, value in requests.items() if value is not None},
        "limits": {} if gpus is None else {name: gpus},
    }


def _model_scaling(values: dict[str, Any]) -> Iterator[ScalingFacts]:
    for index, spec in enumerate(items(at(values, "servingEngineSpec.modelSpec"))):
        place = f"servingEngineSpec.modelSpec[{index}].keda"
        if isinstance(at(spec, "keda"), dict):
            most = f"{place}.maxReplicaCount"
            yield ScalingFacts(
                place=place,
                minimum=count(spec, "keda.minReplicaCount"),
                maximum=fact(at(spec, "keda.maxReplicaCount"), natural, most),
                group=name_of(spec, "name", index),
                enabled=fact(at(spec, "keda.enabled"), boolean, place).or_default(False),
            )


def _servers(values: dict[str, Any]) -> Groups:
    """The server each user of JupyterHub gets, and the profiles they may choose instead."""
    user = mapping(values.get("singleuser"))
    usual = {
        "cpu_guarantee": at(user, "cpu.guarantee"),
        "cpu_limit": at(user, "cpu.limit"),
        "mem_guarantee": at(user, "memory.guarantee"),
        "mem_limit": at(user, "memory.limit"),
        "extra_resource_limits": at(user, "extraResource.limits"),
        "node_selector": user.get("nodeSelector"),
        "tolerations": user.get("extraTolerations"),
    }
    offers: list[tuple[str, str, dict[str, Any]]] = [("", "singleuser.extraResource", {})]
    for index, profile in enumerate(items(user.get("profileList"))):
        override = mapping(at(profile, "kubespawner_override"))
        where = f"singleuser.profileList[{index}]"
        name = name_of(profile, "slug", index)
        offers.append((name, f"{where}.kubespawner_override", override))
        for option, written in mapping(at(profile, "profile_options")).items():
            for choice, one in mapping(at(written, "choices")).items():
                place = f"{where}.profile_options.{option}.choices.{choice}.kubespawner_override"
                chosen = {**override, **mapping(at(one, "kubespawner_override"))}
                if "extra_resource_limits" in mapping(at(one, "kubespawner_override")):
                    offers.append((f"{name} {option} {choice}", place, chosen))
    for name, place, override in offers:
        # KubeSpawner's own names of what the chart writes under `singleuser`.
        server = {**usual, **override}
        limits = mapping(server["extra_resource_limits"])
        if not limits or (override and "extra_resource_limits" not in override):
            continue
        requests = {
            "cpu": server["cpu_guarantee"] or server["cpu_limit"],
            "memory": server["mem_guarantee"] or server["mem_limit"] or "1G",
        }
        written = {key: value for key, value in requests.items() if value is not None}
        container = {"name": "notebook", "resources": {"requests": written, "limits": limits}}
        nodes = {"nodeSelector": server["node_selector"], "tolerations": server["tolerations"]}
        yield own_pods(name, place, nodes, unknown("users"), container)


def _nim(values: dict[str, Any]) -> Groups:
    """One NIM (NVIDIA/nim-deploy, helm/nim-llm/templates/deployment.yaml at 2267003).

    The chart requests one GPU unless its values state another number; it has its own probes and a
    volume at /dev/shm. Over several nodes it makes a LeaderWorkerSet, which is not read.
    """
    if at(values, "multiNode.enabled") not in (None, False):
        return
    written = mapping(values.get("resources"))
    resources = {**written, "limits": {GPU: 1, **mapping(written.get("limits"))}}
    repository, tag = at(values, "image.repository"), at(values, "image.tag")
    tagged = f"{repository}:{tag}" if isinstance(tag, str) and tag else repository
    container = {
        "name": "nim-llm",
        "image": tagged if isinstance(repository, str) else None,
        "command": values.get("customCommand") or None,
        "args": values.get("customArgs") or None,
        "env": values.get("env"),
        "resources": resources,
    }
    scheduling = {key: values.get(key) for key in ("nodeSelector", "tolerations", "affinity")}
    stated = {"model": at(values, "model.name"), "preset": True}
    pods = count(values, "replicaCount")
    yield own_pods("", "resources", scheduling, pods, container, stated)


_ONCE = ("job", "cronjob", "daemonset")
"""Controllers of app-template of which the number of pods is not their `replicas`."""


def _controllers(values: dict[str, Any]) -> Groups:
    """A controller each (bjw-s-labs/helm-charts, charts/library/common/values.yaml 4.x): mappings
    of containers by name, its own probes, and options of the pod before those of all pods."""
    shared = mapping(values.get("defaultPodOptions"))
    for name, controller in mapping(values.get("controllers")).items():
        fields = mapping(controller)
        if fields.get("enabled") is False:
            continue
        place = f"controllers.{name}"
        kind = fields.get("type")
        pods = unknown(place) if kind in _ONCE else count(fields, "replicas")
        yield RawGroup(
            name,
            place,
            {**shared, **mapping(fields.get("pod"))},
            pods,
            containers=tuple(
                RawContainer(f"{place}.containers.{key}", _plain_container(key, one))
                for key, one in mapping(fields.get("containers")).items()
                if at(one, "enabled") is not False
            ),
            stated={"preset": True},
        )


def _plain_container(name: str, written: Any) -> dict[str, Any]:
    """A container of app-template in Kubernetes' own words."""
    fields = mapping(written)
    image = fields.get("image")
    repository, tag = at(image, "repository"), at(image, "tag")
    if isinstance(repository, str):
        image = f"{repository}:{tag}" if tag is not None else repository
    variables = fields.get("env")
    if is_mapping(variables):
        variables = [
            {"name": key, **(value if is_mapping(value) else {"value": str(value)})}
            for key, value in variables.items()
            if value is not None
        ]
    words = {
        key: [value] if isinstance(value := fields.get(key), str) else value
        for key in ("command", "args")
    }
    return {
        "name": name,
        "image": image,
        "env": variables,
        "resources": fields.get("resources"),
        **words,
    }


_CHARTS = {
    "app-template": PodMakerKind(_controllers),
    "nim-llm": PodMakerKind(
        _nim, scaling=scaling_of("autoscaling", switch="autoscaling.enabled", most=10)
    ),
    "vllm-stack": PodMakerKind(_models, scaling=_model_scaling),
    "jupyterhub": PodMakerKind(_servers),
}
"""Chart -> where its pods are in its values."""

NAMES = tuple(_CHARTS)
"""Charts that are workloads."""


def workload_of_values(
    chart: str,
    values: dict[str, Any],
    locator: Locator,
    place: str = "",
) -> WorkloadFacts | None:
    """The pods a chart would make of these values; None for other charts, and without pods.

    `place` is the field of a wrapper that holds the values; fields of pods are below it.
    """
    kind = _CHARTS.get(chart)
    if kind is None:
        return None
    if place:
        kind = _below(kind, place)
    document = {**values, "metadata": {"annotations": _said(chart, values)}}
    found = read_workload(document, locator, "helm.sh", kind)
    return found if found.pod_groups else None


def _below(kind: PodMakerKind, place: str) -> PodMakerKind:
    """The same pods, their fields below those of a wrapper."""

    def groups(values: dict[str, Any]) -> Groups:
        for raw in kind.groups(values):
            own = tuple(replace(c, place=joined(place, c.place)) for c in raw.containers or ())
            yield replace(raw, place=joined(place, raw.place), containers=own or raw.containers)

    def scaling(values: dict[str, Any]) -> Iterator[ScalingFacts]:
        for one in kind.scaling(values) if kind.scaling is not None else ():
            yield replace(one, place=joined(place, one.place))

    return replace(kind, groups=groups, scaling=scaling if kind.scaling is not None else None)


def _said(chart: str, values: dict[str, Any]) -> dict[str, Any]:
    """Properties of the chart itself: servers of JupyterHub are interactive, and are stopped."""
    if chart == "app-template":
        return {}
    if chart != "jupyterhub":
        return {"gpufleet.dev/mode": "inference"}
    said: dict[str, Any] = {"gpufleet.dev/mode": "interactive"}
    enabled = fact(at(values, "cull.enabled"), boolean, "cull.enabled").or_default(True)
    if not enabled.is_known or enabled.value:
        seconds = at(values, "cull.timeout")
        said["gpufleet.dev/culled-after-seconds"] = _CULL_SECONDS if seconds is None else seconds
    return said
