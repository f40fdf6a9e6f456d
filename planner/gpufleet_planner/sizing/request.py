"""A request of `gpufleet size`: one workload, from a file or from options of a command."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import reduce
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.documents.paths import child
from gpufleet.findings import Finding, error, findings_in
from gpufleet.messages import shown_value
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.parallel import Sharding
from gpufleet.spec.base import PlainModel
from gpufleet_planner.sizing.communication import LinkKind
from gpufleet_planner.sizing.training_state import (
    AdapterTargets,
    Arithmetic,
    Checkpointing,
    Loss,
    Optimizer,
    TrainingFramework,
    TrainingPrecision,
)
from gpufleet_planner.tables import table

_finding = findings_in(__file__)


def _plain(name: str) -> str:
    return name.lstrip("-").replace("-", "").replace("_", "").lower()


NOT_MODELLED = {name: row for row in table("not_modelled") for name in row["names"].split()}
"""Ways to serve that have no formula here, by the name of a key that requests one, in camelCase."""


def not_modelled(name: str, path: str) -> Finding | None:
    """The error for a key or option that requests one of them; None for any other name."""
    row = next((row for key, row in NOT_MODELLED.items() if _plain(key) == _plain(name)), None)
    if row is None:
        return None
    text = f"{row['what']} is not modelled: {row['why']}"
    return error("serving-not-modelled", path, text, row["fix"], value=name)


def check_expert_span(expert: int, gpus_per_node: int, path: str) -> tuple[Finding, ...]:
    """An error where a replica's experts are on more GPUs than one machine has."""
    if expert <= gpus_per_node:
        return ()
    row, ranks = NOT_MODELLED["wideEp"], f"({expert} ranks, {gpus_per_node} GPUs in one)"
    text = f"{row['what']} {ranks} is not modelled: {row['why']}"
    found = error("serving-not-modelled", path, text, row["fix"], value=expert, limit=gpus_per_node)
    return (found,)


class RequestModel(PlainModel):
    """A part of a request. Files use camelCase, Python may use either.

    It does not derive from the base of the FleetSpec: importing that builds every model of the
    declaration, which takes longer than any computation here.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,  # the parts of a request need no validator of their own
    )


Count = Annotated[int, Field(ge=1, le=1 << 20)]
Tokens = Annotated[int, Field(ge=1, le=1 << 30)]


class SizedWorkload(StrEnum):
    """Use of the model."""

    INFERENCE = "inference"
    EMBEDDING = "embedding"
    """Forward passes only: no cache, no generation."""
    FULL_FINE_TUNING = "full-fine-tuning"
    LORA = "lora"
    QLORA = "qlora"
    """LoRA over a base in NF4 with double quantisation."""
    PRE_TRAINING = "pre-training"

    @property
    def trains(self) -> bool:
        """Whether the workload updates weights."""
        return self not in (SizedWorkload.INFERENCE, SizedWorkload.EMBEDDING)


_WITH_UNIT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z%$/]+)\s*")
_THOUSANDS = {"k": 1000, "m": 10**6, "b": 10**9}
_TOKENS_OF_A_SEQUENCE = frozenset({"context", "prompt", "output", "batchedTokens"})
"""Base of `k`: `8k` is 8192."""
_FOLDED = {
    **{name.replace("-", ""): name.value for name in SizedWorkload},
    **{row["name"]: row["workload"] for row in table("workload_names")},
}


class ParallelRequest(RequestModel):
    """Degrees of parallelism; each 1 by default."""

    tensor: Count = 1
    """Tensor-parallel GPUs."""
    pipeline: Count = 1
    """Pipeline stages."""
    expert: Count = 1
    """Ranks that share the experts."""
    context: Count = 1
    """Ranks that share one sequence."""
    data: Count = 1
    """Training only: data-parallel ranks."""
    sharding: Sharding = Sharding.NONE
    """Divided state of data-parallel ranks; `zero3` is FSDP full shard."""
    sequence: bool = True
    """Sequence parallelism next to tensor parallelism."""


class LinkRequest(RequestModel):
    """Network between the nodes of a job."""

    kind: LinkKind
    gigabits_per_second: Annotated[float, Field(gt=0, le=1e6)]
    """GPUs of one node."""
    gpus_per_node: Count = 8


class LengthShape(StrEnum):
    """Distribution of prompts and outputs around their means."""

    EQUAL = "equal"
    """Not at all: NVIDIA's guide, `--random-range-ratio 0` of vLLM and 1 of SGLang."""
    UNIFORM = "uniform"
    """Each length from 0 to twice the mean equally likely, prompts and outputs independent:
    SGLang's `random` with its own range ratio, 0 (python/sglang/bench_serving.py)."""
    SHAREGPT = "sharegpt"
    """Lengths of conversations: first questions and answers of ShareGPT after vLLM's filter."""


class LoadTestRequest(RequestModel):
    """A load test of one replica, as `vllm bench serve` and `sglang.bench_serving` make it. Lengths
    are those of `prompt` and `output`, which are means."""

    prompts: Annotated[int, Field(ge=1, le=20_000)] = 1000
    """Requests in all; `--num-prompts`."""
    lengths: LengthShape = LengthShape.EQUAL
    """Distribution of lengths: `equal`, `uniform` (from 0 to twice the mean) or `sharegpt`."""
    rate: Annotated[float, Field(gt=0, le=1e5)] | None = None
    """Requests a second, at random; `--request-rate`. Default: all at once."""
    clients: Count | None = None
    """Clients that send the next request after an answer; `--max-concurrency`."""


class SizeRequest(RequestModel):
    """One workload to size."""

    model: str
    """Name in the catalogue, path of a config.json or its folder, or a parameter count (`8B`)."""
    workload: str = "inference"
    """inference, embedding, full-fine-tuning, lora, qlora or pre-training."""
    context: Tokens
    """Longest sequence in tokens: prompt and output together, or one training sample."""
    batch: Count = 1
    """Sequences at the same time; training: samples per GPU and micro-batch."""
    active_parameters: str | None = None
    """With a parameter count: those used per token, such as `3B`."""
    prompt: Tokens | None = None
    """Mean prompt in tokens; with `output` the cache is sized for the mean."""
    output: Tokens | None = None
    """Mean output in tokens."""
    engine: InferenceEngine = InferenceEngine.VLLM
    """Inference engine."""
    weights: str | None = None
    """Format of the weights; default that of the checkpoint or, for serving, of the model's
    publisher, else bf16 (fp16 before compute capability 8.0 must be written)."""
    kv_cache: str = "bf16"
    """Format of the KV cache."""
    utilisation: Annotated[Decimal, Field(gt=0, le=1)] | None = None
    """Memory fraction of the engine (`gpu_memory_utilization` of vLLM, `free_gpu_memory_fraction`
    of TensorRT-LLM, `mem_fraction_static` of SGLang). Default: the engine's own."""
    batched_tokens: Tokens = 8192
    """Tokens that the engine prefills in one step (`max_num_batched_tokens`)."""
    max_sequences: Count = 256
    """Sequences that the engine runs at most (`max_num_seqs`)."""
    images: bool = True
    """Whether images are served; no: no vision tower is loaded (`--language-model-only`)."""
    chunked_prefill: bool = True
    """Whether the engine prefills in chunks; default: it does."""
    graphs: bool = True
    """Whether the engine captures CUDA graphs; no (`--enforce-eager`): no speed is computed."""
    load_test: LoadTestRequest | None = None
    """Serving: the load test to model."""
    gpu: str | None = None
    """GPU to validate fit and speed on."""
    board: str | None = None
    """`sxm`, `pcie`, ...; default: what cloud instances carry."""
    mig: str | None = None
    """MIG profile of that GPU."""
    mps: Count | None = None
    """MPS replicas of that GPU."""
    time_slicing: Count | None = None
    """Time-slicing replicas of that GPU or slice."""
    parallelism: ParallelRequest = ParallelRequest()
    network: LinkRequest | None = None
    """Between nodes; default: everything is inside one node."""
    framework: TrainingFramework = TrainingFramework.PYTORCH
    """Training: what runs the job; speed depends on it."""
    arithmetic: Arithmetic = Arithmetic.BF16
    """Training: what matrices are multiplied in."""
    precision: TrainingPrecision = TrainingPrecision.MIXED
    """Precision of numbers between steps. For serving: same as weights."""
    optimizer: Optimizer = Optimizer.ADAMW
    """Optimizer state of each parameter."""
    fused_optimizer: bool = False
    """Whether the optimizer steps inside the backward pass."""
    accumulation: Count = 1
    """Micro-batches of an optimizer step."""
    checkpointing: Checkpointing = Checkpointing.NONE
    """Which activations are recomputed instead of kept."""
    compile: bool = False
    """Whether torch.compile is used on the layers."""
    loss: Loss | None = None
    """Default: compiled with `compile`, else eager."""
    loss_parallel: bool = False
    """Whether the loss is divided among tensor ranks."""
    rank: Count = 16
    """LoRA rank."""
    targets: AdapterTargets = AdapterTargets.ALL_LINEAR
    """Matrices that LoRA adapts."""
    interleaving: Count = 1
    """Virtual pipeline stages of a GPU."""


def find_workload(text: str) -> SizedWorkload | Finding:
    """The named workload, or the error with the valid names."""
    folded = text.strip().lower().replace("-", "").replace("_", "").replace(" ", "")
    name = _FOLDED.get(folded)
    if name is not None:
        return SizedWorkload(name)
    names = [kind.value for kind in SizedWorkload]
    close = nearest_names(text, names) or tuple(names)
    fix = f"write {' or '.join(close)}"
    return _finding("workload-unknown", "workload", fix=fix, value=text, names=names)


LIKE_A_KEY = 0.7
"""Likeness from which a known key is proposed for an unknown one: `password` is not `workload`."""


def unit_fix(kind: str, value: object, name: str) -> str | None:
    """The plain number for `8k`, `50ms` or `8GiB`; None for other texts."""
    found = _WITH_UNIT.fullmatch(value) if isinstance(value, str) else None
    if found is None or not (kind in _NUMBERS or kind.endswith("_parsing")):
        return None
    number, unit = found.groups()
    if unit.lower() in _THOUSANDS:
        each = 1024 if unit.lower() == "k" and name in _TOKENS_OF_A_SEQUENCE else None
        scaled = Decimal(number) * (each or _THOUSANDS[unit.lower()])
        return f"write {scaled.normalize():f}"
    if unit == "%":
        part = Decimal(number) / 100 + (1 if name == "growth" else 0)
        return f"write {part.normalize():f}: {name} is not a percentage"
    return f"write {number} without {unit}: the unit of {name} is in its name"


_NUMBERS = ("int_type", "float_type")
_BOUNDS = {
    "less than or equal to": "at most",
    "greater than or equal to": "at least",
    "greater than": "more than",
}


def problem_words(detail: ErrorDetails, path: str) -> tuple[str, str]:
    """An invalid value in words for the author of the file, and the value to write instead.
    `path` is its place."""
    kind, name, limits = detail["type"], path.rpartition(".")[2], detail.get("ctx", {})
    if kind == "too_short":
        least = limits["min_length"]
        entries = "entry is" if least == 1 else "entries are"
        return f"at least {least} {entries} needed", f"add an entry to {name}"
    found: object = detail["input"]
    if kind == "string_type" and isinstance(found, int | float):
        return f"{name} is read as a number, and must be text", f'put it in quotes: "{found}"'
    if kind in _NUMBERS and isinstance(found, bool):
        return f"{name} is a number, not true or false", f"write the number of {name}"
    for row in table("request_problems"):
        if kind in row["kind"].split():
            return row["text"].format(name=name, **limits), row["fix"].format(name=name, **limits)
    text = detail["msg"].removeprefix("Value error, ")
    wanted = text.removeprefix("Input should be ")
    if wanted == text:
        return text, f"fix {name}; docs/planner.md and docs/sizing.md have an example of it"
    for pydantic, plain in _BOUNDS.items():
        text, wanted = text.replace(pydantic, plain), wanted.replace(pydantic, plain)
    return text.replace("Input", name, 1), f"write {wanted}"


def parse_request(data: dict[str, Any]) -> tuple[SizeRequest | None, tuple[Finding, ...]]:
    """Plain data of a file -> request, with every structural problem at once."""
    findings: list[Finding] = []
    return read_model(SizeRequest, data, "", "size-request-invalid", findings), tuple(findings)


_Model = TypeVar("_Model", bound=BaseModel)


def _keys_at(kind: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """The keys of the part of a model that is at a place."""
    for step in place:
        fields = {field.alias or name: field for name, field in kind.model_fields.items()}
        waiting: list[Any] = [fields[step].annotation] if step in fields else []
        while waiting:
            one = waiting.pop()
            waiting += get_args(one)
            if isinstance(one, type) and issubclass(one, BaseModel):
                kind = one
    return [field.alias or name for name, field in kind.model_fields.items()]


def read_model(
    kind: type[_Model], data: Mapping[str, Any], path: str, code: str, findings: list[Finding]
) -> _Model | None:
    """Plain data as a model; None with a finding of `code` for each problem, below `path`."""
    try:
        return kind.model_validate(data)
    except ValidationError as problem:
        places = [detail["loc"] for detail in problem.errors()]
        for detail in problem.errors():
            if detail["type"] == "too_short" and any(
                detail["loc"] == place[:-1][: len(detail["loc"])] for place in places
            ):
                continue  # its entries exist, and each has its own finding
            place = reduce(child, detail["loc"], path)
            fix = None
            missing = not_modelled(str(detail["loc"][-1]), place) if detail["loc"] else None
            if detail["type"] == "extra_forbidden" and missing is not None:
                findings.append(missing)
                continue
            if detail["type"] == "extra_forbidden":
                known = _keys_at(kind, detail["loc"][:-1])
                close = nearest_names(str(detail["loc"][-1]), known, likeness=LIKE_A_KEY)
                fix = f"write {' or '.join(close)}" if close else f"known: {', '.join(known)}"
            fix = fix or unit_fix(detail["type"], detail["input"], place.rpartition(".")[2])
            text, remediate = problem_words(detail, place)
            if detail["type"] in {"missing", "extra_forbidden", "too_short"}:
                findings.append(error(code, place, text, fix or remediate))
                continue
            shown = shown_value(detail["input"])
            findings.append(error(code, place, f"{text}: {shown}", fix or remediate, value=shown))
        return None
