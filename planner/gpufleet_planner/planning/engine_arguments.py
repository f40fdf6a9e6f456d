"""Arguments that make vLLM or SGLang take what it was planned, and no more.

Without them vLLM takes 0.92 of the GPU that it sees. On a shared GPU it would take the memory of
the other workloads too.
"""

from math import floor
from typing import Any

from gpufleet.findings import Finding, info
from gpufleet.models.catalogue_models import named_format
from gpufleet.models.engine_profile import InferenceEngine, memory_fraction, step_tokens
from gpufleet.models.inference import Serving
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.placed import PlacedWorkload
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.planning.workloads import ModelWorkload
from gpufleet_planner.sizing.cache_capacity import capacity, started_sequences
from gpufleet_planner.sizing.device import DeviceShare

_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
_QUANTISED_AT_START = {"fp8": "fp8", "nf4": "bitsandbytes", "nf4-double": "bitsandbytes"}
"""Formats vLLM makes of 16-bit weights itself; the others need a checkpoint that has them."""
_CACHES = {"fp8": "fp8"}


def _engine(work: PlacedWorkload) -> InferenceEngine | None:
    """The engine whose image the workload names; None: another image, with its own arguments."""
    entry = work.entry
    if work.need is None or work.need.trains or not isinstance(entry, ModelWorkload):
        return None
    known = (InferenceEngine.VLLM, InferenceEngine.SGLANG)
    if entry.engine not in known or entry.engine.value not in (entry.image or ""):
        return None
    return entry.engine


def engine_command(work: PlacedWorkload) -> list[str]:
    """The command of SGLang, whose image has none; empty where the image has one."""
    if _engine(work) is InferenceEngine.SGLANG:
        return ["python3", "-m", "sglang.launch_server"]
    return []


def engine_arguments(work: PlacedWorkload) -> list[str]:
    """Arguments of the engine in its own image; empty for other engines and images. The model is
    named as the file names it; of a name of the catalogue its repository on the Hub is."""
    engine = _engine(work)
    if engine is None or work.need is None:
        return []
    option = work.option
    serving = next(s for s in work.need.serving if s.weights.name == option.reached.precision)
    if engine is InferenceEngine.SGLANG:
        return _sglang(work, serving, causal=work.need.model.causal)
    converted = named_format(_model(work)) is not None
    found = [f"--model={_repository(work)}", f"--max-model-len={serving.context}"]
    if work.need.model.causal:
        found += [
            f"--max-num-seqs={_sequences(work, serving)}",
            f"--max-num-batched-tokens={serving.batched_tokens}",
        ]
        found += [] if serving.chunked_prefill else ["--no-enable-chunked-prefill"]
    else:
        found.append("--runner=pooling")
    return [
        *found,
        f"--gpu-memory-utilization={_utilisation(serving, option)}",
        *_forms(serving, converted=converted),
        *_split(option),
    ]


def _sequences(work: PlacedWorkload, serving: Serving) -> int:
    """`max_num_seqs` as stated, and no more than the engine starts with."""
    assert work.need is not None
    reached = work.option.reached
    room = capacity(work.need.model, serving, reached.usable_bytes, reached.parallel)
    return started_sequences(serving, room)


def _sglang(work: PlacedWorkload, serving: Serving, *, causal: bool) -> list[str]:
    """Arguments of `sglang.launch_server` (its python/sglang/srt/server_args.py)."""
    split = work.option.reached.parallel
    degrees = {"tp": split.tensor, "pp": split.pipeline, "ep": split.expert}
    form, converted = serving.weights.name, named_format(_model(work)) is not None
    usable = work.option.reached.usable_bytes
    chunk = step_tokens(serving.engine, serving.batched_tokens, usable)
    found = [
        f"--model-path={_repository(work)}",
        "--host=0.0.0.0",
        f"--port={PORT}",
        f"--context-length={serving.context}",
        f"--mem-fraction-static={_utilisation(serving, work.option)}",
        f"--max-running-requests={serving.max_sequences}",
        f"--chunked-prefill-size={chunk if serving.chunked_prefill else -1}",
    ]
    found += [] if causal else ["--is-embedding"]
    if form in _DTYPES:
        found.append(f"--dtype={_DTYPES[form]}")
    elif form == "fp8" and serving.stored_bytes is None and not converted:
        found.append("--quantization=fp8")
    if serving.kv_cache.name == "fp8":
        found.append("--kv-cache-dtype=fp8_e4m3")
    return found + [f"--{name}-size={degree}" for name, degree in degrees.items() if degree > 1]


def _model(work: PlacedWorkload) -> str:
    assert isinstance(work.entry, ModelWorkload)
    return work.entry.model


def check_model_names(plan: PlannedFleet) -> tuple[Finding, ...]:
    """Where a name is not an id of the Hub (`organisation/name`): which id the engine is handed
    for it,
    or that it cannot fetch the model."""
    findings: list[Finding] = []
    for work in plan.workloads:
        entry = work.entry
        if not isinstance(entry, ModelWorkload) or "/" in entry.model:
            continue
        argument = next((a for a in engine_arguments(work) if a.startswith("--model")), None)
        if argument is None:
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
                f"the manifest of {entry.name} passes {argument}, and the engine fetches models "
                "by their id on the Hugging Face Hub",
                "write the id, such as meta-llama/Llama-3.1-8B-Instruct",
                value=entry.model,
            )
        )
    return tuple(findings)


def _repository(work: PlacedWorkload) -> str:
    """What the engine fetches the model by."""
    hub, model = () if work.need is None else work.need.hub, _model(work)
    return hub[0] if hub and "/" not in model else model


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
