"""Intent from annotations (declared) and from command lines (inferred)."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, TypeVar

from gpufleet.catalogue import load
from gpufleet.cluster.container import Container
from gpufleet.cluster.fact import Fact, Provenance, absent, known, unknown
from gpufleet.cluster.intent import MODES, PREFIX, WorkloadIntent
from gpufleet_policies.names import names
from gpufleet_policies.readers.options import Options
from gpufleet_policies.readers.reading import decimal, fact, text, whole

T = TypeVar("T")
GIB = 1 << 30

MODEL_OPTIONS = names("option that names the model")
"""Options of vLLM, TGI, SGLang and transformers scripts that name the model."""

MODEL_VARIABLES = ("MODEL_ID", "HF_MODEL_ID", "MODEL_NAME", "MODEL", "MODEL_PATH")
QUANTIZATION_OPTIONS = ("--quantization", "--quantize", "-q", "--dtype")

_EXPERTS = re.compile(r"\d+b-\d+e(?![a-z0-9])", re.IGNORECASE)
"""`17B-128E`: active parameters and experts; the name does not have the total."""

_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,3})?)b(?![a-z0-9])", re.IGNORECASE
)
_NAMED_PRECISION = re.compile(
    r"(?<![a-z0-9])(awq|gptq|nf4|int4|int8|fp8|nvfp4|mxfp4|fp4|w4a16|w8a8)(?![a-z])", re.IGNORECASE
)
_NAMED_COMPRESSION = re.compile(
    r"(?<![a-z0-9])(?:gguf|ggml|exl[23]|aqlm|hqq|mlx|q[2-8]_\w+|(?<!bnb-)[2-8][-_]?bit)(?![a-z])",
    re.I,
)
"""Formats whose bytes a name does not tell."""


@dataclass(frozen=True, slots=True)
class ContainerProgram:
    """Program of one GPU container, as far as its object shows it."""

    container: Container
    words: Sequence[str]
    options: Options
    variables: Mapping[str, str]
    stated_model: str | None = None
    """Model named by a field of the object itself."""
    hidden: bool = False
    """Whether its command line cannot be read."""


def intent(
    annotations: Mapping[str, Any],
    programs: Sequence[ContainerProgram],
) -> WorkloadIntent:
    """Purpose of a workload: annotations override the guess from its command line."""
    name = _model_name(programs)
    parameters = _declared(annotations, "model-params-b", _positive)
    if parameters.is_absent and name is not None:
        parameters = _parameters_of(name)
    precision = _declared(annotations, "precision", _lower)
    if precision.is_absent:
        precision = _precision(programs, name)
        if precision.is_absent and any(program.hidden for program in programs):
            precision = unknown("command")
    return WorkloadIntent(
        model_parameters_billion=parameters,
        model=absent("model") if name is None else known(name, Provenance.INFERRED, "model"),
        context_tokens=_tokens_of(programs, LENGTHS),
        step_tokens=_tokens_of(programs, ("--max-num-batched-tokens",)),
        offloads=any(_offloads(program) for program in programs),
        precision=precision,
        mode=_declared(annotations, "mode", lambda v: v if v in MODES else None),
        min_gpu_memory_bytes=_declared(annotations, "min-gpu-memory-gib", _gib),
        latency_slo=_declared(annotations, "latency-slo-ms", text),
        throughput_slo=_declared(annotations, "throughput-slo", text),
        sized_by=_declared(annotations, "sized-by", text),
        environment=_declared(annotations, "environment", text),
        interruptible=_declared(annotations, "interruptible", _yes_or_no),
        checkpoint_seconds=_declared(annotations, "checkpoint-seconds", _seconds),
        culled_after=_declared(annotations, "culled-after-seconds", _seconds),
        parallel_replicas=_data_parallel(programs),
    )


_UNREAD: Fact[Any] = unknown("metadata.annotations", Provenance.DECLARED)
HIDDEN = WorkloadIntent(
    **{f.name: _UNREAD for f in fields(WorkloadIntent) if f.name != "offloads"}, offloads=True
)
"""For a workload whose annotations cannot be read."""


def declared_environment(annotations: Mapping[str, Any]) -> Fact[str]:
    """Environment of a workload, when it states one."""
    return _declared(annotations, "environment", text)


def _declared(
    annotations: Mapping[str, Any], name: str, convert: Callable[[Any], T | None]
) -> Fact[T]:
    key = PREFIX + name
    value = annotations.get(key)
    if value is None:
        return _SILENT
    return fact(value, convert, f"metadata.annotations[{key}]", Provenance.DECLARED)


_SILENT: Fact[Any] = absent("metadata.annotations", Provenance.DECLARED)


def _positive(value: Any) -> Decimal | None:
    number = decimal(value)
    return number if number is not None and number > 0 else None


def _gib(value: Any) -> int | None:
    number = _positive(value)
    return None if number is None else int(number * GIB)


def _seconds(value: Any) -> int | None:
    number = _positive(value)
    return None if number is None else int(number)


def _yes_or_no(value: Any) -> bool | None:
    return {"true": True, "yes": True, "false": False, "no": False}.get(str(value).lower())


def _lower(value: Any) -> str | None:
    written = text(value)
    return None if written is None else written.strip().lower()


LENGTHS = ("--max-model-len", "--max-total-tokens", "--context-length", "--max-seq-len")
"""vLLM, TGI, SGLang, TensorRT-LLM: a server does not start without room for one such sequence."""


def _tokens_of(programs: Iterable[ContainerProgram], options: tuple[str, ...]) -> Fact[int]:
    for program in programs:
        written = program.options.single(options)
        if written is not None:
            return fact(written, _tokens, program.container.place, Provenance.INFERRED)
    return absent("context", Provenance.INFERRED)


def _tokens(value: Any) -> int | None:
    number = whole(value)
    return number if number is not None and 0 < number <= 100_000_000 else None


def _offloads(program: ContainerProgram) -> bool:
    """vLLM's own option, and engines that put what does not fit into the host's memory."""
    if program.hidden or program.options.has(_OFFLOADING):
        return True
    said = f"{program.container.image.found or ''} {' '.join(program.words[:4])}".lower()
    return any(engine in said for engine in _HOST_MEMORY)


_OFFLOADING = ("--cpu-offload-gb", "--device-map", "--n-gpu-layers", "-ngl", "--load-format")
_HOST_MEMORY = ("ollama", "llama.cpp", "llama-cpp", "llamacpp", "koboldcpp", "localai", "airllm")


def _model_name(programs: Iterable[ContainerProgram]) -> str | None:
    for program in programs:
        named = program.options.first(MODEL_OPTIONS)
        words = program.words
        serves = (
            at
            for at, word in enumerate(words)
            if word == "serve" and (at < 6 or words[at - 1].rpartition("/")[2] == "vllm")
        )
        if named is None and (at := next(serves, None)) is not None:
            after = words[at + 1 : at + 2]
            named = after[0] if after and not after[0].startswith("-") else None
        if named is None:
            named = next(
                (program.variables[key] for key in MODEL_VARIABLES if key in program.variables),
                program.stated_model,
            )
        if named is not None:
            return named
    return None


def _parameters_of(name: str) -> Fact[Decimal]:
    """From the catalogue's model of that name, else from the size in the name (`8B`, `8x7b`)."""
    short = name.rstrip("/").rsplit("/", 1)[-1].lower()
    place = f"model {name}"
    for model in load().models.values():
        if model.name.lower().rsplit("/", 1)[-1] == short:
            return known(Decimal(model.parameters) / 10**9, Provenance.INFERRED, place)
    if _EXPERTS.search(short):
        return absent(place, Provenance.INFERRED)
    sizes = [Decimal(experts or 1) * Decimal(size) for experts, size in _SIZE.findall(short)]
    if not sizes or max(sizes) == 0:
        return absent(place, Provenance.INFERRED)
    # `30b-a3b` names all parameters first and the active ones second: memory holds all.
    return known(max(sizes), Provenance.INFERRED, place)


def _precision(programs: Iterable[ContainerProgram], name: str | None) -> Fact[str]:
    for program in programs:
        chosen = program.options.first(QUANTIZATION_OPTIONS)
        if chosen is not None and chosen.lower() not in ("auto", "none"):
            return known(chosen.lower(), Provenance.INFERRED, program.container.place)
    named = _NAMED_PRECISION.search(name or "")
    if named is not None:
        return known(named[1].lower(), Provenance.INFERRED, f"model {name}")
    if _NAMED_COMPRESSION.search(name or ""):
        return unknown(f"model {name}", Provenance.INFERRED)
    return absent("precision", Provenance.INFERRED)


def _data_parallel(programs: Iterable[ContainerProgram]) -> Fact[int]:
    for program in programs:
        found = program.container.launch.data
        if not found.is_absent:
            return found if found.is_unknown else known(found.value, Provenance.INFERRED)
    return absent("data parallel size", Provenance.INFERRED)
