"""The `gpufleet` program: one file per command, loaded only when it is called."""

import importlib
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

import click

from gpufleet.cli.output import UnreadableInputError, print_findings
from gpufleet.findings import FleetError
from gpufleet.messages import message, one_line

CORE = {
    "compile": "FleetSpec -> Fleet: everything that follows from a declaration, and every finding",
    "explain": "the same for people: who asks for what, proof of each MIG layout, price",
    "render": "every manifest, values file and NVIDIA configuration as files, for GitOps",
    "mirror": "every chart and image a site without Internet access must copy",
    "preflight": "asks the real cloud: offered, quota, reservation, addresses, version; read-only",
    "change": "what it takes to get from one declaration to another, node by node",
    "calendar": "which pools and teams have GPUs when: gaps, double bookings, money for nothing",
    "partition": "can these MIG instances be placed on that GPU? proof, or the nearest layouts",
    "cost": "cost of each pod, team and slice from a metrics dump, to the micro-dollar",
    "catalogue": "the facts everything rests on, each with source and date",
    "schema": "JSON Schema of the FleetSpec, for editors",
    "vsphere": "what a vCenter offers: hosts, GPUs, profiles, free slots, and which pools fit now",
    "sandbox": "a local control plane with simulated GPU nodes: up, down, status, reset",
}
"""Name -> one line of help. The module `gpufleet.cli.<name>` holds `command`."""

TABLES = "gpufleet.command_tables"
"""Entry points that are tables of commands like `CORE`, each in the package of its modules."""


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command of the program."""

    module: str
    """Module that holds `command`."""
    line: str
    """One line of help."""


@cache
def commands() -> dict[str, CommandRow]:
    """Every command by name: those of the core first, then those of each installed root."""
    rows = {name: CommandRow(f"gpufleet.cli.{name}", line) for name, line in CORE.items()}
    for entry in sorted(entry_points(group=TABLES), key=lambda entry: entry.name):
        for name, line in entry.load().items():
            rows[name] = CommandRow(f"{entry.module}.{name}", line)
    return rows


class _LazyGroup(click.Group):
    """Imports a command's module when the command is named, so that `--help` costs nothing."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # The tables of other roots are read only where the core has no such command.
        if cmd_name in CORE:
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
        with formatter.section("Commands"):
            formatter.write_dl([(name, row.line) for name, row in commands().items()])


@click.command(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pulumi-gpufleet", prog_name="gpufleet")
def _program() -> None:
    """One declaration of a GPU fleet: compiled, proven, priced, rendered and policed.

    Every command reads `-` as standard input, takes `--format text|json`, prints all findings at
    once and exits 0 (fine, warnings allowed), 1 (a finding of severity error) or 2 (input
    unreadable, wrong usage, or nothing was looked at). Deploying is `pulumi up`.

    \b
    Write a fleet.yaml (docs/use-cases.md has one for each case), then:
        gpufleet compile fleet.yaml            errors, their fixes, and the price
        gpufleet explain fleet.yaml            what nodes offer, and why
        gpufleet render fleet.yaml --out out   the files
    `gpufleet schema` lists every key, `gpufleet catalogue gpus` every GPU.
    """


def main() -> None:
    """Entry point of the program: neither bad input nor a full disk ends in a traceback."""
    _open_closed_streams()
    try:
        try:
            # click knows nothing of NO_COLOR (no-color.org); rich sees to it by itself.
            _program(prog_name="gpufleet", color=False if os.environ.get("NO_COLOR") else None)
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
