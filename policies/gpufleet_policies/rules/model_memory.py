"""GPU memory one replica of a model needs for inference: declared, or estimated by `sizing`.

A model of the catalogue has its own shape. Where only the number of parameters is known, a usual
service is assumed: eight sequences at a time, at most 8,192 tokens each, 1,024 in and 512 out on
average. A number in a name (`7b`) is rounded, and does not show the attention: it counts a quarter
more, with a cache of full heads (google/gemma-7b has 8.54e9 parameters and 0.46 MB a token).
Declare another figure with `gpufleet.dev/min-gpu-memory-gib`.
"""

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from gpufleet.catalogue import Catalogue
from gpufleet.cluster import Container, Provenance, WorkloadIntent
from gpufleet_policies.names import meanings

if TYPE_CHECKING:
    from gpufleet.models.architecture import Architecture
    from gpufleet.models.formats import WeightFormat

GIB = 1 << 30

ROOM = Fraction(6, 5)
"""A model must fit with a fifth to spare."""

ENGINE_NAMES = meanings("format of weights")
"""Format name in vLLM and TGI -> its name in `sizing`; the larger one where it is ambiguous."""

_SMALLEST = {"bitsandbytes": "nf4", "w8a8": "int8"}
"""The smaller one, for what must certainly not fit."""

STEP_TOKENS = 2048
"""Tokens of a step that a server takes by default; 8192 on GPUs of 70 GiB and more but the A100
(vllm/engine/arg_utils.py, `get_batch_defaults`): the smaller one, for what must not fit."""

_ROUNDED = Decimal("1.25")
"""Maximum number of a model's parameters divided by that in its name: Gemma-7b has 1.22."""

_ROUNDED_DOWN = Decimal("0.9")
"""Least: names round up too (Llama-2-7b has 0.963, Falcon-7B 0.989)."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Need of one replica."""

    bytes: int
    provenance: Provenance
    because: str
    """Origin of the figure, in words."""
    capability: tuple[int, int]
    """Oldest compute capability that runs the model's format."""

    def __str__(self) -> str:
        return f"{gib(self.bytes)} ({self.because})"


@dataclass(frozen=True, slots=True)
class _Sized:
    """A model, its format and how both are known."""

    name: str
    """In words: `Llama-3.1-70B in bf16`."""
    architecture: "Architecture"
    weights: "WeightFormat"
    evidence: Provenance
    is_named: bool
    """A model of the catalogue: its size is not a guess."""


def memory_need(intent: WorkloadIntent, catalogue: Catalogue) -> MemoryNeed | None:
    """The need of one model replica; None if it, or a part of it, is unknown."""
    declared, precision = intent.min_gpu_memory_bytes, intent.precision
    if declared.is_unknown or precision.is_unknown:
        return None
    if declared.is_known:
        found = capability_of(precision.value if precision.is_known else "bf16")
        if found is None:
            return None
        because = "declared by gpufleet.dev/min-gpu-memory-gib"
        return MemoryNeed(declared.value, declared.provenance, because, found)
    sized = _sized(intent, catalogue, _ROUNDED)
    if sized is None or intent.context_tokens.is_unknown:
        return None
    kind = "declared" if sized.evidence is Provenance.DECLARED else "inferred"
    because = f"estimated for {sized.name}, {kind}"
    need = _ledger_bytes(sized.architecture, sized.weights, intent.context_tokens.found or 0)
    return MemoryNeed(need, sized.evidence, because, sized.weights.min_capability)


def model_weights(intent: WorkloadIntent, catalogue: Catalogue) -> MemoryNeed | None:
    """Minimum bytes of the weights alone; None if unknown.

    A declared need of one replica counts as stated.
    """
    declared, precision = intent.min_gpu_memory_bytes, intent.precision
    if declared.is_unknown or precision.is_unknown or intent.offloads:
        return None
    if declared.is_known:
        because = "declared by gpufleet.dev/min-gpu-memory-gib"
        return MemoryNeed(declared.value, declared.provenance, because, (0, 0))
    sized = _sized(intent, catalogue, _ROUNDED_DOWN, _SMALLEST)
    if sized is None:
        return None
    evidence = Provenance.EXPLICIT if sized.is_named else sized.evidence
    total = _weight_bytes(sized.architecture, sized.weights)
    return MemoryNeed(total, evidence, sized.name, sized.weights.min_capability)


@lru_cache(maxsize=256)
def _weight_bytes(model: "Architecture", weights: "WeightFormat") -> int:
    from gpufleet.models.inference import Serving, weight_items
    from gpufleet.models.parallel import Parallelism

    items = weight_items(model, Serving(8192, weights=weights), Parallelism())
    return sum(item.bytes for item in items)


# `sizing` takes a third of a second to import: only programs that name a model pay for it.


def _sized(
    intent: WorkloadIntent,
    catalogue: Catalogue,
    rounded: Decimal,
    names: dict[str, str] | None = None,
) -> _Sized | None:
    """A declared number of parameters, else a model of the catalogue, else a number in the name."""
    parameters, model = intent.model_parameters_billion, intent.model
    is_declared = parameters.is_known and parameters.provenance is Provenance.DECLARED
    if parameters.is_unknown or not (parameters.is_known or model.is_known):
        return None
    named = None
    if model.is_known and not is_declared:
        named = _named(model.value, catalogue)
    own = named[1] if named is not None else None
    # The format written, else the one the model is published in, else 16 bit: engines' default.
    written = intent.precision
    name = written.value if written.is_known else own or "bf16"
    weights = _format((names or {}).get(name, name))
    if weights is None:
        return None
    if named is not None:
        words = f"{named[0].name} in {name}"
        return _Sized(words, named[0], weights, Provenance.INFERRED, is_named=True)
    if not parameters.is_known:
        return None
    billions = parameters.value if is_declared else parameters.value * rounded
    architecture = _of_count(int(billions * 10**9), full_heads=not is_declared and rounded > 1)
    if architecture is None:
        return None
    size = f"{parameters.value.normalize():f}"
    worst = min(one.provenance for one in (parameters, written) if one.is_known)
    return _Sized(f"{size} B parameters in {name}", architecture, weights, worst, is_named=False)


def named_model(intent: WorkloadIntent, catalogue: Catalogue) -> "Architecture | None":
    """The model of the catalogue that a workload names; None: none, or not known."""
    named = _named(intent.model.value, catalogue) if intent.model.is_known else None
    return None if named is None else named[0]


def longest_sequence(intent: WorkloadIntent) -> int | None:
    """Tokens that the model was made for (`max_position_embeddings` of its config.json)."""
    name = (intent.model.found or "").rstrip("/").rsplit("/", 1)[-1].lower()
    lengths = meanings("longest sequence of a model").items()
    return next((int(tokens) for names, tokens in lengths if re.fullmatch(names, name)), None)


def sequence_cache(intent: WorkloadIntent, catalogue: Catalogue) -> tuple[int, int]:
    """Tokens of the longest sequence that vLLM keeps room for, and bytes of its cache, for models
    of the catalogue; 0: not known. A window holds a step's tokens too (vllm/v1/
    kv_cache_interface.py, `SlidingWindowSpec.max_memory_usage_bytes`)."""
    from gpufleet.models.inference import Serving, replica_sequence_bytes
    from gpufleet.models.parallel import Parallelism

    written, model = intent.context_tokens, named_model(intent, catalogue)
    tokens = longest_sequence(intent) if written.is_absent else written.found
    if model is None or not tokens or intent.step_tokens.is_unknown:
        return 0, 0
    serving = Serving(tokens, batched_tokens=intent.step_tokens.or_default(STEP_TOKENS).value)
    return tokens, replica_sequence_bytes(model, serving, Parallelism(), tokens)


@lru_cache(maxsize=256)
def _named(name: str, catalogue: Catalogue) -> "tuple[Architecture, str | None] | None":
    """A model of the catalogue by the name of one of its releases, and the release's format."""
    from gpufleet.findings import Finding
    from gpufleet.models.catalogue_models import find_catalogue_model
    from gpufleet.models.formats import named_format

    plain, form = named_format(name) or (name, None)
    found = find_catalogue_model(plain, catalogue)
    if isinstance(found, Finding):
        return None
    return found, form or catalogue.model(found.name).released_weights


@cache
def _format(name: str) -> "WeightFormat | None":
    from gpufleet.models.formats import WeightFormat, find_weight_format

    found = find_weight_format(ENGINE_NAMES.get(name, name))
    return found if isinstance(found, WeightFormat) else None


def capability_of(name: str) -> tuple[int, int] | None:
    """Lowest compute capability that runs a format; None for an unknown name."""
    found = _format(name)
    return None if found is None else found.min_capability


@cache
def _of_count(parameters: int, *, full_heads: bool) -> "Architecture | None":
    """A typical model of this size; with keys and values for each query head, or few."""
    from gpufleet.models.architecture import Attention
    from gpufleet.models.stated_size import from_parameter_count, stated_parameters

    if stated_parameters(str(parameters)) is None:
        return None
    found = from_parameter_count(parameters)
    if not full_heads:
        return found
    groups = tuple(
        replace(group, mixer=replace(group.mixer, kv_heads=group.mixer.query_heads))
        if isinstance(group.mixer, Attention)
        else group
        for group in found.groups
    )
    return replace(found, groups=groups)


@lru_cache(maxsize=256)
def _ledger_bytes(model: "Architecture", weights: "WeightFormat", context: int = 0) -> int:
    """Bytes with planning margin of a usual service, with room for one longest sequence."""
    from gpufleet.models.inference import Serving, serving_ledger

    usual = Serving(8192, batch=8, prompt_tokens=1024, output_tokens=512, weights=weights)
    need = serving_ledger(model, usual).planning_bytes
    if context > usual.context:
        need = max(need, serving_ledger(model, Serving(context, weights=weights)).planning_bytes)
    return need


def gib(amount: int) -> str:
    """Bytes as people read them."""
    return f"{amount / GIB:.1f} GiB"


def stored_weights(
    intent: WorkloadIntent, container: Container, catalogue: Catalogue
) -> dict[str, Any]:
    """The model, whether it is in 16 bit (`plain`), its weights, and their room or claim."""
    model, room = named_model(intent, catalogue), container.download_room
    row = catalogue.model(model.name) if model else None
    plain = row is not None and row.released_weights is None and intent.model.found in row.hub
    found = {"plain": plain, "model": intent.model.found}
    if room is None or (need := model_weights(intent, catalogue)) is None:
        return found
    sizes = {"weights": need.bytes} | ({"room": room} if isinstance(room, int) else {})
    return {**found, **sizes, "claim": room, "sizes": {n: gib(v) for n, v in sizes.items()}}
