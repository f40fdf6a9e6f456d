"""Number of copies and money, explained."""

from collections.abc import Iterator

from gpufleet.models.ledger import Basis, weakest
from gpufleet_planner.explanation.line import ExplanationLine
from gpufleet_planner.planning.option import IDLE_HOURS, Option
from gpufleet_planner.planning.target import Confidence
from gpufleet_planner.sizing.device import DeviceShare

_PRICING = "docs/planner.md"


def explain_copies(option: Option, least: int, confidence: Confidence) -> Iterator[ExplanationLine]:
    """How many copies, and on how many machines. `least`: copies that were asked for."""
    reached, machine = option.reached, option.machine
    if reached.training is None:
        asked = reached.asked_tokens_per_second
        formula = f"at least {least} as stated"
        if asked and reached.tokens_per_second and reached.tokens_per_second_range:
            each = reached.tokens_per_second / reached.copies
            most = reached.tokens_per_second / reached.tokens_per_second_range[0]
            formula += f", and ceil({asked:,.0f} tokens/s asked / {each:,.0f} of one"
            if confidence is Confidence.WORST:
                formula += f" / {most:g}, the least that published loads leave"
            formula += ")"
        formula += "; as many as hold the stated batch"
        known = Basis.ASSUMED if asked else Basis.MODELLED
        yield ExplanationLine("choice", "copies", str(reached.copies), formula, known, _PRICING)
    kind = option.share.device.label
    yield ExplanationLine(
        "choice",
        "machines",
        f"{option.machines} x {machine.name}",
        f"{option.devices} x {kind} on machines of {machine.gpus} GPUs, nothing else on them",
        Basis.MODELLED,
        _PRICING,
    )


def explain_cost(option: Option) -> Iterator[ExplanationLine]:
    """Price of the machine, the hour, the part, the token, the run."""
    machine, reached = option.machine, option.reached
    price = machine.usd_per_hour
    if price is None:
        hours = f"{float(option.gpu_hours_per_hour):g} GPU-hours an hour"
        text = f"{option.machines} machines x {machine.gpus} GPUs; no price is known"
        yield ExplanationLine("cost", "instead of money", hours, text, Basis.MEASURED, _PRICING)
        return
    where = f" in {machine.region}" if machine.region else ""
    yield ExplanationLine(
        "cost",
        "machine",
        f"{price:,.4f} USD/h",
        f"{machine.buy}{where}",
        machine.price_basis,
        machine.price_source,
    )
    billed = (option.billed_micro_usd or 0) / 1e6
    yield ExplanationLine(
        "cost",
        "billed",
        f"{billed:,.4f} USD/h",
        f"{option.machines} x {price:,.4f}, whole machines",
        machine.price_basis,
        _PRICING,
    )
    part = option.part_micro_usd
    if part is not None and option.share.kind is not DeviceShare.WHOLE:
        yield ExplanationLine(
            "cost",
            "its part",
            f"{part / 1e6:,.4f} USD/h",
            f"{price:,.4f} x {option.devices} x {option.share.part} of a GPU / {machine.gpus} GPUs"
            "; of a slice the larger of compute and memory part",
            machine.price_basis,
            _PRICING,
        )
    known = weakest((machine.price_basis, reached.basis))
    million = option.usd_per_million_tokens
    if million is not None:
        done = reached.asked_tokens_per_second or reached.tokens_per_second or 0.0
        yield ExplanationLine(
            "cost",
            "million tokens",
            f"{million:,.4f} USD",
            f"{billed:,.4f} x 10^6 / (3600 x {done:,.0f} tokens/s)",
            known,
            _PRICING,
        )
    run = option.usd_per_run
    if run is not None and reached.run_hours is not None:
        yield ExplanationLine(
            "cost",
            "run length",
            f"{reached.run_hours:,.2f} h",
            "tokens / (tokens per second x 3600)",
            reached.basis,
            _PRICING,
        )
        yield ExplanationLine(
            "cost",
            "run",
            f"{run:,.2f} USD",
            f"{billed:,.4f} x ({reached.run_hours:,.2f} + {IDLE_HOURS:.2f} h idle)",
            known,
            _PRICING,
        )
