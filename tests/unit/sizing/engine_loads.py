"""Published load tests of vLLM and SGLang: each client sends its next request when it has its
answer.

`python -m tests.unit.sizing.engine_loads` prints the table of docs/sizing.md.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.sizing.closed_loop import ClosedLoop
from gpufleet.sizing.device import Device, whole_gpu
from gpufleet.sizing.formats import WEIGHT_FORMATS
from gpufleet.sizing.inference import InferenceEngine, Serving
from gpufleet.sizing.parallel import Parallelism
from gpufleet.sizing.serving_rates import PERCENTILE, ServingReplica, serving_replica
from tests.unit.sizing.measurements import model

_MOST_ROUNDS = 5


@dataclass(frozen=True)
class EngineLoad:
    """A row of tests/data/engine_loads.csv, which names its source. Lengths are means: some tools
    draw them up to twice that. Limits of sequences and tokens are those of the command, else the
    engine's own on such a GPU."""

    row: dict[str, str]

    @property
    def case(self) -> str:
        row = self.row
        name = row["model"].rpartition("/")[2]
        gpus = int(row["tensor"]) * int(row["pipeline"])
        copies = f"{row['replicas']} of " if row["replicas"] != "1" else ""
        return (
            f"{name} {row['weights'].upper()}, {copies}{gpus} x {row['gpu'].partition('-')[0]}, "
            f"{row['engine']}, {row['prompt']} + {row['output']}, {row['clients']} clients"
        )

    def number(self, name: str) -> float:
        return float(self.row[name])

    def count(self, name: str) -> int:
        return int(self.row[name])

    @property
    def clients(self) -> int:
        """Of one replica."""
        return self.count("clients") // self.count("replicas")

    @property
    def replica(self) -> ServingReplica:
        device = whole_gpu(load().find_gpu(self.row["gpu"]))
        assert isinstance(device, Device)
        prompt, output = self.count("prompt"), self.count("output")
        serving = Serving(
            prompt + output,
            prompt_tokens=prompt,
            output_tokens=output,
            engine=InferenceEngine(self.row["engine"]),
            weights=WEIGHT_FORMATS[self.row["weights"]],
            max_sequences=self.count("max_sequences"),
            batched_tokens=self.count("batched_tokens"),
        )
        split = Parallelism(
            tensor=self.count("tensor"),
            pipeline=self.count("pipeline"),
            expert=self.count("expert"),
        )
        found = serving_replica(model(self.row["model"]), serving, device, split)
        assert found is not None
        return found

    @property
    def computed(self) -> ClosedLoop:
        return self.replica.together(self.clients, min(self.count("rounds"), _MOST_ROUNDS))

    @property
    def first_token_ms(self) -> tuple[float, float, float]:
        """Means of arrivals at random and of clients in step, and what 95 % keep at random."""
        replica, clients = self.replica, self.clients
        return (
            1000 * replica.loaded_first_token_seconds(clients),
            1000 * self.computed.first_token_seconds,
            1000 * replica.loaded_first_token_seconds(clients, PERCENTILE),
        )

    @property
    def tokens_per_second(self) -> float:
        return self.computed.tokens_per_second * self.count("replicas")

    @property
    def token_by(self) -> float:
        """Measured over computed time per token."""
        return self.number("token_ms") / (1000 * self.computed.token_seconds)

    @property
    def rate_by(self) -> float:
        """Measured over computed throughput."""
        return self.number("tokens_per_second") / self.tokens_per_second


def _loads() -> tuple[EngineLoad, ...]:
    path = Path(__file__).parents[2] / "data" / "engine_loads.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(EngineLoad(row) for row in csv.DictReader(file))


LOADS = _loads()


def engine_load_table() -> list[str]:
    lines = [
        "| load | first token, ms: random to in step, of measured | token, ms | tokens/s |",
        "|---|---|---|---|",
    ]
    for one in LOADS:
        low, high, _ = one.first_token_ms
        lines.append(
            f"| {one.case} | {min(low, high):,.0f} to {max(low, high):,.0f} of "
            f"{one.number('first_token_ms'):,.0f} | {1000 * one.computed.token_seconds:.1f} of "
            f"{one.number('token_ms'):.1f} | {one.tokens_per_second:,.0f} of "
            f"{one.number('tokens_per_second'):,.0f} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(engine_load_table()))
