"""The `gpufleet` program: one file per command, loaded only when it is called."""

import gc
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

import click

from gpufleet.cli.at_work import sign_of_life
from gpufleet.cli.output import UnreadableInputError, print_findings
from gpufleet.findings import FleetError
from gpufleet.messages import message, one_line

FAMILIES = {
    "fleet": "the declaration",
    "gate": "what is refused before it is made",
    "plan": "what a model needs, and the machines for it",
    "money": "who pays, what was used, what is wasted",
    "live": "what is there now",
    "catalogue": "the facts everything rests on",
    "sandbox": "try it on this machine",
}
"""Family of commands, in the order of the help -> what it is about."""
CORE = {
    "fleet": {
        "compile": "what follows from a declaration, and every error",
        "explain": "the same drawn for people: who asks for what, proofs, price",
        "render": "manifests, Helm values and NVIDIA configuration as files",
        "change": "from one declaration to another, node by node",
        "mirror": "charts and images that a site without Internet copies",
        "schema": "every key, and the JSON Schema for editors",
    },
    "gate": {"preflight": "asks the real cloud: offered, quota, reservation; read-only"},
    "plan": {"partition": "do these MIG instances fit that GPU? proof, or the nearest"},
    "money": {
        "cost": "cost of each pod, team and slice from metrics",
        "calendar": "who has GPUs when: gaps, double bookings",
    },
    "live": {"vsphere": "what a vCenter offers, and which pools fit now"},
    "catalogue": {"catalogue": "GPUs, machines, prices, models, each with its source"},
    "sandbox": {"sandbox": "a local control plane with simulated GPU nodes"},
}
"""Family -> name -> one line of help. The module `gpufleet.cli.<name>` holds `command`."""

SHOW_THEMSELVES = ("sandbox",)
"""Commands that show their progress in a way of their own."""
TABLES = "gpufleet.command_tables"
"""Entry points that are tables of commands like `CORE`, each in the package of its modules."""


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command of the program."""

    module: str
    """Module that holds `command`."""
    family: str
    """Key of `FAMILIES`."""
    line: str
    """One line of help."""


@cache
def commands() -> dict[str, CommandRow]:
    """Every command by name: those of the core first, then those of each installed root."""
    rows = dict(_rows("gpufleet.cli", CORE))
    for entry in sorted(entry_points(group=TABLES), key=lambda entry: entry.name):
        rows.update(_rows(entry.module, entry.load()))
    return rows


def _rows(package: str, table: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, CommandRow]]:
    for family, lines in table.items():
        for name, line in lines.items():
            yield name, CommandRow(f"{package}.{name}", family, line)


class _LazyGroup(click.Group):
    """Imports a command's module when the command is named, so that `--help` costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # The tables of other roots are read only where the core has no such command.
        if any(cmd_name in names for names in CORE.values()):
            return importlib.import_module(f"gpufleet.cli.{cmd_name}").command
        row = commands().get(cmd_name)
        return None if row is None else importlib.import_module(row.module).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        unknown = not name.startswith("-") and self.get_command(ctx, name) is None
        if unknown and not ctx.resilient_parsing:
            from gpufleet.catalogue.lookup import nearest_names  # only errors need it

            near = nearest_names(name, commands(), limit=1, likeness=0.6)
            answer = f"did you mean {near[0]}?" if near else "gpufleet --help lists them"
            ctx.fail(f"no command {one_line(name)!r}; {answer}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, commands()))
        with formatter.section("Commands"):
            for family, subject in FAMILIES.items():
                rows = [
                    (name.ljust(width), row.line)
                    for name, row in commands().items()
                    if row.family == family
                ]
                if rows:
                    formatter.write(f"  {family.capitalize()}: {subject}\n")
                    with formatter.indentation():
                        formatter.write_dl(rows)


@click.command(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pulumi-gpufleet", prog_name="gpufleet")
def _program() -> None:
    """One declaration of a GPU fleet: compiled, priced, rendered, validated. `pulumi up` deploys.

    Commands read `-` as standard input, take `--format text|json`, print all findings at once and
    exit 0 (fine), 1 (an error was found) or 2 (unreadable, wrong usage, or nothing looked at).

    \b
        gpufleet explain fleet.yaml     what nodes offer, and what they cost
        gpufleet audit deploy/          waste and impossibility in manifests
    """


def main() -> None:
    """Entry point of the program: neither bad input nor a full disk ends in a traceback."""
    _open_closed_streams()
    # A run is short and keeps nearly all that it makes: the default looks for garbage 40 times as
    # often as is useful (mypy sets it in build.py, too).
    gc.set_threshold(20_000, 20, 20)
    try:
        try:
            # click knows nothing of NO_COLOR (no-color.org); rich sees to it by itself.
            color = False if os.environ.get("NO_COLOR") else None
            name = one_line(sys.argv[1]) if len(sys.argv) > 1 else ""
            with nullcontext() if name in SHOW_THEMSELVES else sign_of_life(name):
                _program(prog_name="gpufleet", color=color)
        finally:
            sys.stdout.flush()  # what cannot be written shows here, not while Python ends
    except UnreadableInputError as problem:
        _end(str(problem), 2)
    except FleetError as problem:
        # Only what no command reads itself raises it here: the overlay of the environment.
        print_findings(problem.findings)
        sys.exit(2)
    except BrokenPipeError:
        _forget_output()
        sys.exit(1)  # as click answers a reader that went away
    except OSError as problem:
        # Commands name the files they were given; what is left is output that cannot be written.
        _forget_output()
        _end(one_line(f"{problem.filename or 'standard output'}: {problem.strerror or problem}"), 2)


def _open_closed_streams() -> None:
    """Output streams that the caller closed (`>&-`) lead nowhere, and text never breaks them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  open to the end
            setattr(sys, name, nowhere)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # A name may hold what no encoding has (a lone "\ud800"): this is its JSON escape too.
        reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Give up buffered text, which Python would otherwise try to write once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(text: str, code: int) -> NoReturn:
    with suppress(OSError):
        click.echo(f"gpufleet: {message(text)}", err=True)
    sys.exit(code)
