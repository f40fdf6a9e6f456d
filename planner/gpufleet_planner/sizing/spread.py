"""How far published load tests are from what is computed, by what is served."""

from dataclasses import dataclass

from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine


@dataclass(frozen=True, slots=True)
class Spread:
    """Lowest and highest time per token under load, as parts of the computed one; throughput: the
    inverse."""

    least: float
    most: float
    note: str = ""
    """One sentence where the spread is too wide to buy by."""


DENSE_TENSORRT = Spread(0.7, 1.25)
"""29 of 29 published loads of TensorRT-LLM (tests/planner/sizing/load_points.py), 129 of 134
further ones (tests/data/closed_loops.csv)."""
DENSE = Spread(0.5, 1.5)
"""15 of 17 published times per token and all 17 throughputs of vLLM and SGLang
(tests/data/engine_loads.csv). Of other engines it is assumed."""
MIXTURE = Spread(
    0.45,
    2.0,
    "few load tests of mixtures of experts are public: measure before you buy",
)
"""21 of 24 published times per token and all 25 throughputs of vLLM, SGLang and TensorRT-LLM (the
same file). Outside are DeepSeek-V3 under SGLang of April 2025, twice above, and gpt-oss-120b for
one client on eight B200, below."""


def spread_of(model: Architecture, engine: InferenceEngine) -> Spread:
    """That of a model on an engine."""
    if model.is_mixture:
        return MIXTURE
    return DENSE_TENSORRT if engine is InferenceEngine.TENSORRT_LLM else DENSE
