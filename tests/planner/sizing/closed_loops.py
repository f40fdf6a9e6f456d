"""Published closed loops: clients that start together, ask for outputs of one length and send the
next request when they have their answer.

`python -m tests.planner.sizing.closed_loops` prints the table of docs/sizing.md.
"""

import csv
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.load_test import LoadFigures
from gpufleet_planner.sizing.serving_rates import ServingReplica, serving_replica
from tests.planner.sizing.measurements import model

SOURCE = (
    "NIM with TensorRT-LLM, Llama-3 (June 2024), measured by NVIDIA with genai-perf for its course "
    "on sizing: wbing520/ai-performance-engineering @ 0e25b2e, "
    "code/ch10_inference/inference_gpu_cluster_sizing/dataset/nim.csv"
)
"""134 of its rows, read on 2026-11-23: those of seven steps of concurrency in eighteen of its
settings. Outputs are of exactly one length (its columns of output tokens show it)."""
STEP_TOKENS = 28_000
"""Prompt tokens of one step, which the source does not state: fitted with the other constants."""


@dataclass(frozen=True)
class LoopPoint:
    gpu: str
    gpus: int
    weights: str
    model: str
    prompt: int
    output: int
    clients: int
    first_token_ms: float
    first_token_p95_ms: float
    token_ms: float
    tokens_per_second: float

    @property
    def case(self) -> str:
        return (
            f"{self.model} {self.weights.upper()}, {self.gpus} x {self.gpu.partition('-')[0]}, "
            f"{self.prompt} + {self.output}, {self.clients} clients"
        )

    @property
    def apart(self) -> bool:
        """A third, drawn by a hash of the case, that no constant is fitted to."""
        replica = f"{self.model} {self.weights}, {self.gpus} x {self.gpu}"
        text = f"{replica}, {self.prompt} + {self.output}"
        return sha256(f"{text}, {self.clients} at once".encode()).digest()[0] % 3 == 0

    @property
    def replica(self) -> ServingReplica:
        device = whole_gpu(load().find_gpu(self.gpu))
        assert isinstance(device, Device)
        serving = Serving(
            self.prompt + self.output,
            prompt_tokens=self.prompt,
            output_tokens=self.output,
            engine=InferenceEngine.TENSORRT_LLM,
            weights=WEIGHT_FORMATS[self.weights],
            max_sequences=2048,
            batched_tokens=STEP_TOKENS,
        )
        found = serving_replica(model(self.model), serving, device, Parallelism(tensor=self.gpus))
        assert found is not None
        return found

    @property
    def computed(self) -> LoadFigures:
        return self.replica.together(self.clients)

    @property
    def apart_by(self) -> tuple[float, float, float]:
        """Computed over measured: first token, time per token, tokens per second."""
        loop = self.computed
        return (
            1000 * loop.first_token_seconds / self.first_token_ms,
            1000 * loop.token_seconds / self.token_ms,
            loop.tokens_per_second / self.tokens_per_second,
        )

    @property
    def near(self) -> bool:
        """All three figures within 1.25, 1.25 and 1.2."""
        limits = (1.25, 1.25, 1.2)
        return all(
            max(found, 1 / found) <= limit
            for found, limit in zip(self.apart_by, limits, strict=True)
        )


def _points() -> tuple[LoopPoint, ...]:
    path = Path(__file__).parents[2] / "data" / "closed_loops.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            LoopPoint(
                row["gpu"],
                int(row["gpus"]),
                row["weights"],
                row["model"],
                int(row["prompt"]),
                int(row["output"]),
                int(row["clients"]),
                float(row["first_token_ms"]),
                float(row["first_token_p95_ms"]),
                float(row["token_ms"]),
                float(row["tokens_per_second"]),
            )
            for row in csv.DictReader(file)
        )


POINTS = _points()
APART = tuple(point for point in POINTS if point.apart)


def loop_table() -> list[str]:
    """The points kept apart."""
    lines = [
        "| load | first token, ms | token, ms | tokens/s | |",
        "|---|---|---|---|---|",
    ]
    for point in APART:
        loop = point.computed
        lines.append(
            f"| {point.case} | {1000 * loop.first_token_seconds:,.0f} of "
            f"{point.first_token_ms:,.0f} | {1000 * loop.token_seconds:.1f} of "
            f"{point.token_ms:.1f} | {loop.tokens_per_second:,.0f} of "
            f"{point.tokens_per_second:,.0f} | {'within' if point.near else '-'} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(loop_table()))
