"""`gpufleet size`: memory and speed of a model on a GPU, a slice or a share of one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from gpufleet.catalogue import load
from gpufleet.cli.help_screen import ScreenCommand
from gpufleet.cli.options import options as option_rows
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    fitted,
    format_option,
    print_findings,
    print_json,
)
from gpufleet.documents.plain_data import camel, picked, plain_data
from gpufleet.findings import ordered
from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.ledger import GIB
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.commands.size_choices import (
    asked_of,
    choice_lines,
    choose_for,
    field_options,
    market_options,
)
from gpufleet_planner.planning.choice import ServingChoice, choices_as_list, rejected_as_list
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.request import (
    LoadTestRequest,
    ParallelRequest,
    SizeRequest,
    parse_request,
)
from gpufleet_planner.sizing.serving_rates import ServingSpeed
from gpufleet_planner.sizing.sized import Sizing, size
from gpufleet_planner.sizing.training import Training, settings_text
from gpufleet_planner.sizing.training_state import TrainingPrecision
from gpufleet_planner.tables import texts

if TYPE_CHECKING:
    from gpufleet_planner.explanation.explain import ExplanationLine

_Function = Callable[..., Any]
_SERVING_KINDS = ("inference", "embedding")


def _options(function: _Function) -> _Function:
    load = {"prompts": "--num-prompts!", "rate": "--request-rate!", "clients": "--max-concurrency!"}
    split = {name: f"--{name}-parallel" for name in ("tensor", "pipeline", "expert", "data")}
    split["context"] = "--context-parallel!"  # `--context` is the length
    function = field_options(LoadTestRequest, part="load_test", also=load)(function)
    function = field_options(ParallelRequest, "sequence", part="parallelism", also=split)(function)
    parts = ("load_test", "parallelism", "network")
    values = {"weights": WEIGHT_FORMATS, "kv_cache": KV_FORMATS, "precision": TrainingPrecision}
    also = {"weights": "--quantization"}
    return field_options(SizeRequest, *parts, also=also, values=values)(function)


@click.command(
    "size",
    cls=ScreenCommand,
    first=(
        "model",
        "workload",
        "context",
        "batch",
        "engine",
        "weights",
        "gpu",
        "mig",
        "time_slicing",
        "parallelism__tensor",
        "requests_per_second",
        "platforms",
        "region",
        "budget_usd_per_hour",
        "output_format",
        "explain",
    ),
)
@click.argument("file", required=False)
@_options
@format_option
@option_rows(__file__, "size")
@market_options
def command(
    file: str | None,
    output_format: str,
    explain: bool,
    **options: Any,
) -> None:
    """Compute the memory and speed of a workload, and the cheapest hardware for it.

    FILE holds the workload as YAML or JSON (`-`: standard input); options replace its entries.
    The choices are every GPU, share, split and machine that keeps the target, cheapest first; with
    --gpu those of that GPU, and a warning where another one costs much less. Every figure is
    marked measured, modelled or assumed. Exits 1 when a name is unknown or the combination cannot
    work; not fitting a GPU is an answer, and a warning.
    """
    market = asked_of(options)
    document = _document(file, options)
    request, findings = parse_request(document)
    choice = need = None
    if request is None:
        answer = Sizing(None, None, None, 0, None, None, None, ordered(findings))
    else:
        answer = size(request, load())
        choice, need, findings = choose_for(request, answer, market, load())
        answer = replace(answer, findings=ordered((*answer.findings, *findings)))
    asked, chosen_lines = _explained(answer, choice, need) if explain else ([], [])
    if output_format == "json":
        shown: dict[str, Any] = {"choices": [], "rejected": []}
        if explain:
            shown["explain"] = {"asked": plain_data(asked), "cheapest": plain_data(chosen_lines)}
        if choice is not None:
            shown["choices"] = choices_as_list(choice)
            shown["rejected"] = rejected_as_list(choice)
        print_json({**sizing_as_dict(answer), **shown})
    else:
        width = get_terminal_size().columns
        for line in _ledger_lines(answer, request):
            click.echo(fitted(line, width))
        for line in _device_lines(answer, request):
            click.echo(line)
        print_findings(answer.findings)
        for line in () if choice is None else choice_lines(choice):
            click.echo(fitted(line, width))
        if asked:
            from gpufleet_planner.explanation.explain import lines_as_text

            click.echo(f"\nAs requested\n{lines_as_text(asked, '  ')}")
            more = [line for line in chosen_lines if line not in asked]
            if more and choice is not None:
                click.echo(f"\nCheapest: {choice.options[0].label}\n{lines_as_text(more, '  ')}")
    raise SystemExit(exit_code(answer.findings))


def _explained(
    answer: Sizing, choice: ServingChoice | None, need: WorkloadNeed | None
) -> "tuple[list[ExplanationLine], ...]":
    """The numbers of what was requested, and of the cheapest choice."""
    # Computed on request only: the derivation is slow.
    from gpufleet_planner.explanation.explain import explain_option, explain_setting

    if answer.model is None or answer.work is None:
        return [], []
    asked = explain_setting(answer.model, answer.work, answer.parallel, answer.device, answer.link)
    best = None if choice is None else choice.best
    return list(asked), [] if best is None else list(explain_option(need, best))


def _document(file: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The request as a file would write it."""
    document: dict[str, Any] = {}
    if file is not None:
        # Reading a declaration imports all of it: only who names a file waits for that.
        from gpufleet.cli.source import read_mapping

        document = read_mapping(file)
        if "architectures" in document or "model_type" in document:
            raise UnreadableInputError(
                f"{file} is the configuration of a model: write `--model {file}` and the workload"
            )
    given = {name: value for name, value in options.items() if value is not None}
    workload = str(given.get("workload", document.get("workload", "inference"))).lower()
    if workload in _SERVING_KINDS and "precision" in given:
        given.setdefault("weights", given.pop("precision"))
    for name, value in given.items():
        part, _, key = name.rpartition("__")
        before: Any = document.setdefault(camel(part), {}) if part else document
        if isinstance(before, dict):  # anything else is refused with the whole file
            before[camel(key)] = value
    if file is None and not {"model", "context"} <= set(document):
        missing = " and ".join(f"--{one}" for one in ("model", "context") if one not in document)
        example = "--model Llama-3.1-8B --context 8192"
        raise click.UsageError(f"missing {missing}, such as {example}, or a FILE that has it")
    return document


def _ledger_lines(answer: Sizing, request: SizeRequest | None) -> Iterator[str]:
    """Each item of the ledger in GiB, in brackets if it is free at the peak, and the sums."""
    need = answer.ledger
    if need is None or answer.model is None or request is None:
        return
    gpus = "one GPU" if answer.gpus == 1 else f"the fullest of {answer.gpus} GPUs"
    yield f"{answer.model.name}, {request.workload}: memory of {gpus}, GiB"
    for item in need.items:
        amount = f"{item.bytes / GIB:.2f}" if item.at_peak else f"({item.bytes / GIB:.2f})"
        facts = {"item": item, "name": item.key.replace("_", " "), "amount": amount}
        yield from texts("size/item", facts)
    sizes = {"total": need.total_bytes / GIB, "planned": need.planning_bytes / GIB}
    yield from texts("size/sum", {"need": need, "fixed": need.margin.fixed_bytes / GIB, **sizes})


def _device_lines(answer: Sizing, request: SizeRequest | None) -> Iterator[str]:
    """Fit, settings, room, speed and load test."""
    verdict = {True: "fits", False: "does not fit", None: "not known"}[answer.fits]
    facts: dict[str, Any] = {"device": answer.device, "verdict": verdict, "room": answer.capacity}
    facts["worst"] = answer.worst_capacity
    job = answer.work if isinstance(answer.work, Training) else None
    facts["settings"] = "" if job is None else settings_text(job, answer.parallel)
    yield from texts("size", facts)
    facts |= {"speed": answer.speed, "tested": answer.load_test}
    if answer.speed is not None:
        serves = "serving" if isinstance(answer.speed, ServingSpeed) else "embedding"
        yield from texts(f"size/{serves if job is None else 'training'}", facts)
    asked = None if request is None else request.load_test
    if asked is None or answer.load_test is None:
        return
    how = "all at once" if asked.clients is None else f"{asked.clients} clients"
    how = how if asked.rate is None else f"{asked.rate:g} a second at random"
    pauses = answer.load_test.pauses
    paused = f"; sequences paused for room {pauses} times" if pauses else ""
    yield from texts("size/tested", {**facts, "asked": asked, "how": how, "paused": paused})


def sizing_as_dict(answer: Sizing) -> dict[str, Any]:
    """The whole result. `ledger` holds the bytes of every item allocated at the peak and their sum
    `total`; `items` explains each of them, and the items that are free at the peak."""
    need = answer.ledger
    items = () if need is None else need.items
    alive = {camel(item.key): item.bytes for item in items if item.at_peak}
    return {
        "ledger": None if need is None else {**alive, "total": need.total_bytes},
        "items": [
            {"item": camel(item.key), **picked(item, "bytes", "basis", "formula", "at_peak")}
            for item in items
        ],
        "planningBytes": None if need is None else need.planning_bytes,
        "basis": None if need is None else need.basis.value,
        "gpus": answer.gpus,
        "model": None if answer.model is None else _model(answer.model),
        "device": None if answer.device is None else _device(answer.device),
        "fits": answer.fits,
        "capacity": plain_data(answer.capacity),
        "worstCapacity": plain_data(answer.worst_capacity),
        "speed": plain_data(answer.speed),
        "loadTest": plain_data(answer.load_test),
        "findings": [finding.as_dict() for finding in answer.findings],
    }


def _model(model: Architecture) -> dict[str, Any]:
    count = count_parameters(model)
    size = {"parameters": count.total, "activeParameters": count.active}
    shape = ("layers", "hidden", "vocabulary", "source", "basis", "assumptions")
    return {"name": model.name, **size, **picked(model, *shape)}


def _device(device: Device) -> dict[str, Any]:
    return {
        "gpu": device.gpu.key,
        "share": device.kind.value,
        **picked(device, "label", "board", "usable_bytes", "memory_basis"),
        "computeShare": round(float(device.compute_share), 6),
        "bandwidthShare": round(float(device.bandwidth_share), 6),
        "memoryLimitEnforced": device.grant.is_enforced,
    }
