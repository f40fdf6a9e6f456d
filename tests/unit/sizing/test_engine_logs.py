"""The room an engine reports at its start, against what is computed from the model alone.

Logs of vLLM in public threads; total memory is what the driver reported there. Compared is the
memory taken by everything but the cache, for that is what the formulas give; the cache is the rest.
"""

from dataclasses import dataclass, field
from fractions import Fraction

import pytest

from gpufleet.sizing.cache_capacity import capacity
from gpufleet.sizing.formats import WEIGHT_FORMATS
from gpufleet.sizing.inference import Serving, serving_ledger
from gpufleet.sizing.kv_cache import token_bytes
from gpufleet.sizing.parallel import Parallelism
from tests.unit.sizing.measurements import GIB, model


@dataclass(frozen=True)
class Log:
    """One start of an engine."""

    thread: str
    name: str
    total_gib: float
    tokens: int
    """Tokens of cache it found room for."""
    context: int
    tolerance: float
    """Of the memory that is not cache."""
    parallel: Parallelism = field(default_factory=Parallelism)
    weights: str = "bf16"
    batched: int | None = None
    sequences: int = 256

    @property
    def serving(self) -> Serving:
        return Serving(
            context=self.context,
            weights=WEIGHT_FORMATS[self.weights],
            utilisation=Fraction(9, 10),
            batched_tokens=self.batched or self.context,
            max_sequences=self.sequences,
            chunked_prefill=self.batched is not None,
        )


LOGS = (
    Log("vllm-project/vllm#10517", "Llama-3.1-8B", 23.58, 1952 * 16, 20_000, 0.01),
    Log("vllm-project/vllm#10517", "Llama-3.1-8B", 23.58, 1478 * 16, 29_000, 0.01),
    Log("vllm-project/vllm#4454", "Llama-3.1-8B", 47.5, 13_248 * 16, 8192, 0.04),
    Log("vllm-project/vllm#2031", "Llama-2-7B", 79.15, 7351 * 16, 4096, 0.04),
    Log(
        "vllm-project/vllm#15815",
        "Qwen2.5-32B",
        44.42,
        3947 * 16,
        10_000,
        0.04,
        parallel=Parallelism(tensor=2),
    ),
    Log(
        "vllm-project/vllm#21348",
        "Qwen3-235B-A22B",
        79.18,
        178_880,
        40_960,
        0.04,
        parallel=Parallelism(tensor=4),
        weights="fp8",
        batched=8192,
        sequences=1024,
    ),
)


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.thread}-{log.context}")
def test_what_is_not_cache_is_what_the_engine_found(log: Log) -> None:
    shape = model(log.name)
    each = token_bytes(shape, log.serving.kv_cache, log.parallel.tensor)
    instance = log.total_gib * GIB * 0.9
    measured = instance - float(log.tokens * each)
    room = capacity(shape, log.serving, int(log.total_gib * GIB), log.parallel)
    assert instance - room.cache_bytes == pytest.approx(measured, rel=log.tolerance)


def test_the_weights_are_what_the_engine_says_it_loaded() -> None:
    for name, parallel, gib in (
        ("Llama-3.1-8B", Parallelism(), 14.96),  # vllm-project/vllm#10511
        ("Llama-3.1-8B", Parallelism(tensor=2), 7.48),
        ("Qwen2.5-32B", Parallelism(tensor=2), 30.71),  # vllm-project/vllm#15815
        ("Qwen3-30B-A3B", Parallelism(tensor=4), 14.25),  # vllm-project/vllm#17327
    ):
        need = serving_ledger(model(name), Serving(context=4096), parallel)
        assert need["weights"].bytes / GIB == pytest.approx(gib, rel=0.01)


def test_a_longer_context_that_the_engine_refused_is_refused_here() -> None:
    """29,000 tokens: the engine found room for 23,648 and gave up; 20,000 started."""
    shape = model("Llama-3.1-8B")
    refused = capacity(shape, LOGS[1].serving, int(23.58 * GIB))
    started = capacity(shape, LOGS[0].serving, int(23.58 * GIB))
    assert (refused.sequences, started.sequences) == (0, 1)
