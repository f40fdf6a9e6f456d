"""The `gpufleet` program: one file per command, loaded only when it is called."""

import gc
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import click

from gpufleet.cli.at_work import sign_of_life
from gpufleet.cli.output import UnreadableInputError, has_written, print_findings, print_json
from gpufleet.findings import FleetError
from gpufleet.messages import message, one_line

FAMILIES = {
    "fleet": "the declaration",
    "gate": "checks before anything is created",
    "plan": "resources that a model needs, and machines for it",
    "money": "cost, use and waste of GPUs",
    "live": "the present state of clusters and nodes",
    "catalogue": "hardware, prices and models, with sources",
    "sandbox": "try it on this machine",
}
"""Family of commands, in the order of the help -> its subject."""
CORE = {
    "fleet": {
        "compile": "everything that follows from a declaration, and every error",
        "explain": "the compiled fleet as text: requests, proofs, prices",
        "render": "manifests, Helm values and NVIDIA configuration as files",
        "change": "steps from one declaration to another, node by node",
        "mirror": "charts and images to copy for a site without Internet access",
        "schema": "all keys, and the JSON Schema for editors",
    },
    "gate": {"preflight": "checks in the real cloud: offers, quota, capacity; read-only"},
    "plan": {"partition": "whether MIG instances fit a GPU: a proof, or the nearest"},
    "money": {
        "cost": "cost of each pod, team and slice from metrics",
        "calendar": "allocation of GPUs over time: gaps, double bookings",
    },
    "live": {"vsphere": "resources that a vCenter offers, and pools that fit now"},
    "catalogue": {"catalogue": "GPUs, machines, prices, models, each with its source"},
    "sandbox": {"sandbox": "a local control plane with simulated GPU nodes"},
}
"""Family -> name -> one line of help. The module `gpufleet.cli.<name>` contains `command`."""

SHOW_THEMSELVES = ("sandbox",)
"""Commands with their own progress output."""
TABLES = "gpufleet.command_tables"
"""Entry points that are tables of commands like `CORE`, each in the package of its modules."""
ROOTS = ("gpufleet_planner.commands", "gpufleet_policies.commands")
"""Packages with such a table in this distribution: no metadata is read to find their commands."""


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command of the program."""

    module: str
    """Module that contains `command`."""
    family: str
    """Key of `FAMILIES`."""
    line: str
    """One line of help."""


@cache
def commands() -> dict[str, CommandRow]:
    """Every command by name: those of the core first, then those of each installed root."""
    from importlib.metadata import entry_points  # the core's own commands do not wait for it

    rows = dict(_rows("gpufleet.cli", CORE))
    for entry in sorted(entry_points(group=TABLES), key=lambda entry: entry.name):
        rows.update(_rows(entry.module, entry.load()))
    return rows


def _rows(package: str, table: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, CommandRow]]:
    for family, lines in table.items():
        for name, line in lines.items():
            yield name, CommandRow(f"{package}.{name}", family, line)


class _LazyGroup(click.Group):
    """Imports a command's module when the command is named, so that `--help` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # The tables of other distributions are read only if this one has no such command.
        for package in ("gpufleet.cli", *ROOTS):
            table = CORE if package == "gpufleet.cli" else importlib.import_module(package).COMMANDS
            if any(cmd_name in names for names in table.values()):
                return importlib.import_module(f"{package}.{cmd_name}").command
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
    exit 0 (fine), 1 (an error was found) or 2 (unreadable, wrong usage, or no input).

    \b
        gpufleet explain fleet.yaml     what nodes offer, and what they cost
        gpufleet audit deploy/          waste and impossibility in manifests
    """


def main() -> None:
    """Entry point of the program: neither invalid input nor a full disk ends in a traceback."""
    _open_closed_streams()
    if "" in sys.argv[1:]:
        before = sys.argv[sys.argv.index("", 1) - 1]
        what = one_line(before) if before.startswith("--") else "an argument"
        _end(f"{what} is empty: perhaps a variable of the shell has no value")
    # A run is short and keeps nearly all its objects: the default collects garbage a thousand
    # times as often as is useful (mypy sets it in build.py, too).
    gc.set_threshold(500_000, 20, 20)
    # Its search reads the metadata of every installed distribution, and no command has plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        try:
            # click does not support NO_COLOR (no-color.org); rich does.
            color = False if os.environ.get("NO_COLOR") else None
            name = one_line(sys.argv[1]) if len(sys.argv) > 1 else ""
            with nullcontext() if name in SHOW_THEMSELVES else sign_of_life(name):
                sys.exit(_program.main(prog_name="gpufleet", color=color, standalone_mode=False))
        finally:
            gc.freeze()  # nothing is collected again while Python exits
            sys.stdout.flush()  # a write error is reported here, not while Python exits
    except click.Abort:
        click.echo("Aborted!", err=True)
        sys.exit(1)
    except click.ClickException as problem:
        problem.show()
        _write_as_json(problem.format_message(), problem.exit_code)
        sys.exit(problem.exit_code)
    except UnreadableInputError as problem:
        _end(str(problem))
    except FleetError as problem:
        # Only input that no command reads itself raises it here: the overlay of the environment.
        print_findings(problem.findings)
        sys.exit(2)
    except BrokenPipeError:
        _forget_output()
        sys.exit(1)  # as click does when the reader closed the pipe
    except OSError as problem:
        # Commands report their own files; this is output that cannot be written.
        _forget_output()
        _end(one_line(f"{problem.filename or 'standard output'}: {problem.strerror or problem}"))


def _open_closed_streams() -> None:
    """Output to closed streams (`>&-`) is discarded, and text never breaks them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  open to the end
            setattr(sys, name, nowhere)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # A name may hold what no encoding has (a lone "\ud800"): this is its JSON escape too.
        reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Discard buffered text, which Python would otherwise try to write again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_as_json(text: str, status: int) -> None:
    """With `--format json`, the document of a run that cannot begin, unless it wrote one."""
    asked = "--format=json" in sys.argv or ("--format", "json") in pairwise(sys.argv)
    if asked and not has_written():
        print_json({"error": {"exitStatus": status, "message": text}})
        sys.stdout.flush()


def _end(text: str) -> NoReturn:
    with suppress(OSError):
        click.echo(f"gpufleet: {message(text)}", err=True)
        _write_as_json(message(text), 2)
    sys.exit(2)
