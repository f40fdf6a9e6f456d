"""Options that could run a workload: the options that meet the target, cheapest first, the Pareto
set, and for each rejected option the limit that it exceeds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from gpufleet.catalogue import Catalogue
from gpufleet.findings import Finding, error, info, warning
from gpufleet.models.inference import CUDA_CONTEXT
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.planning.attempts import (
    bought,
    cheapest_gpu,
    over_budget,
    try_jobs,
    try_services,
)
from gpufleet_planner.planning.compare import better_at, dearer, pareto, rank
from gpufleet_planner.planning.need import Isolation, WorkloadNeed
from gpufleet_planner.planning.offers import Market, OfferedMachine, machines
from gpufleet_planner.planning.option import Miss, Option, Reached, Rejected
from gpufleet_planner.planning.shares import ISOLATED, shares
from gpufleet_planner.planning.target import Arrivals
from gpufleet_planner.sizing.device import DeviceShare


@dataclass(frozen=True, slots=True)
class ServingChoice:
    """The answer for one workload."""

    options: tuple[Option, ...]
    """All that meet the target, best first; empty: nothing does."""
    front: tuple[Option, ...]
    """The Pareto set: no other option is better in cost, speed and latency together."""
    rejected: tuple[Rejected, ...]
    """Everything else that was tried, each with the limit it breaks."""
    findings: tuple[Finding, ...]

    @property
    def best(self) -> Option | None:
        """The cheapest that meets the target."""
        return self.options[0] if self.options else None

    def lost_to_best(self, option: Option) -> str:
        """Why an option that would work is not the first."""
        best = self.best
        if best is None or option is best:
            return "cheapest that meets the target"
        reason = dearer(option, best)
        better = better_at(option, best)
        return f"{reason}; {better}" if better else reason


def choose(
    need: WorkloadNeed,
    market: Market,
    catalogue: Catalogue,
    path: str = "",
    *,
    thorough: bool = True,
) -> ServingChoice:
    """Try every GPU, count, split, precision, share and way of buying on the market.

    `thorough` False leaves out what costs more, even shared with others, than something that
    already meets the target: the first option is the same, the Pareto set is not complete. Never
    raises for a bad need: when nothing works, an error says what comes nearest.
    """
    offered = machines(market, catalogue, interruptible=need.interruptible, job=need.trains)
    options: list[Option] = []
    rejected: list[Rejected] = []
    by_gpu: dict[tuple[str, str, object], list[OfferedMachine]] = {}
    for machine in offered:
        board = next(iter(machine.gpu.rates), "")
        by_gpu.setdefault((machine.gpu.key, board, machine.fraction), []).append(machine)
    ceiling: float | None = None
    for group in sorted(by_gpu.values(), key=lambda group: cheapest_gpu(group) or float("inf")):
        most = None if thorough else ceiling
        tried = try_jobs(need, group, most) if need.trains else try_services(need, group, most)
        for found in tried:
            if isinstance(found, Rejected):
                rejected.append(found)
                continue
            broken = over_budget(found, need.target)
            if broken is not None:
                rejected.append(Rejected(found.label, found.machine.gpu.key, broken))
                continue
            options.append(found)
            if found.billed_micro_usd is not None:
                cost = rank(found)[1]
                ceiling = cost if ceiling is None else min(ceiling, cost)
    kept = sorted(dict.fromkeys(options), key=rank)
    findings = _findings(need, kept, rejected, offered, path, market, catalogue)
    return ServingChoice(tuple(kept), pareto(kept), tuple(dict.fromkeys(rejected)), findings)


_LIMITS = {
    "first-token": "firstTokenMs",
    "token": "tokenMs",
    "deadline": "deadlineHours",
    "budget-hour": "budgetUsdPerHour",
    "budget": "budgetUsd",
    "gpus": "mostGpus",
}


def _findings(
    need: WorkloadNeed,
    options: Sequence[Option],
    rejected: Sequence[Rejected],
    offered: Sequence[OfferedMachine],
    path: str,
    market: Market,
    catalogue: Catalogue,
) -> tuple[Finding, ...]:
    if not offered:
        named = (
            f"{', '.join(market.gpus)}, which {need.name} may use, is"
            if market.gpus
            else "nothing is"
        )
        text = f"{named} sold on {', '.join(market.platforms)}"
        return (error("nothing-offered", path, text, "name another platform, region or GPU"),)
    if options:
        if options[0].billed_micro_usd is None:
            text = f"no price is known for anything that runs {need.name}: GPU-hours are compared"
            fix = "give prices: usdPerGpuHour of your hardware, or a price file"
            return (warning("price-missing", path, text, fix),)
        if options[0].machine.price_basis.value == "assumed":
            region = options[0].machine.region
            text = f"the price of {options[0].machine.name} is of {region}, assumed for yours"
            return (info("price-of-other-region", path, text, region=region),)
        return ()
    missed = {r.miss.code for r in rejected if r.miss.code in _LIMITS}
    if len(missed) >= 2:
        return (_contradiction(need, rejected, missed, path, market, catalogue),)
    if missed:
        code = missed.pop()
        near = _nearest(rejected, code)
        text = f"nothing keeps {_LIMITS[code]}; the nearest is {near.what}: {near.miss.reason}"
        fix = f"relax {_LIMITS[code]}"
        if near.miss.figure:
            fix = f"write {_LIMITS[code]} of {_upwards(near.miss.figure)} or more"
        return (error("target-unreachable", path, text, fix, target=code),)
    if any(lost.miss.code == "taken-back" for lost in rejected):
        near = _nearest(rejected, "taken-back")
        text = f"nothing stays as long as {need.name} runs; the nearest is {near.what}: "
        fix = "write `interruptible: true` where it goes on from checkpoints, or allow more GPUs"
        return (error("run-outlasts-machines", path, f"{text}{near.miss.reason}", fix),)
    return (_nothing_fits(need, rejected, path),)


def _contradiction(
    need: WorkloadNeed,
    rejected: Sequence[Rejected],
    missed: Iterable[str],
    path: str,
    market: Market,
    catalogue: Catalogue,
) -> Finding:
    """Which targets exclude each other: what each would have to be for the others to be kept."""
    names = sorted(missed, key=list(_LIMITS).index)
    shown: list[str] = []
    raised: list[str] = []
    for code in names:
        best = choose(_without(need, code), market, catalogue, thorough=False).best
        if best is None:
            near = _nearest(rejected, code)
            shown.append(f"{_LIMITS[code]}: {near.what}, {near.miss.reason}")
            continue
        figure = _reached(best, code, need.target.arrivals)
        shown.append(f"{_LIMITS[code]} given up: {best.label}, {figure}")
        raised.append(f"raise {_LIMITS[code]} to {figure}")
    return error(
        "target-contradiction",
        path,
        f"{' and '.join(_LIMITS[code] for code in names)} cannot be kept together by anything on "
        f"the market for {need.name}; nearest for each: {'; '.join(shown)}",
        " or ".join(raised) or f"relax {' and '.join(_LIMITS[code] for code in names)}",
        targets=[_LIMITS[code] for code in names],
    )


_FIELDS = {
    "first-token": "first_token_ms",
    "token": "token_ms",
    "deadline": "deadline_hours",
    "budget-hour": "budget_usd_per_hour",
    "budget": "budget_usd",
}
"""Limit -> field of the target."""


def _without(need: WorkloadNeed, code: str) -> WorkloadNeed:
    """The need with one limit given up."""
    if code == "gpus":
        return replace(need, most_gpus=1 << 14)
    return replace(need, target=need.target.model_copy(update={_FIELDS[code]: None}))


def _reached(option: Option, code: str, arrivals: Arrivals | None) -> str:
    """What an option reaches of a limit, in its unit, rounded up."""
    reached = option.reached
    first = reached.first_token_seconds
    if arrivals is Arrivals.TOGETHER:
        first = reached.together_first_token_seconds
    figures = {
        "first-token": (first or 0.0) * 1000,
        "token": (reached.token_seconds_range or (0.0, 0.0))[1] * 1000,
        "deadline": reached.run_hours or 0.0,
        "budget-hour": (option.billed_micro_usd or 0) / 1e6,
        "budget": option.usd_per_run or 0.0,
        "gpus": float(option.devices),
    }
    return _upwards(figures[code])


def _upwards(figure: float) -> str:
    """A figure with at most two decimals, rounded up so that it can be written as a limit."""
    return f"{ceil(figure * 100 - 1e-6) / 100:.2f}".rstrip("0").rstrip(".")


def _nearest(rejected: Sequence[Rejected], code: str) -> Rejected:
    return min(
        (r for r in rejected if r.miss.code == code), key=lambda r: (r.miss.figure or 0.0, r.what)
    )


def _nothing_fits(need: WorkloadNeed, rejected: Sequence[Rejected], path: str) -> Finding:
    stock = [r for r in rejected if r.miss.code == "stock"]
    if stock:
        near = min(stock, key=lambda r: (r.miss.figure or 0.0, r.what))
        text = f"own machines are too few for {need.name}; the nearest is {near.what}: "
        fix = "add machines to hardware, lower replicas or the rate, or relax the target"
        return error("nothing-fits", path, f"{text}{near.miss.reason}", fix)
    told = [r for code in ("memory", "not-known") for r in rejected if r.miss.code == code]
    last = (told or [*rejected] or [None])[-1]
    shown = f"; for one, {last.what}: {last.miss.reason}" if last else ""
    return error(
        "nothing-fits",
        path,
        f"nothing on the market runs {need.name}{shown}",
        "quantise (precisions), shorten context or batch, or allow more GPUs",
    )


_GIB = 1 << 30
NOTEBOOK_KINDS = {
    **ISOLATED,
    Isolation.NONE: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.TIME_SLICE),
}
"""Where nothing must be isolated notebooks take turns: one person at a time has the whole GPU, and
all of them need not run as one user, as the clients of an MPS server must."""


def choose_notebooks(
    name: str,
    count: int,
    memory_gib: float,
    isolation: Isolation,
    interruptible: bool,
    market: Market,
    catalogue: Catalogue,
    path: str = "",
) -> ServingChoice:
    """Shares that hold one notebook each: its stated peak and a CUDA context. Where time-slicing is
    allowed each gets an even part of the memory, so that the sum of all peaks fits."""
    need = int(memory_gib * _GIB) + CUDA_CONTEXT
    offered = machines(market, catalogue, interruptible=interruptible, job=False)
    by_gpu: dict[str, list[OfferedMachine]] = {}
    for machine in offered:
        if machine.fraction == 1:
            by_gpu.setdefault(machine.gpu.key, []).append(machine)
    options: list[Option] = []
    rejected: list[Rejected] = []
    for group in by_gpu.values():
        found = list(_try(count, need, isolation, group))
        options += found
        if not found:
            text = f"{need / _GIB:.1f} GiB are needed, and {group[0].gpu.key} has less"
            key = group[0].gpu.key
            rejected.append(Rejected(key, key, Miss("memory", text)))
    kept = sorted(dict.fromkeys(options), key=rank)
    findings: tuple[Finding, ...] = ()
    if not kept:
        text = f"no GPU on the market holds {need / _GIB:.1f} GiB for one notebook of {name}"
        findings = (error("nothing-fits", path, text, "lower memoryGib"),)
    return ServingChoice(tuple(kept), pareto(kept), tuple(rejected), findings)


def _try(
    count: int, need: int, isolation: Isolation, group: Sequence[OfferedMachine]
) -> Iterator[Option]:
    for share in shares(group[0].gpu, NOTEBOOK_KINDS[isolation], need):
        if share.device.usable_bytes < need:
            continue
        reached = Reached(
            copies=count,
            gpus_each=1,
            parallel=Parallelism(),
            precision="any",
            need_bytes=need,
            usable_bytes=share.device.usable_bytes,
            batch=1,
            binding="memory",
            basis=Basis.ASSUMED,
        )
        yield from bought(reached, share, group)
