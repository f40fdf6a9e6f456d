"""`gpufleet size`: memory and speed of a model on a GPU, a slice or a share of one."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from gpufleet.catalogue import load
from gpufleet.cli.help_screen import ScreenCommand
from gpufleet.cli.output import (
    UnreadableInputError,
    exit_code,
    format_option,
    print_findings,
    print_json,
)
from gpufleet.findings import ordered
from gpufleet.models.engine_profile import InferenceEngine
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.parallel import Sharding
from gpufleet_planner.commands.size_choices import (
    Asked,
    Chosen,
    choose_for,
    market_options,
    print_choice,
)
from gpufleet_planner.explanation.line import ExplanationLine, lines_as_list, lines_as_text
from gpufleet_planner.planning.as_dict import choices_as_list, rejected_as_list
from gpufleet_planner.sizing.activations import Checkpointing, Loss
from gpufleet_planner.sizing.as_dict import sizing_as_dict
from gpufleet_planner.sizing.lengths import LengthShape
from gpufleet_planner.sizing.load_answer import load_answer_text
from gpufleet_planner.sizing.not_modelled import NOT_MODELLED, not_modelled
from gpufleet_planner.sizing.request import SizedWorkload, SizeRequest, parse_request
from gpufleet_planner.sizing.serving_rates import ServingSpeed
from gpufleet_planner.sizing.sized import Sizing, size
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.sizing.training_efficiency import Arithmetic, TrainingFramework
from gpufleet_planner.sizing.training_rates import TrainingSpeed
from gpufleet_planner.sizing.training_settings import settings_text
from gpufleet_planner.sizing.training_state import AdapterTargets, Optimizer, TrainingPrecision

_GIB = 1 << 30
_COUNT = click.IntRange(min=1)
_Function = Callable[..., Any]

_OPTIONS: tuple[tuple[tuple[str, ...], Any, str], ...] = (
    (("--model",), str, "Catalogue name, config.json, checkpoint folder, or a count such as 8B."),
    (("--workload",), str, f"{', '.join(kind.value for kind in SizedWorkload)}."),
    (("--context",), _COUNT, "Longest sequence in tokens, prompt and output together."),
    (("--batch",), _COUNT, "Sequences at once; training: samples per GPU and micro-batch."),
    (("--active-parameters",), str, "With a parameter count: those used per token."),
    (("--prompt",), _COUNT, "Mean prompt in tokens."),
    (("--output",), _COUNT, "Mean output in tokens."),
    (("--engine",), click.Choice([e.value for e in InferenceEngine]), "What serves the model."),
    (("--weights", "--quantization"), str, f"Weights: {', '.join(WEIGHT_FORMATS)}."),
    (("--kv-cache",), str, f"KV cache: {', '.join(KV_FORMATS)}."),
    (("--utilisation",), float, "Memory fraction of the engine; default: its own."),
    (("--batched-tokens",), _COUNT, "Tokens an engine prefills in one step; 8192."),
    (("--max-sequences",), _COUNT, "Sequences an engine runs at most; 256."),
    (("--gpu",), str, "GPU to validate fit and speed on."),
    (("--board",), str, "sxm, pcie, ...; default: what cloud instances carry."),
    (("--mig",), str, "MIG profile of that GPU."),
    (("--mps",), _COUNT, "MPS replicas of that GPU."),
    (("--time-slicing",), _COUNT, "Time-slicing replicas of that GPU or slice."),
    (
        ("--precision",),
        str,
        f"Training: {', '.join(p.value for p in TrainingPrecision)}. Serving: same as --weights.",
    ),
    (("--framework",), click.Choice([f.value for f in TrainingFramework]), "What trains."),
    (("--arithmetic",), click.Choice([a.value for a in Arithmetic]), "Training: of matrices."),
    (("--optimizer",), click.Choice([o.value for o in Optimizer]), "Optimizer state."),
    (("--accumulation",), _COUNT, "Micro-batches per optimizer step."),
    (("--checkpointing",), click.Choice([c.value for c in Checkpointing]), "Activations kept."),
    (("--loss",), click.Choice([kind.value for kind in Loss]), "How the loss is computed."),
    (("--interleaving",), _COUNT, "Virtual pipeline stages of a GPU."),
    (("--rank",), _COUNT, "LoRA rank."),
    (("--targets",), click.Choice([t.value for t in AdapterTargets]), "Matrices LoRA adapts."),
)
_PARALLEL: tuple[tuple[tuple[str, ...], Any, str], ...] = (
    (("--tensor", "--tensor-parallel"), _COUNT, "Tensor-parallel GPUs."),
    (("--pipeline", "--pipeline-parallel"), _COUNT, "Pipeline stages."),
    (("--expert", "--expert-parallel"), _COUNT, "Ranks that share the experts."),
    (("--context-parallel",), _COUNT, "Ranks that share one sequence."),
    (("--data", "--data-parallel"), _COUNT, "Training: data-parallel ranks."),
    (("--sharding",), click.Choice([s.value for s in Sharding]), "What data ranks divide."),
)
_LOAD_TEST: tuple[tuple[tuple[str, ...], Any, str], ...] = (
    (("--num-prompts",), _COUNT, "Load test: requests in all; 1000."),
    (("--lengths",), click.Choice([s.value for s in LengthShape]), "Load test: of requests."),
    (("--request-rate",), float, "Load test: requests a second at random; all at once."),
    (("--max-concurrency",), _COUNT, "Load test: clients, each with one request at a time."),
)
"""As `vllm bench serve` calls them."""
_LOAD_KEYS = {
    "num_prompts": "prompts",
    "lengths": "lengths",
    "request_rate": "rate",
    "max_concurrency": "clients",
}

_FLAGS: tuple[tuple[str, str], ...] = (
    ("--compile", "torch.compile of layers."),
    ("--loss-parallel", "The loss is divided among tensor ranks."),
    ("--fused-optimizer", "The optimizer steps inside the backward pass."),
    ("--head-apart", "The checkpoint stores a head the model ties."),
    ("--chunked-prefill", "The engine prefills in chunks; default."),
)


def _options(function: _Function) -> _Function:
    for name, text in reversed(_FLAGS):
        both = f"{name}/--no-{name.removeprefix('--')}"
        function = click.option(both, default=None, help=text)(function)
    for names, kind, text in reversed((*_OPTIONS, *_PARALLEL, *_LOAD_TEST)):
        function = click.option(*names, type=kind, default=None, help=text)(function)
    for name in NOT_MODELLED:
        option = "--" + re.sub("([A-Z])", r"-\1", name).lower()
        function = click.option(option, hidden=True, expose_value=False, callback=_refuse)(function)
    return function


def _refuse(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """A usage error for an option of what has no formula here."""
    found = not_modelled(option.name or "", option.opts[0]) if value is not None else None
    if found is not None:
        raise click.BadParameter(f"{found.message}; {found.fix}", context, option)


@click.command(
    "size",
    cls=ScreenCommand,
    first=(
        "model",
        "workload",
        "context",
        "batch",
        "prompt",
        "output",
        "engine",
        "weights",
        "gpu",
        "mig",
        "mps",
        "time_slicing",
        "tensor",
        "token_ms",
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
@click.option("--explain", is_flag=True, help="Every number's formula, basis and source.")
@market_options
def command(
    file: str | None,
    output_format: str,
    market: Asked,
    explain: bool,
    **options: Any,
) -> None:
    """What memory does this workload need, how fast is it, and what is cheapest for it?

    FILE holds the workload as YAML or JSON (`-`: standard input); options replace its entries.
    The choices are every GPU, share, split and machine that keeps the target, cheapest first; with
    --gpu those of that GPU, and a warning where another one costs much less. Every figure is
    marked measured, modelled or assumed. Exits 1 when a name is unknown or the combination cannot
    work; not fitting a GPU is an answer, and a warning.
    """
    document = _document(file, options)
    request, findings = parse_request(document)
    if request is None:
        answer = Sizing(None, None, None, 0, None, None, None, ordered(findings))
        chosen = None
    else:
        answer = size(request, load())
        chosen = choose_for(request, answer, market, load())
        answer = replace(answer, findings=ordered((*answer.findings, *chosen.findings)))
    asked, chosen_lines = _explained(answer, chosen) if explain else ((), ())
    if output_format == "json":
        shown: dict[str, Any] = {"choices": [], "rejected": []}
        if explain:
            shown["explain"] = {
                "asked": lines_as_list(asked),
                "cheapest": lines_as_list(chosen_lines),
            }
        if chosen is not None and chosen.choice is not None:
            shown["choices"] = choices_as_list(chosen.choice)
            shown["rejected"] = rejected_as_list(chosen.choice)
        print_json({**sizing_as_dict(answer), **shown})
    else:
        _print_text(answer, request)
        if chosen is not None and chosen.choice is not None:
            print_choice(chosen.choice)
        if asked:
            click.echo(f"\nAs asked\n{lines_as_text(asked, '  ')}")
        chosen_lines = tuple(line for line in chosen_lines if line not in asked)
        if chosen_lines and chosen is not None and chosen.choice is not None:
            best = chosen.choice.options[0]
            click.echo(f"\nCheapest: {best.label}\n{lines_as_text(chosen_lines, '  ')}")
    raise SystemExit(exit_code(answer.findings))


def _explained(
    answer: Sizing, chosen: Chosen | None
) -> tuple[tuple[ExplanationLine, ...], tuple[ExplanationLine, ...]]:
    """The numbers of what was asked for, and of the cheapest choice."""
    # Only who asks for the derivation waits for it.
    from gpufleet_planner.explanation.explain import Setting, explain_option, explain_setting

    if answer.model is None or answer.work is None:
        return (), ()
    setting = Setting(answer.model, answer.work, answer.parallel, answer.device, answer.link)
    best = None if chosen is None or chosen.choice is None else chosen.choice.best
    if best is None or chosen is None:
        return explain_setting(setting), ()
    return explain_setting(setting), explain_option(chosen.need, best)


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
    parallel = {
        name.removesuffix("_parallel"): given.pop(name)
        for name in ("tensor", "pipeline", "expert", "context_parallel", "data", "sharding")
        if name in given
    }
    tested = {key: given.pop(name) for name, key in _LOAD_KEYS.items() if name in given}
    workload = str(given.get("workload", document.get("workload", "inference"))).lower()
    if workload in ("inference", "embedding") and "precision" in given:
        given.setdefault("weights", given.pop("precision"))
    for name, value in given.items():
        first, *rest = name.split("_")
        document[first + "".join(part.title() for part in rest)] = value
    for part, entries in (("parallelism", parallel), ("loadTest", tested)):
        before = document.get(part, {})
        if entries and isinstance(before, dict):  # anything else is refused with the whole file
            document[part] = {**before, **entries}
    if file is None and not {"model", "context"} <= set(document):
        missing = [f"--{name}" for name in ("model", "context") if name not in document]
        raise click.UsageError(f"missing {' and '.join(missing)}, or a FILE that says it")
    return document


def _print_text(answer: Sizing, request: SizeRequest | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    need = answer.ledger
    if need is not None and answer.model is not None and request is not None:
        gpus = "one GPU" if answer.gpus == 1 else f"the fullest of {answer.gpus} GPUs"
        table = Table(title=f"{answer.model.name}, {request.workload}: memory of {gpus}")
        table.add_column("item")
        table.add_column("GiB", justify="right")
        table.add_column("known")
        table.add_column("how")
        for item in need.items:
            name = item.key.replace("_", " ")
            amount = f"{item.bytes / _GIB:.2f}" if item.at_peak else f"({item.bytes / _GIB:.2f})"
            table.add_row(name, amount, item.basis.value, item.formula)
        table.add_section()
        table.add_row(
            "total", f"{need.total_bytes / _GIB:.2f}", need.basis.value, "sum at the peak"
        )
        margin = f"+ {need.margin.percent} % + {need.margin.fixed_bytes / _GIB:.1f} GiB margin"
        table.add_row("to plan with", f"{need.planning_bytes / _GIB:.2f}", "assumed", margin)
        console.print(table)
    for line in _device_lines(answer):
        click.echo(line)
    if answer.load_test is not None and request is not None and request.load_test is not None:
        click.echo(load_answer_text(request.load_test, answer.load_test))
    print_findings(answer.findings)


def _device_lines(answer: Sizing) -> list[str]:
    device, speed, room = answer.device, answer.speed, answer.capacity
    lines: list[str] = []
    if device is not None:
        verdict = {True: "fits", False: "does not fit", None: "not known"}[answer.fits]
        lines.append(f"{device.label}: {device.usable_bytes / _GIB:.2f} GiB usable, {verdict}")
    if isinstance(answer.work, Training):
        lines.append(settings_text(answer.work, answer.parallel))
    if room is not None:
        lines.append(f"cache: {room.tokens} tokens, {room.sequences} sequences at once")
    if isinstance(speed, ServingSpeed):
        low, high = (1000 * seconds for seconds in speed.loaded_token_seconds_range)
        least, most = speed.tokens_per_second_range
        lines.append(
            f"speed ({speed.basis.value}): first token {speed.first_token_seconds:.3f} s, "
            f"{1000 * speed.token_seconds:.1f} ms per token, {speed.tokens_per_second:.0f} "
            f"tokens/s ({least:.0f} to {most:.0f}); under this load 95 % of first tokens within "
            f"{speed.loaded_first_token_seconds:.3f} s where requests arrive at random, "
            f"{speed.together_first_token_seconds or 0:.3f} s on average where all clients start "
            f"together, {1000 * speed.loaded_token_seconds:.1f} ms per token ({low:.1f} to "
            f"{high:.1f}); saturated "
            f"{speed.saturated_tokens_per_second:.0f} tokens/s at "
            f"{speed.saturation_sequences} sequences; {speed.binding} binds"
        )
        if speed.range_note:
            lines.append(speed.range_note)
    elif isinstance(speed, TrainingSpeed):
        lines.append(
            f"speed ({speed.basis.value}): {speed.tokens_per_second:.0f} tokens/s, "
            f"{speed.step_seconds:.3f} s per step at MFU {speed.mfu:.2f}; {speed.binding} binds"
        )
    elif speed is not None:
        lines.append(
            f"speed ({speed.basis.value}): {speed.tokens_per_second:.0f} tokens/s, "
            f"{speed.batch_seconds:.4f} s per batch"
        )
    return lines
