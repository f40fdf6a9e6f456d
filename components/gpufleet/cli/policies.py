"""`gpufleet policies`: the rules, and a policy pack folder for a project of one's own."""

import shlex
import sys
from pathlib import Path

import click

from gpufleet.cli.output import UnreadableInputError, format_option, print_json


@click.group()
def command() -> None:
    """The policy rules, and a pack folder for your own project."""


@command.command()
@format_option
def rules(output_format: str) -> None:
    """List the rules: id, level in each profile, what must not be.

    JSON: a list of {"id", "sentence", "family", "judges", "levels": {profile: level},
    "mandatoryNeeds", "annotation", "money", "source", "docs"}.
    """
    from gpufleet_policies.rules.registry import RULES
    from gpufleet_policies.rules.rule import Profile

    if output_format == "json":
        print_json(
            [
                {
                    "id": rule.id,
                    "sentence": rule.sentence,
                    "family": rule.family,
                    "judges": "fleet" if rule.subject.__name__ == "FleetFacts" else "workload",
                    "levels": {profile.value: rule.levels[profile].value for profile in Profile},
                    "mandatoryNeeds": rule.mandatory_needs.name.lower(),
                    "annotation": rule.annotation,
                    "money": rule.formula or None,
                    "source": rule.source,
                    "docs": rule.docs,
                }
                for rule in RULES
            ]
        )
        return
    for rule in RULES:
        levels = ", ".join(f"{profile.value} {rule.levels[profile].value}" for profile in Profile)
        click.echo(f"{click.style(rule.id, bold=True)}  ({levels})")
        click.echo(f"    {rule.sentence}")
    click.echo(f"\n{len(RULES)} rules; docs/policies.md explains each.")


@command.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--virtualenv",
    default="venv",
    show_default=True,
    metavar="PATH",
    help="Python environment the pack runs in, relative to DIR.",
)
@format_option
def init(folder: Path, virtualenv: str, output_format: str) -> None:
    """Write a policy pack folder for a project that installs gpufleet.

    \b
        gpufleet policies init policies
        pulumi install --cwd policies       # or --virtualenv of your program's environment
        pulumi preview --policy-pack policies

    A second time changes nothing. Files you changed are never overwritten: the command then names
    them and exits 1, and nothing is written.

    JSON: {"folder", "written": [...], "unchanged": [...], "refused": [...]}.
    """
    from gpufleet_policies.pack_folder import write_pack

    try:
        done = write_pack(folder, virtualenv)
    except OSError as problem:
        raise UnreadableInputError(f"{folder}: {problem.strerror or problem}") from None
    if output_format == "json":
        print_json(
            {
                "folder": str(folder),
                "written": list(done.written),
                "unchanged": list(done.unchanged),
                "refused": list(done.changed),
            }
        )
    else:
        for name in done.written:
            click.echo(f"wrote {folder / name}")
        for name in done.unchanged:
            click.echo(f"kept {folder / name}, as it should be")
        for name in done.changed:
            click.echo(
                f"{folder / name} was changed and is not overwritten; move it away to have ours",
                err=True,
            )
        if done.written:
            where = shlex.quote(str(folder))
            made = "" if (folder / virtualenv).is_dir() else f"pulumi install --cwd {where}; then "
            click.echo(f"next: {made}pulumi preview --policy-pack {where}")
    if done.changed:
        sys.exit(1)
