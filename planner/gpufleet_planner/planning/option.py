"""Ways to run a workload, with what they reach and cost; their order, and why one lost."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from gpufleet.documents.plain_data import picked
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.sizing.device import Device, DeviceShare
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.tables import texts

IDLE_HOURS = 1 / 6
"""Billed time of a machine after its run: Cluster Autoscaler keeps an unneeded machine for it
(`DefaultScaleDownUnneededTime`, kubernetes/autoscaler
cluster-autoscaler/config/const.go, 1.36). Pools may keep it longer."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Performance of copies of a workload on one kind of device."""

    copies: int
    """Replicas of a service, or 1 job."""
    gpus_each: int
    """Devices of one copy."""
    parallel: Parallelism
    precision: str
    """Format of the weights, or precision of the training."""
    need_bytes: int
    """With planning margin, on the fullest device."""
    usable_bytes: int
    batch: int
    """Sequences at once on each copy; training: samples per GPU and micro-batch."""
    first_token_seconds: float | None = None
    """95th percentile of requests that arrive at random."""
    token_seconds: float | None = None
    token_seconds_range: tuple[float, float] | None = None
    """Lowest and highest."""
    tokens_per_second: float | None = None
    """Rate of all copies: maximum they serve or train."""
    tokens_per_second_range: tuple[float, float] | None = None
    """Lowest and highest."""
    range_note: str = ""
    """Advice where both ranges are wide."""
    asked_tokens_per_second: float | None = None
    """The value that the target requires; None: none."""
    run_hours: float | None = None
    goodput: float | None = None
    """Training: part of the time that advances the run; `run_hours` has it in."""
    training: Training | None = None
    compute_seconds: float | None = None
    """Training: arithmetic of one optimizer step."""
    binding: str = ""
    basis: Basis = Basis.ASSUMED

    @property
    def groups(self) -> list[str]:
        """Degrees above 1: `tensor 8`, `data 2`."""
        degrees = {name: getattr(self.parallel, name) for name in ("tensor", "pipeline", "data")}
        return [f"{name} {degree}" for name, degree in degrees.items() if degree > 1]


_SIMPLEST = (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.MPS, DeviceShare.TIME_SLICE)
Rank = tuple[bool, float, int, float, float, float, str]


@dataclass(frozen=True)
class Option:
    """One way to run a workload on machines that can be bought."""

    machine: OfferedMachine
    share: Device
    reached: Reached
    machines: int
    """Whole machines when nothing else is on them."""
    fabric: str
    """`efa`, ... for a job that needs RDMA between its machines, else `none`."""
    notes: tuple[str, ...] = ()

    @property
    def devices(self) -> int:
        """Shares or GPUs of all copies together."""
        return self.reached.copies * self.reached.gpus_each

    @property
    def gpu_part(self) -> Fraction:
        """Physical GPUs all copies take, slices as their part."""
        return self.devices * self.share.part * self.machine.fraction

    @property
    def billed_micro_usd(self) -> int | None:
        """Per hour, whole machines, nothing else on them; None without a price."""
        price = self.machine.micro_usd
        return None if price is None else price * self.machines

    @cached_property
    def part_micro_usd(self) -> float | None:
        """Per hour, the part of the machines it takes: what it costs where others take the rest."""
        return self.machine.part_micro_usd(self.devices, self.share.part)

    @property
    def gpu_hours_per_hour(self) -> Fraction:
        """GPUs of the whole machines: the measure where no price is known."""
        return self.machines * self.machine.gpus * self.machine.fraction

    @property
    def usd_per_million_tokens(self) -> float | None:
        """Billed dollars per million tokens: those requested, else all it can do."""
        done = self.reached.asked_tokens_per_second or self.reached.tokens_per_second
        if self.billed_micro_usd is None or not done:
            return None
        return self.billed_micro_usd / (3600 * done)

    @property
    def billed_hours(self) -> float | None:
        """Hours of a training run, with IDLE_HOURS after it; None without a length."""
        hours = self.reached.run_hours
        return None if hours is None else hours + IDLE_HOURS

    @property
    def usd_per_run(self) -> float | None:
        """Billed dollars of a training run; None without a price or a length."""
        if self.billed_micro_usd is None or self.billed_hours is None:
            return None
        return self.billed_micro_usd * self.billed_hours / 1e6

    @cached_property
    def rank(self) -> Rank:
        """Cheapest first: a run's cost for training with a length, cost per token for training
        without, else dollars an hour; without prices GPU-hours, after everything that has one.
        Equal cost: the simpler share, the smaller part of the machines, the faster one."""
        reached, billed = self.reached, self.billed_micro_usd
        if billed is None:
            cost: float = float(self.gpu_hours_per_hour) * (self.billed_hours or 1.0)
        elif reached.training is None:
            cost = billed / 1e6
        else:
            cost = self.usd_per_run or self.usd_per_million_tokens or 0.0
        return (
            billed is None,
            round(cost, 6),
            _SIMPLEST.index(self.share.kind),
            float(self.part_micro_usd or self.gpu_part),
            reached.token_seconds or reached.run_hours or 0.0,
            -(reached.tokens_per_second or 0.0),
            self.label,
        )

    @property
    def cost_unit(self) -> str:
        """Unit of the cost by which options with a price are ordered."""
        if self.reached.training is None:
            return "USD/h"
        return "USD a run" if self.usd_per_run is not None else "USD per million tokens"

    @property
    def speed_text(self) -> str:
        """The reached values, in the units of its target, with bounds of the uncertain ones."""
        reached = self.reached
        asked, rates = reached.asked_tokens_per_second, reached.tokens_per_second_range
        facts: dict[str, Any] = {"option": self, "reached": reached, "most": reached.token_seconds}
        facts["timed"] = None not in (reached.first_token_seconds, reached.token_seconds)
        if reached.token_seconds_range is not None:
            facts["most"] = reached.token_seconds_range[1]
        facts["wanted"] = f" of {asked:,.0f} requested" if asked else ""
        facts["lowest"] = "" if rates is None else f" (at least {rates[0]:,.0f})"
        text = ", ".join(texts("option/speed", facts))
        binding = f"; {reached.binding} binds" if reached.binding else ""
        return f"{text} ({reached.basis.value}){binding}" if text else ""

    @property
    def label(self) -> str:
        """For people: `2 x L4 (g6.xlarge, onDemand), bf16`."""
        how = ", ".join((self.reached.precision, *self.reached.groups))
        return (
            f"{self.devices} x {self.share.label} on {self.machines} x {self.machine.name} "
            f"({self.machine.platform}, {self.machine.buy}), {how}"
        )


@dataclass(frozen=True, slots=True)
class Miss:
    """The limit that something breaks."""

    code: str
    """`memory`, `precision`, `first-token`, `token`, `gpus`, `deadline`, `budget`, `budget-hour`,
    `speed-unknown`, `network`, `parallelism`, `taken-back`, `stock`, `dearer`, `no-graphs`,
    `not-known`."""
    reason: str
    figure: float | None = None
    """The reached value of the missed target, in the target's unit."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A way that does not work, with the limit it breaks."""

    what: str
    """For people: `L4`, `H100-80GB 1g.10gb`, `8 x A10G`."""
    gpu: str
    miss: Miss


def usd(micro: float | None) -> Decimal | None:
    """Dollars with four decimals; None stays None."""
    return None if micro is None else round(Decimal(micro) / 1_000_000, 4)


def dearer(option: Option, best: Option) -> str:
    """By how much an option costs more than the best."""
    if option.billed_micro_usd is None:
        return "no price is known" if best.billed_micro_usd is not None else "more GPU-hours"
    mine, least = option.rank[1], best.rank[1]
    if mine <= least:
        same = "as cheap"
        if option.share.kind is not best.share.kind:
            return f"{same}, but {option.share.kind.value} where {best.share.kind.value} works"
        return f"{same}, takes more of the machine or is slower"
    unit = option.cost_unit
    return (
        f"{mine - least:.4g} {unit} more ({100 * (mine / least - 1):.0f} %)" if least else "dearer"
    )


def better_at(option: Option, best: Option) -> str:
    """Gains for the extra cost: latencies and times that are at least 5 % shorter."""
    gains: list[str] = []
    one, other = option.reached, best.reached
    for name, mine, theirs in (
        ("time per token", one.token_seconds, other.token_seconds),
        ("first token", one.first_token_seconds, other.first_token_seconds),
        ("run", one.run_hours, other.run_hours),
    ):
        if mine is not None and theirs is not None and mine < 0.95 * theirs:
            gains.append(f"{name} {theirs / mine:.1f} times shorter")
    return ", ".join(gains)


_SPEED = (
    "batch",
    "first_token_seconds",
    "token_seconds",
    "token_seconds_range",
    "tokens_per_second_range",
    "range_note",
    "tokens_per_second",
    "asked_tokens_per_second",
    "run_hours",
    "goodput",
    "binding",
    "basis",
)


def option_as_dict(option: Option) -> dict[str, Any]:
    """One option as JSON has it, each group of figures with how well it is known. Money is US
    dollars, memory integer bytes, times are seconds."""
    reached, machine, million = option.reached, option.machine, option.usd_per_million_tokens
    training, split = reached.training, reached.parallel
    return {
        "label": option.label,
        "gpu": machine.gpu.key,
        "share": option.share.kind.value,
        "profile": option.share.profile,
        "replicasPerGpu": option.share.replicas,
        "precision": reached.precision,
        "copies": reached.copies,
        "gpusPerCopy": reached.gpus_each,
        "count": option.devices,
        "parallelism": picked(split, "tensor", "pipeline", "data", "sharding"),
        "training": training and picked(training, "checkpointing", "loss", "accumulation"),
        "machine": {
            **picked(machine, "name", "platform", "region", "gpus"),
            "nodes": option.machines,
            "fabric": option.fabric,
        },
        "buy": machine.buy,
        "memory": {
            **picked(reached, "need_bytes", "usable_bytes"),
            "basis": option.share.memory_basis.value,
        },
        "speed": picked(reached, *_SPEED),
        "cost": {
            "usdPerHour": usd(option.billed_micro_usd),
            "usdPerHourOfItsPart": usd(option.part_micro_usd),
            "usdPerMillionTokens": None if million is None else round(million, 6),
            "usdPerRun": None if option.usd_per_run is None else round(option.usd_per_run, 2),
            "gpuHoursPerHour": float(option.gpu_hours_per_hour),
            "basis": None if machine.micro_usd is None else machine.price_basis.value,
            "source": machine.price_source,
        },
        "notes": list(option.notes),
    }
