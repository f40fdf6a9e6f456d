"""Options that could run a workload: the options that meet the target, cheapest first,
and for each rejected option the limit that it exceeds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from operator import attrgetter
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.documents.plain_data import camel, picked
from gpufleet.findings import Finding, findings_in
from gpufleet_planner.planning.attempts import (
    cheapest_gpu,
    over_budget,
    try_jobs,
    try_services,
)
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.planning.offers import Market, OfferedMachine, machines
from gpufleet_planner.planning.option import (
    Option,
    Rejected,
    better_at,
    dearer,
    option_as_dict,
)

_finding = findings_in(__file__)


@dataclass(frozen=True, slots=True)
class ServingChoice:
    """The choice for one workload."""

    options: tuple[Option, ...]
    """All that meet the target, best first; empty: nothing does."""
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


def choices_as_list(choice: ServingChoice) -> list[dict[str, Any]]:
    """Every option, best first, with why it is not the first."""
    return [{**option_as_dict(one), "why": choice.lost_to_best(one)} for one in choice.options]


def rejected_as_list(choice: ServingChoice) -> list[dict[str, Any]]:
    """Everything that does not work, with the limit it breaks."""
    return [
        {**picked(lost, "what", "gpu"), **picked(lost.miss, "code", "reason", "figure")}
        for lost in dict.fromkeys(choice.rejected)
    ]


def choose(
    need: WorkloadNeed,
    market: Market,
    catalogue: Catalogue,
    path: str = "",
    *,
    thorough: bool = True,
) -> ServingChoice:
    """Try every GPU, count, split, precision, share and purchase option on the market.

    `thorough` False skips a choice that costs more, even shared with others, than one that already
    meets the target: the first option is the same. Never raises for
    an invalid need: when nothing works, an error names the nearest choice.
    """
    offered = machines(market, catalogue, interruptible=need.allowed.interruptible, job=need.trains)
    options: list[Option] = []
    rejected: list[Rejected] = []
    by_gpu: dict[tuple[str, str, object], list[OfferedMachine]] = {}
    for machine in offered:
        board = next(iter(machine.gpu.rates), "")
        by_gpu.setdefault((machine.gpu.key, board, machine.fraction), []).append(machine)
    ceiling: float | None = None
    for group in sorted(by_gpu.values(), key=cheapest_gpu):
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
                ceiling = min(found.rank[1], float("inf") if ceiling is None else ceiling)
    options.sort(key=attrgetter("rank"))
    kept = tuple(option for option, _ in groupby(options))
    findings = _findings(need, kept, rejected, offered, path, market, catalogue)
    return ServingChoice(kept, tuple(rejected), findings)


_LIMITS: Mapping[str, tuple[str, Callable[[Option], float]]] = {
    "first-token": ("first_token_ms", lambda o: (o.reached.first_token_seconds or 0.0) * 1000),
    "token": ("token_ms", lambda o: (o.reached.token_seconds_range or (0.0, 0.0))[1] * 1000),
    "deadline": ("deadline_hours", lambda o: o.reached.run_hours or 0.0),
    "budget-hour": ("budget_usd_per_hour", lambda o: (o.billed_micro_usd or 0) / 1e6),
    "budget": ("budget_usd", lambda o: o.usd_per_run or 0.0),
    "gpus": ("most_gpus", lambda o: float(o.devices)),
}
"""Limit that a miss names -> its field, of the target but for the last, and the value that an
option reaches of it, in its unit."""


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
        named = ", ".join(market.gpus) + f", which {need.name} may use,"
        what = named if market.gpus else "nothing"
        return (_finding("nothing-offered", path, what=what, platforms=market.platforms),)
    if options:
        if options[0].billed_micro_usd is None:
            return (_finding("price-missing", path, workload=need.name),)
        machine = options[0].machine
        if machine.price_basis.value == "assumed":
            name, region = machine.name, machine.region
            return (_finding("price-of-other-region", path, machine=name, region=region),)
        return ()
    missed = {r.miss.code for r in rejected if r.miss.code in _LIMITS}
    if len(missed) >= 2:
        return (_contradiction(need, rejected, missed, path, market, catalogue),)
    if missed:
        code = missed.pop()
        near, name = _nearest(rejected, code), camel(_LIMITS[code][0])
        what, figure = f"{near.what}: {near.miss.reason}", near.miss.figure
        fix = f"write {name} of {_upwards(figure)} or more" if figure else f"relax {name}"
        return (
            _finding("target-unreachable", path, fix=fix, name=name, nearest=what, target=code),
        )
    codes = {lost.miss.code for lost in rejected}
    if "taken-back" in codes:
        near = _nearest(rejected, "taken-back")
        what = f"{near.what}: {near.miss.reason}"
        return (_finding("run-outlasts-machines", path, workload=need.name, nearest=what),)
    if "stock" in codes:
        near = _nearest(rejected, "stock")
        what = f"{near.what}: {near.miss.reason}"
        return (_finding("nothing-fits/stock", path, workload=need.name, nearest=what),)
    if "no-graphs" in codes:
        return (_finding("nothing-fits/no-graphs", path, workload=need.name),)
    relevant = [r for code in ("memory", "not-known") for r in rejected if r.miss.code == code]
    last = (relevant or [*rejected] or [None])[-1]
    shown = f"; for one, {last.what}: {last.miss.reason}" if last else ""
    return (_finding("nothing-fits", path, workload=need.name, shown=shown),)


def _contradiction(
    need: WorkloadNeed,
    rejected: Sequence[Rejected],
    missed: Iterable[str],
    path: str,
    market: Market,
    catalogue: Catalogue,
) -> Finding:
    """Which targets exclude each other: what each would have to be for the others to be kept."""
    codes = sorted(missed, key=list(_LIMITS).index)
    names = [camel(_LIMITS[code][0]) for code in codes]
    shown: list[str] = []
    raised: list[str] = []
    for code, name in zip(codes, names, strict=True):
        if code == "gpus":
            more = need.allowed.model_copy(update={"most_gpus": 1 << 14})
            freed = replace(need, allowed=more)
        else:
            freed = replace(need, target=need.target.model_copy(update={_LIMITS[code][0]: None}))
        best = choose(freed, market, catalogue, thorough=False).best
        if best is None:
            near = _nearest(rejected, code)
            shown.append(f"{name}: {near.what}, {near.miss.reason}")
            continue
        figure = _upwards(_LIMITS[code][1](best))
        shown.append(f"{name} given up: {best.label}, {figure}")
        raised.append(f"raise {name} to {figure}")
    kept = " and ".join(names)
    fix, near = " or ".join(raised) or f"relax {kept}", "; ".join(shown)
    return _finding(
        "target-contradiction",
        path,
        fix=fix,
        names=kept,
        workload=need.name,
        nearest=near,
        targets=names,
    )


def _upwards(figure: float) -> str:
    """A figure with at most two decimals, rounded up so that it can be written as a limit."""
    return f"{ceil(figure * 100 - 1e-6) / 100:.2f}".rstrip("0").rstrip(".")


def _nearest(rejected: Sequence[Rejected], code: str) -> Rejected:
    return min(
        (r for r in rejected if r.miss.code == code), key=lambda r: (r.miss.figure or 0.0, r.what)
    )
