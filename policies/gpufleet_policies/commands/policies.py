"""`gpufleet policies`: the rules, and a policy pack folder for your own project."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufleet.cli.options import options
from gpufleet.cli.output import (
    UnreadableInputError,
    format_option,
    print_json,
    refusing,
    require_something,
)

if TYPE_CHECKING:
    from gpufleet.rules.rule import Rule


@click.group()
def command() -> None:
    """The policy rules, and a pack folder for your own project."""


def rule_as_dict(rule: "Rule") -> dict[str, Any]:
    """A rule as programs read it."""
    from gpufleet.rules.rule import Profile
    from gpufleet_policies.fronts.admission.policies import expressible

    return {
        "id": rule.id,
        "sentence": rule.sentence,
        "family": rule.family,
        "judges": [_JUDGED.get(subject.__name__, subject.__name__) for subject in rule.subjects],
        "levels": {profile.value: rule.levels[profile].value for profile in Profile},
        "mandatoryNeeds": rule.mandatory_needs.name.lower(),
        "annotation": rule.annotation,
        "money": rule.formula or None,
        "source": rule.source,
        "docs": rule.docs,
        "admission": rule.id in expressible(),
    }


_JUDGED = {
    "FleetFacts": "fleet",
    "WorkloadFacts": "workload",
    "DeviceClaim": "Claim",
    "DeclaredNamespace": "Namespace",
}
"""Class of facts -> its name in the JSON output, where that is another."""


@command.command()
@format_option
def rules(output_format: str) -> None:
    """List the rules: id, level in each profile, sentence.

    JSON: a list of {"id", "sentence", "family", "validates": [...], "levels": {profile: level},
    "mandatoryNeeds", "annotation", "money", "source", "docs", "admission"}; `admission` says
    whether a cluster can check it (`gpufleet policies admission`).
    """
    from gpufleet.rules.rule import Profile
    from gpufleet_policies.rules.registry import RULES

    if output_format == "json":
        print_json([rule_as_dict(rule) for rule in RULES])
        return
    for rule in RULES:
        levels = ", ".join(f"{profile.value} {rule.levels[profile].value}" for profile in Profile)
        click.echo(f"{click.style(rule.id, bold=True)}  ({levels})")
        click.echo(f"    {rule.sentence}")
    click.echo(f"\n{len(RULES)} rules; `gpufleet policies explain RULE` explains one.")


@command.command()
@click.argument("rule")
@format_option
def explain(rule: str, output_format: str) -> None:
    """Explain a rule: purpose, source, a bad and a good example.

    JSON: what `gpufleet policies rules` gives of one rule, with "detail", "seenIn": {"source",
    "url"} or null, and "example": {"bad", "change", "message"} or null.
    """
    print_explanation(rule, output_format)


def print_explanation(rule_id: str, output_format: str) -> None:
    """Print what a rule means. Raises UnreadableInputError with the nearest ids."""
    from gpufleet_policies.explanation import explanation
    from gpufleet_policies.fronts.audit.selection import no_such_rule
    from gpufleet_policies.rule_evidence import rule_evidence
    from gpufleet_policies.rule_examples import rule_examples
    from gpufleet_policies.rules.registry import by_id

    rule = by_id().get(rule_id)
    if rule is None:
        raise UnreadableInputError(no_such_rule(rule_id))
    if output_format == "json":
        example = rule_examples().get(rule_id)
        shown = None if example is None else asdict(example)
        seen = rule_evidence().get(rule_id)
        found = None if seen is None else {"source": seen.source, "url": seen.link}
        print_json({**rule_as_dict(rule), "detail": rule.detail, "seenIn": found, "example": shown})
        return
    click.echo(f"{click.style(rule.id, bold=True)}\n")
    click.echo("\n".join(explanation(rule)).rstrip())
    click.echo(f'\nKeep a finding for a while: {rule.annotation}: "<reason>; until=YYYY-MM-DD",')
    click.echo(f"or `# gpufleet:ignore {rule.id} reason=... until=YYYY-MM-DD` above the field.")


@command.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@options(__file__, "policies init", wheel=click.Path(path_type=Path, exists=True))
@format_option
def init(folder: Path, virtualenv: str, wheel: Path | None, output_format: str) -> None:
    """Write a policy pack folder for a project with gpufleet.

    \b
        gpufleet policies init policies
        pulumi install --cwd policies       # or --virtualenv of your program's environment
        pulumi preview --policy-pack policies

    A second run changes nothing. Files that you changed are never overwritten: the command then
    names them and exits 1, and writes nothing.

    JSON: {"folder", "written": [...], "unchanged": [...], "refused": [...], "local": bool}; `local`
    states that requirements.txt names a file of this machine.
    """
    from gpufleet_policies.pack_folder import requirement_of, write_pack

    with refusing(file=folder):
        done = write_pack(folder, virtualenv, None if wheel is None else requirement_of(wheel))
    if output_format == "json":
        print_json({"folder": str(folder), **asdict(done)})
    else:
        for name in done.written:
            click.echo(f"wrote {folder / name}")
        for name in done.unchanged:
            click.echo(f"kept {folder / name}, up to date")
        for name in done.refused:
            click.echo(
                f"{folder / name} was changed and is not overwritten; move it to get the new one",
                err=True,
            )
        if done.local:
            click.echo(
                f"{folder / 'requirements.txt'} names a file of this machine: before you commit "
                "it, write a wheel in your repository or `git+URL@TAG`",
                err=True,
            )
        if done.written:
            where = shlex.quote(str(folder))
            made = "" if (folder / virtualenv).is_dir() else f"pulumi install --cwd {where}; then "
            click.echo(f"next: {made}pulumi preview --policy-pack {where}")
    if done.refused:
        sys.exit(1)


@command.command()
@options(__file__, "policies admission", folder=click.Path(path_type=Path, file_okay=False))
@format_option
def admission(
    folder: Path | None,
    enforce: str,
    profile: str | None,
    config: str | None,
    exempt: tuple[str, ...],
    output_format: str,
) -> None:
    """Write ValidatingAdmissionPolicies for a cluster.

    \b
        gpufleet policies admission --out admission
        kubectl apply -f admission

    They are the rules that a cluster can check by itself, each with a binding that warns and
    writes the audit log; with `--enforce deny` policies of mandatory rules refuse. Needs Kubernetes
    1.30. docs/admission.md lists what they validate.

    Exits 2 when no rule that a cluster can check is on.

    JSON: {"policies": [{"name", "level", "rules": [...], "file"}], "notExpressible": [...]}.
    """
    from gpufleet_policies.commands.audit_call import policy_settings
    from gpufleet_policies.fronts.admission import policies as front
    from gpufleet_policies.fronts.admission.policies import text_of, write_policies
    from gpufleet_policies.rules.registry import RULES

    settings = policy_settings(config, profile)
    made = front.policies(
        settings,
        enforcement=front.Enforcement(enforce),
        exempt_namespaces=(*front.EXEMPT_NAMESPACES, *exempt),
    )
    require_something(
        made or settings.everything_off,
        "no rule that a cluster can check is on, so there is no policy to write; turn rules on, or "
        "write the reason under `everythingOff` in the settings",
    )
    files: dict[str, str] = {}
    if folder is not None:
        with refusing(file=folder):
            files = write_policies(folder, made)
    if output_format == "json":
        print_json(
            {
                "policies": [
                    {
                        "name": one.name,
                        "level": one.level.value,
                        "rules": list(one.rules),
                        "file": files.get(one.name),
                    }
                    for one in made
                ],
                "notExpressible": [rule.id for rule in RULES if rule.id not in front.expressible()],
            }
        )
        return
    if folder is None:
        click.echo("---\n".join(text_of(one) for one in made), nl=False)
        return
    rules = {rule for one in made for rule in one.rules}
    click.echo(f"wrote {len(made)} policies for {len(rules)} rules to {folder}")
    click.echo(f"next: kubectl apply --dry-run=server -f {shlex.quote(str(folder))}")
