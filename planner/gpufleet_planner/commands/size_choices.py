"""The choices of `gpufleet size`: what could run the workload, for a target and a market."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, get_args

import click
from pydantic import BaseModel, ValidationError

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.regions import check_region
from gpufleet.cli.options import options
from gpufleet.findings import Finding, has_errors
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet.spec.descriptions import descriptions
from gpufleet_planner.planning.choice import ServingChoice, choose
from gpufleet_planner.planning.need import Allowed, ServingTarget, WorkloadNeed, resolve
from gpufleet_planner.planning.offers import Market, not_provisioned, offered_machines
from gpufleet_planner.planning.option import Option, usd
from gpufleet_planner.planning.provisioning import validate_gpu, validate_provisioning
from gpufleet_planner.sizing.device import DeviceShare
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import Sizing
from gpufleet_planner.tables import texts

SELLERS = tuple(p.value for p, one in PLATFORMS.items() if one.facts.cloud is not None)
"""Platforms on which a machine can be bought."""

_SHOWN = 8
_Function = Callable[..., Any]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of the command that concern the choice."""

    target: ServingTarget
    market: Market
    allowed: Allowed
    offers: tuple[str, ...] = ()
    """Names of offers of the catalogue."""


Chosen = tuple[ServingChoice | None, WorkloadNeed | None, tuple[Finding, ...]]
"""The choice, the need that it meets, and the findings."""


def field_options(
    model: type[BaseModel],
    *left_out: str,
    part: str = "",
    also: Mapping[str, str] = _NOTHING,
    values: Mapping[str, Iterable[str]] = _NOTHING,
) -> Callable[[_Function], _Function]:
    """Add an option for each field of a model of a request, with its first sentence as help. An
    option that is not given passes None. `part`: prefix of the parameter's name. `also`: a further
    name of the option, or the only one where it ends in `!`. `values`: the allowed values of a
    text."""

    def add(function: _Function) -> _Function:
        for name, field in reversed(model.model_fields.items()):
            if name in left_out:
                continue
            kind = str if name in values else _kind_of(field.annotation)
            extra = also.get(name, "")
            names = [] if extra.endswith("!") else [f"--{name.replace('_', '-')}"]
            names += [extra.removesuffix("!")] if extra else []
            if kind is bool:
                names = [f"{one}/--no-{one.removeprefix('--')}" for one in names]
            names.append(f"{part}__{name}" if part else name)
            more = {"model": model, "field": name, "values": values.get(name, ())}
            function = click.option(*names, cls=_FieldOption, type=kind, **more)(function)
        return function

    return add


class _FieldOption(click.Option):
    def __init__(
        self, *names: Any, model: type[BaseModel], field: str, values: Iterable[str], **more: Any
    ) -> None:
        super().__init__(*names, default=None, **more)
        self._of, self._values = (model, field), values

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The docstring of the field is read when it is shown."""
        model, field = self._of
        text = " ".join(descriptions(model).get(field, "").replace("`", "").split())
        listed = ", ".join(self._values)
        self.help = f"{text.split('. ')[0]} {listed}".strip()
        return super().get_help_record(ctx)


def _kind_of(annotation: Any) -> Any:
    """The type of a field as click names it."""
    waiting: list[Any] = [annotation]
    while waiting:
        one: Any = waiting.pop(0)
        if isinstance(one, type) and one is not type(None):
            if issubclass(one, Enum):
                return click.Choice([member.value for member in one])
            known: dict[Any, Any] = {int: click.IntRange(min=1), Decimal: float}
            return known.get(one, one)
        waiting += get_args(one)
    return str


def market_options(function: _Function) -> _Function:
    """Add the options of target and market, which `asked_of` reads."""
    for option in (
        field_options(ServingTarget),
        options(__file__, "size market", platforms=click.Choice(SELLERS)),
        field_options(Allowed, "precisions"),
    )[::-1]:
        function = option(function)
    return function


def asked_of(options: dict[str, Any]) -> Asked:
    """Target and market of the options, which are taken out of them."""
    formats = (options.pop("precisions") or "").split(",")
    allowed = _given(Allowed, options)
    allowed["precisions"] = tuple(part.strip() for part in formats if part.strip())
    market = Market(options.pop("platforms") or SELLERS, options.pop("region"))
    try:
        target = ServingTarget(**_given(ServingTarget, options))
        return Asked(target, market, Allowed(**allowed), options.pop("offers"))
    except ValidationError as problem:
        shown = "; ".join(f"{e['loc'][0]}: {e['msg']}" for e in problem.errors())
        raise click.UsageError(shown) from None


def _given(model: type[BaseModel], options: dict[str, Any]) -> dict[str, Any]:
    found = {name: options.pop(name, None) for name in model.model_fields}
    return {name: value for name, value in found.items() if value is not None}


def choose_for(request: SizeRequest, answer: Sizing, asked: Asked, catalogue: Catalogue) -> Chosen:
    """Choices for a request that could be sized: of its GPU when it names one."""
    unknown = request.gpu is not None and answer.device is None
    if answer.model is None or unknown or has_errors(answer.findings):
        return None, None, ()
    need, findings = resolve(request, asked.target, asked.allowed, catalogue)
    if need is None:
        return None, None, findings
    platforms = (PLATFORMS[Platform(name)].facts for name in asked.market.platforms)
    clouds = [facts.cloud for facts in platforms if facts.cloud is not None]
    findings += check_region(asked.market.region, clouds, catalogue, "region")
    offers, notes = offered_machines(asked.offers, catalogue)
    findings += (*notes, *not_provisioned(one.platform for one in offers))
    market = replace(asked.market, offers=offers)
    if answer.device is None:
        everything = choose(need, market, catalogue)
        best = everything.best
        remarks = () if best is None else validate_provisioning(need, best)
        return everything, need, (*findings, *everything.findings, *remarks)
    key = answer.device.gpu.key
    stated = choose(need, replace(market, gpus=(key,)), catalogue)
    # Not fitting the stated GPU is a result and was reported; it is not an error of the request.
    kept = tuple(f for f in stated.findings if f.severity.value != "error")
    # Nothing is too much for a service of which no target is stated.
    aimed = need.trains or any(one is not None for _, one in asked.target)
    remarks = validate_gpu(stated, choose(need, market, catalogue), key) if aimed else ()
    return stated, need, (*findings, *kept, *remarks)


def choice_lines(choice: ServingChoice) -> Iterator[str]:
    """The cheapest choice of each kind of GPU, of share and number of GPUs of a copy, then why the
    other kinds of GPU do not work."""
    kinds: dict[tuple[str, DeviceShare, int], Option] = {}
    for option in choice.options:
        kind = (option.machine.gpu.key, option.share.kind, option.reached.gpus_each)
        kinds.setdefault(kind, option)
    shown = [*kinds.values()][:_SHOWN]
    if not shown:
        return
    yield "Choices, cheapest first: USD/h, and USD/h of their part of the machines"
    for option in shown:
        amounts = (usd(option.billed_micro_usd), usd(option.part_micro_usd))
        whole, part = ("unknown" if one is None else f"{one:,.2f}" for one in amounts)
        facts: dict[str, Any] = {"option": option, "whole": whole, "part": part}
        facts |= {"speed": option.speed_text, "why": choice.lost_to_best(option)}
        facts["million"] = None if option.usd_per_run else option.usd_per_million_tokens
        yield from texts("size/choice", facts)
    if len(choice.options) > len(shown):
        yield f"{len(choice.options) - len(shown)} more with --format json"
    yield from dict.fromkeys(o.reached.range_note for o in shown if o.reached.range_note)
    # For each GPU that cannot do it at all, the last reason tried: the largest number of GPUs.
    works = {option.machine.gpu.key for option in choice.options}
    last = {lost.gpu: lost for lost in choice.rejected if lost.gpu not in works}
    yield from (f"not {lost.what}: {lost.miss.reason}" for lost in last.values())
