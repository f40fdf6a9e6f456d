"""Type and lines of the engine table: GPU memory of an inference engine besides its cache."""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from gpufleet.catalogue.edition import RawRow
from gpufleet.catalogue.source import Source
from gpufleet.catalogue.source_rows import SourceTable, sourced

_GIB = 1 << 30


class CacheRule(StrEnum):
    """The memory that the engine's memory fraction refers to."""

    GPU = "gpu"
    """The whole GPU: weights, activations and the rest are inside the part."""
    FREE_BEFORE_WEIGHTS = "free-before-weights"
    """Memory that is free before the weights are loaded: only the weights are inside the part."""
    LEFT = "left"
    """Memory that weights, activations and the rest leave free."""


@dataclass(frozen=True, slots=True)
class EngineDefault:
    """Defaults of an engine on GPUs of some memory."""

    below_bytes: int | None
    """GPUs with less memory than this; None: all larger ones."""
    step_tokens: int
    """Prompt tokens of one step."""
    graph_sequences: int
    """Largest batch with a CUDA graph."""
    wide_graph_sequences: int
    """The same in tensor groups of four and more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingEngine:
    """One generation of an engine."""

    key: str
    releases: str
    """Releases that these figures apply to."""
    cache_rule: CacheRule
    fraction: Fraction | None
    """Default of its memory fraction; None: by the memory of the GPU, see `defaults`."""
    sampler_bytes: int
    """Bytes of each logit while the maximum number of sequences is sampled."""
    sampler_divided: bool
    """Whether tensor ranks divide these logits."""
    alone_bytes: int
    """Context, libraries and CUDA graphs on one GPU."""
    eager_bytes: int
    """The same without CUDA graphs."""
    parallel_bytes: int
    """The same with several GPUs, NCCL too."""
    before_bytes: int
    """Context and libraries before the weights are loaded."""
    keeps_whole: bool = False
    """Whether a sequence starts only if there is room for all of it, its longest output included,
    so that no sequence is paused."""
    mixes: bool = False
    """Whether prompts and decoded tokens of a step share one pass over the weights."""
    reserved_output: tuple[float, float, int]
    """Part of the output still to come of running sequences for which it keeps room when it starts
    another: the first, the least, and the steps in which one becomes the other."""
    server_step_seconds: float
    """Scheduling time that its server adds to a step; 0: none was measured."""
    server_sequence_seconds: float
    """Sampling and response time that it adds for each sequence of a step."""
    spread: str = ""
    """Measured values, lowest to highest; empty: unknown."""
    defaults: tuple[EngineDefault, ...]
    source: Source
    notes: str = ""

    def default_of(self, gpu_bytes: int) -> EngineDefault | None:
        """Defaults on a GPU with this memory; None: they do not depend on the memory."""
        for row in self.defaults:
            if row.below_bytes is None or gpu_bytes < row.below_bytes:
                return row
        return None


def engine_of(raw: RawRow, sources: SourceTable) -> ServingEngine:
    """A generation of an engine."""
    whole = float(raw.get("keeps_whole", False))
    return sourced(
        ServingEngine,
        raw,
        sources,
        cache_rule=CacheRule(raw["cache_rule"]),
        fraction=Fraction(raw["fraction"]) if "fraction" in raw else None,
        alone_bytes=_bytes(raw["alone_gib"]),
        eager_bytes=_bytes(raw.get("eager_gib", raw["alone_gib"])),
        parallel_bytes=_bytes(raw["parallel_gib"]),
        before_bytes=_bytes(raw.get("before_gib", "0")),
        reserved_output=tuple(raw.get("reserved_output", (whole, whole, 1))),
        server_step_seconds=raw.get("server_step_us", 0) / 1e6,
        server_sequence_seconds=raw.get("server_sequence_us", 0) / 1e6,
        defaults=tuple(
            EngineDefault(
                _bytes(row["below_gib"]) if "below_gib" in row else None,
                row["step_tokens"],
                row["graph_sequences"],
                row["wide_graph_sequences"],
            )
            for row in raw.get("defaults", ())
        ),
    )


def _bytes(gib: str) -> int:
    return int(Decimal(gib) * _GIB)
