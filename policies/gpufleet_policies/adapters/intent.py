"""Intent from annotations (declared) and from command lines (inferred)."""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from gpufleet.catalogue import Catalogue
from gpufleet_policies.adapters.reading import decimal, fact, text
from gpufleet_policies.facts.intent import MODES, PREFIX, Intent
from gpufleet_policies.facts.tristate import Fact, Provenance, absent, known
from gpufleet_policies.facts.workload import Container, PodGroup

T = TypeVar("T")
GIB = 1 << 30

MODEL_OPTIONS = ("--model", "--model-id", "--model-name", "--model_name_or_path", "--model-path")
"""Options of vLLM, TGI, SGLang and transformers scripts that name the model."""

MODEL_VARIABLES = ("MODEL_ID", "HF_MODEL_ID", "MODEL_NAME", "MODEL")
QUANTIZATION_OPTIONS = ("--quantization", "--quantize", "-q", "--dtype")
DATA_PARALLEL_OPTIONS = ("--data-parallel-size", "-dp", "--dp-size", "--dp")

_SIZE = re.compile(
    r"(?<![a-z0-9.])(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,3})?)b(?![a-z0-9])", re.IGNORECASE
)
_NAMED_PRECISION = re.compile(r"(awq|gptq|nf4|int4|int8|fp8|w4a16|w8a8)", re.IGNORECASE)


def intent(
    annotations: Mapping[str, Any],
    groups: Iterable[PodGroup],
    variables: Mapping[str, str],
    catalogue: Callable[[], Catalogue],
) -> Intent:
    """What a workload is for: annotations win over what its command line suggests."""
    containers = [c for group in groups for c in group.containers if c.gpu_resources]
    name = _model_name(containers, variables)
    parameters = _declared(annotations, "model-params-b", _positive)
    if parameters.is_absent and name is not None:
        parameters = _parameters_of(name, catalogue)
    precision = _declared(annotations, "precision", _lower)
    if precision.is_absent:
        precision = _precision(containers, name)
    return Intent(
        model_parameters_billion=parameters,
        precision=precision,
        mode=_declared(annotations, "mode", lambda v: v if v in MODES else None),
        min_gpu_memory_bytes=_declared(annotations, "min-gpu-memory-gib", _gib),
        latency_slo=_declared(annotations, "latency-slo-ms", text),
        throughput_slo=_declared(annotations, "throughput-slo", text),
        environment=_declared(annotations, "environment", text),
        parallel_replicas=_data_parallel(containers),
    )


def _declared(
    annotations: Mapping[str, Any], name: str, convert: Callable[[Any], T | None]
) -> Fact[T]:
    key = PREFIX + name
    place = f"metadata.annotations[{key}]"
    return fact(annotations.get(key), convert, place, Provenance.DECLARED)


def _positive(value: Any) -> Decimal | None:
    number = decimal(value)
    return number if number is not None and number > 0 else None


def _gib(value: Any) -> int | None:
    number = _positive(value)
    return None if number is None else int(number * GIB)


def _lower(value: Any) -> str | None:
    written = text(value)
    return None if written is None else written.strip().lower()


def option(words: Iterable[str], names: Iterable[str]) -> str | None:
    """The value of the first of these options (`--model X`, `--model=X`); None without one."""
    wanted = tuple(names)
    pending = False
    for word in words:
        if pending:
            return word
        head, equals, tail = word.partition("=")
        if head in wanted:
            if equals:
                return tail
            pending = True
    return None


def _all_words(container: Container) -> list[str]:
    """Command and arguments, shell one-liners split at blanks."""
    found = container.words
    if not found.is_known:
        return []
    return [part for word in found.value for part in word.split()]


def _model_name(containers: Iterable[Container], variables: Mapping[str, str]) -> str | None:
    for container in containers:
        words = _all_words(container)
        named = option(words, MODEL_OPTIONS)
        if named is None and words[:2] == ["vllm", "serve"] and len(words) > 2:
            named = words[2]
        if named is not None:
            return named
    return next((variables[key] for key in MODEL_VARIABLES if key in variables), None)


def _parameters_of(name: str, catalogue: Callable[[], Catalogue]) -> Fact[Decimal]:
    """From the catalogue's model of that name, else from the size in the name (`8B`, `8x7b`)."""
    short = name.rsplit("/", 1)[-1].lower()
    for model in catalogue().models.values():
        if model.name.lower().rsplit("/", 1)[-1] == short:
            billions = Decimal(model.parameters) / 10**9
            return known(billions, Provenance.INFERRED, f"model {name}")
    sizes = [Decimal(experts or 1) * Decimal(size) for experts, size in _SIZE.findall(short)]
    if not sizes:
        return absent(f"model {name}", Provenance.INFERRED)
    # `30b-a3b` names all parameters first and the active ones second: memory holds all.
    return known(max(sizes), Provenance.INFERRED, f"model {name}")


def _precision(containers: Iterable[Container], name: str | None) -> Fact[str]:
    for container in containers:
        chosen = option(_all_words(container), QUANTIZATION_OPTIONS)
        if chosen is not None and chosen != "auto":
            return known(chosen.lower(), Provenance.INFERRED, container.place)
    named = _NAMED_PRECISION.search(name or "")
    if named is not None:
        return known(named[1].lower(), Provenance.INFERRED, f"model {name}")
    return absent("precision", Provenance.INFERRED)


def _data_parallel(containers: Iterable[Container]) -> Fact[int]:
    for container in containers:
        size = option(_all_words(container), DATA_PARALLEL_OPTIONS)
        if size is not None and size.isdecimal() and int(size) > 0:
            return known(int(size), Provenance.INFERRED, container.place)
    return absent("data parallel size", Provenance.INFERRED)
