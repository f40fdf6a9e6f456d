"""Arguments that make vLLM or SGLang take what it was planned, and no more.

Without them vLLM takes 0.92 of the GPU that it sees. On a shared GPU it would take the memory of
the other workloads too.
"""

from collections.abc import Iterator, Mapping
from math import floor
from typing import Any

from gpufleet.findings import Finding, findings_in
from gpufleet.models.engine_profile import InferenceEngine, memory_fraction, step_tokens
from gpufleet.models.formats import named_format
from gpufleet.models.inference import Serving
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.planning.workloads import ModelWorkload, PlacedWorkload
from gpufleet_planner.sizing.cache_capacity import capacity, started_sequences
from gpufleet_planner.sizing.device import DeviceShare

_finding = findings_in(__file__)
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_QUANTISED_AT_START = {
    InferenceEngine.VLLM: {"fp8": "fp8", "nf4": "bitsandbytes", "nf4-double": "bitsandbytes"},
    InferenceEngine.SGLANG: {"fp8": "fp8"},
}
"""Formats that an engine makes from 16-bit weights; others need a checkpoint in that format."""


def _engine(work: PlacedWorkload) -> InferenceEngine | None:
    """The engine whose image the workload names; None: another image, with its own arguments."""
    entry = work.entry
    if work.need is None or work.need.trains or not isinstance(entry, ModelWorkload):
        return None
    known = (InferenceEngine.VLLM, InferenceEngine.SGLANG)
    if entry.engine not in known or entry.engine.value not in (entry.image or ""):
        return None
    return entry.engine


def engine_arguments(work: PlacedWorkload) -> list[str]:
    """Arguments of the engine in its own image (`vllm serve`; `sglang.launch_server`, its
    python/sglang/srt/server_args.py); empty for other engines and images. The model is named as the
    file names it; of a name of the catalogue its repository on the Hub is."""
    engine, need, entry = _engine(work), work.need, work.entry
    if engine is None or need is None or not isinstance(entry, ModelWorkload):
        return []
    reached, causal = work.option.reached, need.model.causal
    split, usable = reached.parallel, reached.usable_bytes
    serving = next(s for s in need.serving if s.weights.name == reached.precision)
    form, cached = serving.weights.name, serving.kv_cache.name == "fp8"
    # A converted checkpoint has its own configuration of its format.
    converted = serving.stored_bytes is not None or named_format(entry.model) is not None
    quantised = None if converted else _QUANTISED_AT_START[engine].get(form)
    if engine is InferenceEngine.SGLANG:
        chunk = step_tokens(serving.engine, serving.batched_tokens, usable)
        return _written(
            {
                "model-path": _repository(work, entry.model),
                "host": "0.0.0.0",  # noqa: S104 - of the pod
                "port": PORT,
                "context-length": serving.context,
                "mem-fraction-static": _utilisation(serving, work.option),
                "max-running-requests": serving.max_sequences,
                "chunked-prefill-size": chunk if serving.chunked_prefill else -1,
                "is-embedding": not causal,
                "dtype": _DTYPES.get(form),
                "quantization": quantised,
                "kv-cache-dtype": "fp8_e4m3" if cached else None,
                "tp-size": split.tensor > 1 and split.tensor,
                "pp-size": split.pipeline > 1 and split.pipeline,
                "ep-size": split.expert > 1 and split.expert,
            }
        )
    room = capacity(need.model, serving, usable, split) if causal else None
    return _written(
        {
            "model": _repository(work, entry.model),
            "max-model-len": serving.context,
            "max-num-seqs": None if room is None else started_sequences(serving, room),
            "max-num-batched-tokens": serving.batched_tokens if causal else None,
            "no-enable-chunked-prefill": causal and not serving.chunked_prefill,
            "runner": None if causal else "pooling",
            "gpu-memory-utilization": _utilisation(serving, work.option),
            "dtype": _DTYPES.get(form),
            "quantization": quantised,
            "kv-cache-dtype": "fp8" if cached else None,
            "tensor-parallel-size": split.tensor > 1 and split.tensor,
            "pipeline-parallel-size": split.pipeline > 1 and split.pipeline,
            "enable-expert-parallel": split.expert > 1,
        }
    )


def _written(options: Mapping[str, object]) -> list[str]:
    """Options as a command line has them; None and false are left out."""
    return [
        f"--{name}" if value is True else f"--{name}={value}"
        for name, value in options.items()
        if value is not None and value is not False
    ]


def check_manifests(plan: PlannedFleet) -> Iterator[Finding]:
    """Workloads without an image; and of a name that is not an id of the Hub (`organisation/name`)
    the id that the engine gets for it, or that it cannot download the model."""
    missing = [work.entry.name for work in plan.workloads if work.entry.image is None]
    if missing:
        yield _finding("image-missing", "workloads", workloads=missing)
    for work in plan.workloads:
        entry = work.entry
        if not isinstance(entry, ModelWorkload) or "/" in entry.model:
            continue
        argument = next((a for a in engine_arguments(work) if a.startswith("--model")), None)
        if argument is None:
            continue
        path, name, model = f"{work.path}.model", entry.name, entry.model
        handed, others = _repository(work, model), () if work.need is None else work.need.hub[1:]
        if "/" not in handed:
            yield _finding(
                "model-not-a-hub-id", path, value=model, workload=name, argument=argument
            )
            continue
        yield _finding(
            "model-hub-id-chosen",
            path,
            value=model,
            workload=name,
            repository=handed,
            also=f"; {', '.join(others)} have the same shape" if others else "",
            others=others,
        )


def _repository(work: PlacedWorkload, model: str) -> str:
    """The name by which the engine downloads the model."""
    hub = () if work.need is None else work.need.hub
    return hub[0] if hub and "/" not in model else model


PORT = 8000
"""vLLM's default port."""
_LOADING_SECONDS = 1800
"""Time the first start may take, assumed: fetching and loading hundreds of gigabytes."""

_TOKEN = {"name": "hf-token", "key": "token", "optional": True}
"""Secret with a token of the Hugging Face Hub, which gated models need."""


def engine_container(work: PlacedWorkload) -> dict[str, Any]:
    """Command, which the image of SGLang lacks, arguments, token, port and probes of the engine,
    which answers `/health` once the model is loaded. Empty where its arguments are not known."""
    arguments = engine_arguments(work)
    if not arguments:
        return {}
    asked = {"httpGet": {"path": "/health", "port": PORT}, "periodSeconds": 10}
    sglang = _engine(work) is InferenceEngine.SGLANG
    return {
        **({"command": ["python3", "-m", "sglang.launch_server"]} if sglang else {}),
        "args": arguments,
        "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": _TOKEN}}],
        "ports": [{"containerPort": PORT, "name": "http"}],
        "startupProbe": {**asked, "failureThreshold": _LOADING_SECONDS // 10},
        "readinessProbe": {**asked, "failureThreshold": 3},
    }


def _utilisation(serving: Serving, option: Option) -> str:
    """Part of the GPU the engine sees, in four digits: a slice is all it sees, a share is not."""
    shared = option.share.kind in (DeviceShare.MPS, DeviceShare.TIME_SLICE)
    part = memory_fraction(
        serving.engine, serving.utilisation, option.reached.usable_bytes, option.reached.parallel
    )
    part /= option.share.replicas if shared else 1
    return f"{floor(round(part * 10_000, 6)) / 10_000:g}"
