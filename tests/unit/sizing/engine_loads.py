"""Published load tests of vLLM, SGLang and TensorRT-LLM: clients that send their next request when
they have their answer, requests at a fixed rate, and bursts.

`python -m tests.unit.sizing.engine_loads` prints both tables of docs/sizing.md.
"""

import csv
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.sizing.closed_loop import ClosedLoop
from gpufleet.sizing.device import Device, whole_gpu
from gpufleet.sizing.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.sizing.inference import InferenceEngine, Serving
from gpufleet.sizing.parallel import Parallelism
from gpufleet.sizing.serving_rates import PERCENTILE, ServingReplica, serving_replica
from tests.unit.sizing.measurements import model

_MOST_ROUNDS = 5


@dataclass(frozen=True)
class EngineLoad:
    """A row of tests/data/engine_loads.csv, which names its source. Lengths are means: some tools
    draw them up to twice that. Limits of sequences and tokens are those of the command, else the
    engine's own on such a GPU. `kept`: `constants` were looked at when constants were chosen,
    `apart` were compared once before, `further` were open and are in no table. A `burst` is sent
    at once, with as many `clients` as prompts; with a `rate` these are the prompts in all."""

    row: dict[str, str]

    @property
    def case(self) -> str:
        row = self.row
        name = row["model"].rpartition("/")[2]
        gpus = int(row["tensor"]) * int(row["pipeline"])
        copies = f"{row['replicas']} of " if row["replicas"] != "1" else ""
        return (
            f"{name} {row['weights'].upper()}, {copies}{gpus} x {row['gpu'].partition('-')[0]}, "
            f"{row['engine']}, {row['prompt']} + {row['output']}, {self.load}"
        )

    @property
    def load(self) -> str:
        if self.row["load"] == "rate":
            return f"{self.row['rate']} a second"
        return f"{self.row['clients']} {'at once' if self.row['load'] == 'burst' else 'clients'}"

    def number(self, name: str) -> float:
        return float(self.row[name])

    def count(self, name: str) -> int:
        return int(self.row[name])

    @property
    def clients(self) -> int:
        """Of one replica."""
        return self.count("clients") // self.count("replicas")

    @cached_property
    def replica(self) -> ServingReplica:
        device = whole_gpu(load().find_gpu(self.row["gpu"]), self.row["board"] or None)
        assert isinstance(device, Device)
        prompt, output = self.count("prompt"), self.count("output")
        serving = Serving(
            prompt + output,
            prompt_tokens=prompt,
            output_tokens=output,
            engine=InferenceEngine(self.row["engine"]),
            weights=WEIGHT_FORMATS[self.row["weights"]],
            kv_cache=KV_FORMATS[self.row["kv_cache"]],
            utilisation=Fraction(self.row["utilisation"]) if self.row["utilisation"] else None,
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

    @cached_property
    def computed(self) -> ClosedLoop:
        if self.row["load"] == "rate":
            return self._at_a_rate(self.number("rate"), self.count("clients"))
        return self.replica.together(self.clients, min(self.count("rounds"), _MOST_ROUNDS))

    def _at_a_rate(self, rate: float, prompts: int) -> ClosedLoop:
        """So many are in flight as come while one is answered (Little); the last is answered after
        all have come."""
        replica, output, flight = self.replica, self.count("output"), 1.0
        for _ in range(200):
            batch = max(round(flight), 1)
            each = replica.loaded_first_token_seconds(batch)
            each += output * replica.loaded_token_seconds(batch)
            flight = (flight + min(max(1.0, rate * each), prompts)) / 2
        batch = max(round(flight), 1)
        first, token = (
            replica.loaded_first_token_seconds(batch),
            replica.loaded_token_seconds(batch),
        )
        whole = prompts / rate + first + output * token
        return ClosedLoop(batch, first, token, prompts * output / whole)

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
    def mixture(self) -> bool:
        return model(self.row["model"]).is_mixture

    @property
    def token_by(self) -> float | None:
        """Measured over computed time per token; None: not measured."""
        if not self.row["token_ms"]:
            return None
        return self.number("token_ms") / (1000 * self.computed.token_seconds)

    @property
    def rate_by(self) -> float:
        """Measured over computed throughput."""
        return self.number("tokens_per_second") / self.tokens_per_second


def _loads(kept: str) -> tuple[EngineLoad, ...]:
    path = Path(__file__).parents[2] / "data" / "engine_loads.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(EngineLoad(row) for row in csv.DictReader(file) if row["kept"] == kept)


LOADS, FURTHER, APART = _loads("constants"), _loads("further"), _loads("apart")


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


def apart_table() -> list[str]:
    lines = ["| load | token, ms | tokens/s | source |", "|---|---|---|---|"]
    for one in APART:
        token, by = f"{1000 * one.computed.token_seconds:.1f}", one.token_by
        # A page of another repository is not one of these docs.
        source = one.row["source"].replace(" docs/", " ")
        of = "-" if by is None else f"{token} of {one.number('token_ms'):.1f} ({by:.2f})"
        lines.append(
            f"| {one.case} | {of} | {one.tokens_per_second:,.0f} of "
            f"{one.number('tokens_per_second'):,.0f} ({one.rate_by:.2f}) | {source} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join([*engine_load_table(), "", *apart_table()]))
