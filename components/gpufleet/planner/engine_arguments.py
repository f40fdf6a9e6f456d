"""Arguments that make vLLM take what it was planned, and no more.

Without them vLLM takes 0.92 of the GPU that it sees. On a shared GPU it would take the memory of
the other workloads too.
"""

from math import floor
from typing import Any

from gpufleet.findings import Finding, info
from gpufleet.planner.option import Option
from gpufleet.planner.plan import PlacedWorkload, PlannedFleet
from gpufleet.planner.workloads import ModelWorkload
from gpufleet.sizing.catalogue_models import named_format
from gpufleet.sizing.device import DeviceShare
from gpufleet.sizing.engine_profile import InferenceEngine, memory_fraction
from gpufleet.sizing.inference import Serving

_IMAGE = "vllm"
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_QUANTISED_AT_START = {"fp8": "fp8", "nf4": "bitsandbytes", "nf4-double": "bitsandbytes"}
"""Formats vLLM makes of 16-bit weights itself; the others need a checkpoint that has them."""
_CACHES = {"fp8": "fp8"}


def engine_arguments(work: PlacedWorkload) -> list[str]:
    """Arguments of `vllm serve` in vLLM's image; empty for other engines and images, which have
    arguments of their own. The model is named as the file names it; of a name of the catalogue its
    repository on the Hub is."""
    entry = work.entry
    if work.need is None or work.need.trains or not isinstance(entry, ModelWorkload):
        return []
    if entry.engine is not InferenceEngine.VLLM or entry.image is None or _IMAGE not in entry.image:
        return []
    option = work.option
    serving = next(s for s in work.need.serving if s.weights.name == option.reached.precision)
    found = [f"--model={_repository(work)}", f"--max-model-len={serving.context}"]
    if work.need.model.causal:
        found += [
            f"--max-num-seqs={serving.max_sequences}",
            f"--max-num-batched-tokens={serving.batched_tokens}",
        ]
        found += [] if serving.chunked_prefill else ["--no-enable-chunked-prefill"]
    else:
        found.append("--runner=pooling")
    return [
        *found,
        f"--gpu-memory-utilization={_utilisation(serving, option)}",
        *_forms(serving, converted=named_format(entry.model) is not None),
        *_split(option),
    ]


def check_model_names(plan: PlannedFleet) -> tuple[Finding, ...]:
    """Where a name is no id of the Hub (`organisation/name`): which id the engine is handed for it,
    or that it cannot fetch the model."""
    findings: list[Finding] = []
    for work in plan.workloads:
        entry = work.entry
        if not isinstance(entry, ModelWorkload) or "/" in entry.model or not engine_arguments(work):
            continue
        path, others = f"{work.path}.model", () if work.need is None else work.need.hub[1:]
        handed = _repository(work)
        if "/" in handed:
            also = f"; {', '.join(others)} have the same shape" if others else ""
            findings.append(
                info(
                    "model-hub-id-chosen",
                    path,
                    f"the manifest of {entry.name} runs {handed} of the Hugging Face Hub for "
                    f"{entry.model}{also}",
                    "write the id you mean as `model`",
                    value=entry.model,
                    repository=handed,
                    others=list(others),
                )
            )
            continue
        findings.append(
            info(
                "model-not-a-hub-id",
                path,
                f"the manifest of {entry.name} passes --model={entry.model}, and vLLM fetches "
                "models by their id on the Hugging Face Hub",
                "write the id, such as meta-llama/Llama-3.1-8B-Instruct",
                value=entry.model,
            )
        )
    return tuple(findings)


def _repository(work: PlacedWorkload) -> str:
    """What the engine fetches the model by."""
    assert isinstance(work.entry, ModelWorkload)
    hub = () if work.need is None else work.need.hub
    return hub[0] if hub and "/" not in work.entry.model else work.entry.model


PORT = 8000
"""vLLM's default port."""
_LOADING_SECONDS = 1800
"""Time the first start may take, assumed: fetching and loading hundreds of gigabytes."""


def engine_probes(work: PlacedWorkload) -> dict[str, Any]:
    """Port and probes of the same engine: it answers `/health` once the model is loaded. Empty
    where its arguments are not known either."""
    if not engine_arguments(work):
        return {}
    asked = {"httpGet": {"path": "/health", "port": PORT}, "periodSeconds": 10}
    return {
        "ports": [{"containerPort": PORT, "name": "http"}],
        "startupProbe": {**asked, "failureThreshold": _LOADING_SECONDS // 10},
        "readinessProbe": {**asked, "failureThreshold": 3},
    }


def _utilisation(serving: Serving, option: Option) -> str:
    """Part of the GPU the engine sees: a slice is all it sees, a share is not."""
    shared = option.share.kind in (DeviceShare.MPS, DeviceShare.TIME_SLICE)
    part = memory_fraction(
        serving.engine, serving.utilisation, option.reached.usable_bytes, option.reached.parallel
    )
    part /= option.share.replicas if shared else 1
    return f"{floor(part * 100) / 100:.2f}"


def _forms(serving: Serving, *, converted: bool) -> list[str]:
    """`converted`: the checkpoint's name says that it is in its format already, and its own
    configuration says how."""
    name = serving.weights.name
    found: list[str] = []
    if name in _DTYPES:
        found.append(f"--dtype={_DTYPES[name]}")
    elif name in _QUANTISED_AT_START and serving.stored_bytes is None and not converted:
        found.append(f"--quantization={_QUANTISED_AT_START[name]}")
    if serving.kv_cache.name in _CACHES:
        found.append(f"--kv-cache-dtype={_CACHES[serving.kv_cache.name]}")
    return found


def _split(option: Option) -> list[str]:
    split = option.reached.parallel
    found: list[str] = []
    if split.tensor > 1:
        found.append(f"--tensor-parallel-size={split.tensor}")
    if split.pipeline > 1:
        found.append(f"--pipeline-parallel-size={split.pipeline}")
    if split.expert > 1:
        found.append("--enable-expert-parallel")
    return found
