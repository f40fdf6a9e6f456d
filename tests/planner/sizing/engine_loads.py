"""Published load tests of vLLM, SGLang and TensorRT-LLM: clients that send their next request when
they have their answer, requests at a fixed rate, and bursts.

`python -m tests.planner.sizing.engine_loads` prints the three tables of docs/sizing.md.
"""

import csv
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.lengths import LengthShape, drawn
from gpufleet_planner.sizing.load_test import LoadFigures, at_random, load_test
from gpufleet_planner.sizing.serving_rates import PERCENTILE, ServingReplica, serving_replica
from tests.planner.sizing.measurements import model


@dataclass(frozen=True)
class EngineLoad:
    """A row of tests/data/engine_loads.csv, which names its source. Prompt and output are means,
    around which `lengths` says how they differ (LengthShape). Limits of sequences and tokens are
    those of the command, else the engine's own on such a GPU. `kept`: `constants` were looked at
    when constants were chosen, `apart` were compared once before, `further` were open and are in
    no table; `fresh` were written down before the formulas of load tests were tried on them. A
    `burst` is sent at once, with as many `clients` as prompts; with a `rate` these are the
    prompts in all."""

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
    def computed(self) -> LoadFigures:
        shape = LengthShape(self.row["lengths"])
        requests = self.clients * self.count("rounds")
        lengths = drawn(shape, requests, self.count("prompt"), self.count("output"))
        times = at_random(self.number("rate"), requests) if self.row["rate"] else None
        return load_test(self.replica.loaded_engine(), lengths, self.clients, times)

    @property
    def first_token_ms(self) -> tuple[float, float, float]:
        """Means of arrivals at random and of the test, and what 95 % keep at random."""
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
FRESH = _loads("fresh")


def engine_load_table() -> list[str]:
    lines = [
        "| load | first token, ms: at random to as tested, of measured | token, ms | tokens/s |",
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


def apart_table(loads: tuple[EngineLoad, ...] = APART) -> list[str]:
    lines = ["| load | token, ms | tokens/s | source |", "|---|---|---|---|"]
    for one in loads:
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
    print("\n".join([*engine_load_table(), "", *apart_table(), "", *apart_table(FRESH)]))
