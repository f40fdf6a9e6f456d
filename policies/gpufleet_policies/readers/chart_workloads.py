"""Charts whose values are GPU workloads: the vLLM production stack, JupyterHub.

What a chart renders is not seen while a program is planned; its values say enough of it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.scaling import ScalingFacts
from gpufleet_policies.facts.tristate import unknown
from gpufleet_policies.facts.workload import GPU, WorkloadFacts
from gpufleet_policies.readers.raw_pods import (
    Groups,
    PodMakerKind,
    RawContainer,
    RawGroup,
    count,
    model_of_address,
    name_of,
    natural,
)
from gpufleet_policies.readers.reading import at, boolean, fact, items, mapping
from gpufleet_policies.readers.workload import read_workload

_CULL_SECONDS = 3600
"""Seconds after which JupyterHub stops an unused server by default: one hour."""


def _models(values: dict[str, Any]) -> Groups:
    """`servingEngineSpec.modelSpec`: a Deployment each, with short forms of its own."""
    shared = mapping(values.get("servingEngineSpec"))
    for index, spec in enumerate(items(shared.get("modelSpec"))):
        place = f"servingEngineSpec.modelSpec[{index}]"
        fields = mapping(spec)
        settings = mapping(fields.get("vllmConfig"))
        resource = fields.get("requestGPUType")
        name = resource if isinstance(resource, str) else GPU
        gpus = fields.get("requestGPU")
        requests = {"cpu": fields.get("requestCPU"), "memory": fields.get("requestMemory")}
        words = items(settings.get("extraArgs"))
        share = settings.get("gpuMemoryUtilization")
        if share is not None:
            words = [*words, f"--gpu-memory-utilization={share}"]
        terms = fields.get("nodeSelectorTerms")
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        container = {
            "name": "vllm",
            "image": fields.get("repository"),
            "args": words or None,
            "env": fields.get("env"),
            "resources": {
                "requests": {k: v for k, v in requests.items() if v is not None},
                "limits": {} if gpus is None else {name: gpus},
            },
        }
        yield RawGroup(
            name_of(spec, "name", index),
            place,
            {
                "tolerations": shared.get("tolerations"),
                "nodeSelector": fields.get("nodeSelector"),
                **({} if terms is None else {"affinity": {"nodeAffinity": required}}),
            },
            count(spec, "replicaCount"),
            containers=(RawContainer(place, container, short_form=True),),
            stated={
                "model": model_of_address(fields.get("modelURL")),
                "tensor": settings.get("tensorParallelSize"),
                "pipeline": settings.get("pipelineParallelSize"),
            },
        )


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
    requests = {
        "cpu": at(user, "cpu.guarantee") or at(user, "cpu.limit"),
        "memory": at(user, "memory.guarantee") or at(user, "memory.limit") or "1G",
    }
    written = {key: value for key, value in requests.items() if value is not None}
    usual = mapping(at(user, "extraResource.limits"))
    offers = [("", "singleuser.extraResource", usual)]
    for index, profile in enumerate(items(user.get("profileList"))):
        override = mapping(at(profile, "kubespawner_override"))
        place = f"singleuser.profileList[{index}].kubespawner_override"
        limits = mapping(override.get("extra_resource_limits"))
        offers.append((name_of(profile, "slug", index), place, limits))
    for name, place, limits in offers:
        if not limits:
            continue
        container = {"name": "notebook", "resources": {"requests": written, "limits": limits}}
        yield RawGroup(
            name,
            place,
            {
                "nodeSelector": user.get("nodeSelector"),
                "tolerations": user.get("extraTolerations"),
            },
            unknown("users"),
            containers=(RawContainer(place, container, short_form=True),),
        )


_CHARTS = {
    "vllm-stack": PodMakerKind(_models, scaling=_model_scaling),
    "jupyterhub": PodMakerKind(_servers),
}
"""Chart -> where its pods are in its values."""

NAMES = tuple(_CHARTS)
"""Charts that are workloads."""


def workload_of_values(
    chart: str, values: dict[str, Any], locator: Locator, catalogue: Callable[[], Catalogue]
) -> WorkloadFacts | None:
    """The pods a chart would make of these values; None for other charts, and without pods."""
    kind = _CHARTS.get(chart)
    if kind is None:
        return None
    document = {**values, "metadata": {"annotations": _said(chart, values)}}
    found = read_workload(document, locator, "helm.sh", kind, catalogue)
    return found if found.pod_groups else None


def _said(chart: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the chart itself means: servers of JupyterHub are for people, and are stopped."""
    if chart != "jupyterhub":
        return {"gpufleet.dev/mode": "inference"}
    said: dict[str, Any] = {"gpufleet.dev/mode": "interactive"}
    enabled = fact(at(values, "cull.enabled"), boolean, "cull.enabled").or_default(True)
    if not enabled.is_known or enabled.value:
        seconds = at(values, "cull.timeout")
        said["gpufleet.dev/culled-after-seconds"] = _CULL_SECONDS if seconds is None else seconds
    return said
