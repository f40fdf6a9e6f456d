"""The one table of published load tests, `tests/data/load_points.csv`: clients that send their next
request when they have their answer, requests at a fixed rate, and bursts.

`measured_page` shows those that are kept apart; `python tools/fit_spreads.py` fits the spreads that
plans use.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.load_test import LoadFigures, at_random, drawn, load_test
from gpufleet_planner.sizing.request import LengthShape
from gpufleet_planner.sizing.serving_rates import PERCENTILE, ServingReplica, serving_replica
from tests.planner.sizing.measurements import model

TABLE = Path(__file__).parents[2] / "data" / "load_points.csv"
NOT_FITTED = ("slowed", "final", "after")
"""Sets to which nothing is fitted."""


@dataclass(frozen=True)
class LoadPoint:
    """A row of the table, which names its source. Prompt and output are means, around which
    `lengths` says how they differ (LengthShape). Limits of sequences and tokens are those of the
    command, else the engine's own on such a GPU; 28,000 prompt tokens a step of the set `closed`
    are fitted. A `burst` is sent at once, with as many `clients` as prompts; with a `rate` these
    are the prompts in all.

    Sets: `constants` were looked at when constants were chosen, `apart` were compared once before,
    `further` are in no table of the docs; `fresh`, `2026`, `slowed`, `later`, `last`, `final` and
    `after` were written down before anything was computed of them; `later`, `last`, `final` and
    `after` were compared once with what was fitted without them. `after` are all cells of three
    pages whose model's shape is known. Nothing is fitted to `final` and `after`, nor to `slowed`:
    one report of 2026, of Kimi-K2.5, whose server is 1.5 to 6.6 times slower on average than at its
    peak. `fifth` is of 2026 and was collected for the fit.
    `closed` are NVIDIA's for its course on sizing (NIM, Llama-3, June 2024), `nim` its tables of
    Llama-3.3-70B on two H100.
    """

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

    @property
    def burst(self) -> bool:
        return self.row["load"] == "burst"

    @property
    def apart(self) -> bool:
        """Whether nothing is fitted to it: a third, drawn by a hash, `slowed`, `final`, `after`."""
        text = f"{self.case}, {self.row['source']}"
        return self.row["set"] in NOT_FITTED or sha256(text.encode()).digest()[0] % 3 == 0

    @property
    def report(self) -> tuple[str, ...]:
        """What its load tests have in common."""
        names = ("source", "engine", "model", "weights", "gpu", "tensor")
        return tuple(self.row[name] for name in names)

    def number(self, name: str) -> float:
        return float(self.row[name])

    def count(self, name: str) -> int:
        return int(self.row[name])

    @property
    def clients(self) -> int:
        """Figures of one replica."""
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

    def by(self, name: str) -> float | None:
        """Measured over computed: `first_token_ms`, `token_ms` or `tokens_per_second`; None: not
        measured."""
        if not self.row[name]:
            return None
        figures = {
            "first_token_ms": 1000 * self.computed.first_token_seconds,
            "token_ms": 1000 * self.computed.token_seconds,
            "tokens_per_second": self.tokens_per_second,
        }
        return self.number(name) / figures[name]

    @property
    def rate_by(self) -> float:
        """Measured over computed throughput."""
        return self.number("tokens_per_second") / self.tokens_per_second

    @property
    def closed_form(self) -> dict[str, float]:
        """The same figures by the formulas for a mean load, without following a test."""
        replica, clients, output = self.replica, self.clients, self.count("output")
        if self.row["rate"]:
            clients = self._at_rate()
        first = replica.loaded_first_token_seconds(clients)
        token = replica.loaded_token_seconds(clients)
        rate = clients * output / (first + max(output - 1, 1) * token)
        if self.burst:
            rate = replica.tokens_per_second(clients)
        return {
            "first_token_ms": 1000 * first,
            "token_ms": 1000 * token,
            "tokens_per_second": rate * self.count("replicas"),
        }

    def _at_rate(self) -> int:
        """Requests at once by Little's law, at most all."""
        replica, output, busy = self.replica, self.count("output"), 1.0
        for _ in range(50):
            first = replica.loaded_first_token_seconds(max(round(busy), 1))
            token = replica.loaded_token_seconds(max(round(busy), 1))
            busy = min(self.number("rate") * (first + (output - 1) * token), self.clients)
        return max(round(busy), 1)


def _points() -> tuple[LoadPoint, ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(map(LoadPoint, csv.DictReader(file)))


POINTS = _points()


def of(*sets: str) -> tuple[LoadPoint, ...]:
    """Points of these sets."""
    return tuple(point for point in POINTS if point.row["set"] in sets)


def load_table(points: Iterable[LoadPoint]) -> list[str]:
    """Computed of measured, and measured by computed; sources are in the table."""
    lines = [
        "| load | first token, ms | token, ms | tokens/s | |",
        "|---|---|---|---|---|",
    ]
    for one in points:
        computed = one.computed
        cells: list[str] = []
        for name, value, form in (
            ("first_token_ms", 1000 * computed.first_token_seconds, ",.0f"),
            ("token_ms", 1000 * computed.token_seconds, ".1f"),
            ("tokens_per_second", one.tokens_per_second, ",.0f"),
        ):
            measured = f"{one.number(name):{form}}" if one.row[name] else "-"
            cells.append(f"{value:{form}} of {measured}")
        lines.append(f"| {one.case} | {' | '.join(cells)} | {one.rate_by:.2f} |")
    return lines
