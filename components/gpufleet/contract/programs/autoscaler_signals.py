"""Meaning of a metric or a PromQL query, by the exporters' names."""

import re
from collections.abc import Mapping
from typing import Any

from gpufleet.cluster.scaling import AutoscalerTarget
from gpufleet.documents.paths import entries_at, mapping_at

_UTILISATION = re.compile(
    r"DCGM_FI_DEV_GPU_UTIL|DCGM_FI_PROF_GR_ENGINE_ACTIVE|gpu[:_]engine_active"
    r"|duty_cycle|gpu_utili[sz]ation",
    re.IGNORECASE,
)
_NOT_ON_MIG = re.compile(r"DCGM_FI_DEV_(GPU|MEM_COPY|ENC|DEC)_UTIL", re.IGNORECASE)
_OF_PODS = re.compile(
    r"DCGM_FI_|vllm(_omni)?:|vllm_(num|kv|gpu|time|inter|e2e|request|prompt|generation|prefix)_|tgi_|"
    r"sglang[:_](?!router)|nv_inference_|gpu[:_](engine|tensor|memory)_",
    re.IGNORECASE,
)
"""Metrics of exporters and servers, not of proxies in front of them."""
_BATCHING = re.compile(
    r"vllm|sglang|text-generation-inference|tritonserver|lmdeploy|ollama|/nim/", re.IGNORECASE
)
"""Images of servers that batch requests."""
_KUBELET_OF = re.compile(r"\bcontainer_[a-z_]+\{[^{}]*\b(?:pod|container)=~?\"\^?([^\"]*)\"")
"""A metric of the kubelet, and the pods or containers that the query selects."""
_MEAN = re.compile(r"\s*avg\s*\(|\s*sum\s*\([^()]*\)\s*/\s*count\s*\([^()]*\)\s*$")
_MAKERS = ("nvidia.com/", "amd.com/", "aws.amazon.com/neuron", "google.com/tpu")


def is_utilisation(text: str) -> bool:
    """Whether it is the time in which a GPU is busy."""
    return _UTILISATION.search(text) is not None


def is_missing_on_mig(text: str) -> bool:
    """Whether it is 0 or missing on MIG slices."""
    return _NOT_ON_MIG.search(text) is not None


_VLLM_RENAMED = re.compile(
    r"(?<![\w:])vllm_((?:num_requests|kv_cache_usage|gpu_cache_usage|time_to_first_token|"
    r"time_per_output_token|inter_token_latency|e2e_request_latency|request_queue_time)\w*)"
)
"""A metric of vLLM's with `_` where vLLM writes `:` (vLLM, Production Metrics)."""


def renamed(query: str) -> tuple[str, str] | None:
    """A metric that its server exports under another name: the written and the correct name."""
    found = _VLLM_RENAMED.search(query)
    return None if found is None else (found[0], f"vllm:{found[1]}")


def is_of_pods(text: str) -> bool:
    """Whether the pods themselves export it, so that it disappears with the last pod."""
    return _OF_PODS.search(text) is not None


def is_of_target(text: str, name: str) -> bool:
    """Whether the kubelet measures it on the pods of a workload, by their names."""
    return bool(name) and any(one.group(1).startswith(name) for one in _KUBELET_OF.finditer(text))


def is_mean(query: str) -> bool:
    """Whether it is a mean over the series of the pods."""
    return _MEAN.match(query) is not None


def batches(image: str) -> bool:
    """Whether an image is of a server that batches requests."""
    return _BATCHING.search(image) is not None


def is_accelerator(resource: str) -> bool:
    """Whether a resource's name is that of an accelerator."""
    return resource.startswith(_MAKERS)


def target_of(workload: Mapping[str, Any]) -> AutoscalerTarget:
    """The facts about a workload's pods."""
    containers = [one for _, one in entries_at(workload, "spec.template.spec.containers")]
    images = " ".join(str(one.get("image", "")) for one in containers)
    amounts = [mapping_at(one, "resources") for one in containers]
    asked = [{**mapping_at(one, "limits"), **mapping_at(one, "requests")} for one in amounts]
    gpus = frozenset(str(name) for one in asked for name in one if is_accelerator(str(name)))
    return AutoscalerTarget(batches(images), gpus, any("cpu" not in one for one in asked))
