"""`gpufleet audit`: the policy rules over anybody's files."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufleet.cli.output import UnreadableInputError, print_findings, print_json
from gpufleet.documents.path_globs import matches
from gpufleet.documents.whole_file import write_whole_text
from gpufleet.findings import FleetError

if TYPE_CHECKING:
    from gpufleet_policies.fronts.audit.fixing import Validate
    from gpufleet_policies.fronts.audit.placed import PlacedFinding
    from gpufleet_policies.fronts.audit.reading import Reading
    from gpufleet_policies.fronts.audit.run import Audit
    from gpufleet_policies.rules.settings import RuleSettings

FORMATS = ("text", "json", "sarif", "junit", "github")
BASELINE = "gpufleet-baseline.json"
MOST_JOBS = 8
"""More processes than this spend their time telling each other what they read."""

_COLOURS: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "strong": {"bold": True},
    "faint": {"dim": True},
}


@click.command("audit")
@click.argument("paths", metavar="PATH...", nargs=-1)
@click.option(
    "--profile",
    type=click.Choice(["auto", "dev", "prod", "strict"]),
    help="Levels to start from. Default: that of the settings, else by environment.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Policy settings. Default: gpu-policy.yaml or gpu-policy.json here, when there is one.",
)
@click.option("--baseline", metavar="FILE", help="Findings that do not count.")
@click.option(
    "--write-baseline",
    is_flag=True,
    help=f"Write every finding into the baseline ({BASELINE} unless named) and exit 0.",
)
@click.option("--explain", metavar="RULE", help="Say what a rule means, and end.")
@click.option(
    "--patch", is_flag=True, help="Print the changes that fix findings, RFC 6902 per object."
)
@click.option(
    "--fix",
    is_flag=True,
    help="Make those changes in YAML files, comments kept; validate them again, and print what "
    "remains.",
)
@click.option("--diff", is_flag=True, help="With --fix: print a unified diff, and write nothing.")
@click.option(
    "--fix-rule",
    "fix_rules",
    multiple=True,
    metavar="GLOB",
    help="With --fix or --patch: only findings of these rules. Repeat it for more.",
)
@click.option(
    "--fix-path",
    "fix_paths",
    multiple=True,
    metavar="GLOB",
    help="With --fix or --patch: only files of these names. Repeat it for more.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="text for people, json and sarif for programs, junit for CI, github for annotations.",
)
@click.option(
    "--require-judged",
    is_flag=True,
    help="Fail when something was not judged: unreadable files, templates, unknown kinds, charts.",
)
@click.option("--verbose", is_flag=True, help="List everything that was not judged.")
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    help="Most processes. Default: as many as there are processors, 8 at most.",
)
def command(
    paths: tuple[str, ...],
    profile: str | None,
    config: str | None,
    baseline: str | None,
    write_baseline: bool,
    explain: str | None,
    patch: bool,
    fix: bool,
    diff: bool,
    fix_rules: tuple[str, ...],
    fix_paths: tuple[str, ...],
    output_format: str,
    require_judged: bool,
    verbose: bool,
    jobs: int | None,
) -> None:
    """Validate files by the policy rules: waste and impossibility found before they are deployed.

    PATH is a file, a folder, or `-`: Kubernetes manifests, Helm values and templates, `terraform
    show -json` plans, `pulumi preview --json`, `pulumi stack export`, `kubectl get -o json`,
    declarations of fleets. Folders are searched for .yaml, .yml and .json. Rules that compare
    objects see everything of one run together.

    What no rule has judged is named and counted.

    Exits 1 when a mandatory finding is left, or with --require-judged when something was not
    judged; 2 when a named file cannot be read.

    JSON: {"findings": [...], "files", "objects", "unread": [...], "notJudged": [{"file", "line",
    "object", "what", "reason"}], "inBaseline", "usdPerMonth": {"waste", "standing",
    "exposure"}}.
    """
    if explain is not None:
        _explain(explain, output_format)
        return
    if not paths:
        raise click.UsageError("name at least one file or folder, or `-`")
    if patch and fix:
        raise click.UsageError("--patch prints and --fix writes: choose one")
    if diff and not fix:
        raise click.UsageError("--diff is used with --fix only")
    if (fix_rules or fix_paths) and not (fix or patch):
        raise click.UsageError("--fix-rule and --fix-path are used with --fix or --patch only")
    known = None if write_baseline else baseline
    readings, validate = _read(paths, policy_settings(config, profile), config, jobs, known)
    result = validate(readings)
    _stop_at_unreadable(result, paths)
    if write_baseline:
        _write_baseline(result, baseline or BASELINE)
        return
    chosen = partial(_may_be_fixed, fix_rules, fix_paths)
    if fix:
        from gpufleet.cli.audit_changes import write_fixes

        result = write_fixes(
            result, readings, validate, chosen, only_show=diff, output_format=output_format
        )
    elif patch:
        from gpufleet.cli.audit_changes import print_patches

        print_patches(result, chosen)
    else:
        _print(result, output_format, verbose=verbose or require_judged)
    failed = any(finding.is_mandatory for finding in result.findings)
    sys.exit(1 if failed or (require_judged and result.not_judged) else 0)


def policy_settings(config: str | None, profile: str | None) -> "RuleSettings":
    """The settings of a file, or those next to the caller, under a profile if one is named.

    Raises UnreadableInputError with every problem.
    """
    from gpufleet_policies.fronts.settings_file import read_settings_file, settings_alongside
    from gpufleet_policies.rules.settings import read_settings

    try:
        data = settings_alongside(Path()) if config is None else read_settings_file(Path(config))
        if profile is not None:
            data = {**data, "profile": profile}
        settings = read_settings(data, config or "policy settings")
    except FleetError as problem:
        raise UnreadableInputError(str(problem)) from None
    except OSError as problem:
        raise UnreadableInputError(f"{problem.filename}: {problem.strerror}") from None
    except ValueError as problem:
        raise UnreadableInputError(str(problem)) from None
    print_findings(settings.notes)
    return settings


def _read(
    paths: tuple[str, ...],
    settings: "RuleSettings",
    config: str | None,
    jobs: int | None,
    baseline: str | None,
) -> "tuple[list[Reading], Validate]":
    """What the paths hold, and what validates it: by these settings, without known findings."""
    from gpufleet_policies.fronts.audit.inputs import find_inputs
    from gpufleet_policies.fronts.audit.run import EndedEarlyError, judged, read_all
    from gpufleet_policies.fronts.referenced_fleet import UnreadableFleetError, referenced_fleet

    try:
        inputs = find_inputs(paths)
        told = referenced_fleet(settings.fleet, Path(config or ".").parent)
    except OSError as problem:
        raise UnreadableInputError(f"{problem.filename}: {problem.strerror}") from None
    except UnreadableFleetError as problem:
        raise UnreadableInputError(str(problem)) from None
    today = datetime.now(UTC).date()
    try:
        readings = read_all(inputs, jobs or min(os.cpu_count() or 1, MOST_JOBS))
    except EndedEarlyError as problem:
        raise UnreadableInputError(str(problem)) from None

    def validate(those: "Sequence[Reading]") -> "Audit":
        result = judged(those, settings, today, told)
        return result if baseline is None else _without_known(result, baseline)

    return readings, validate


def _may_be_fixed(rules: Sequence[str], paths: Sequence[str], one: "PlacedFinding") -> bool:
    """Whether `--fix-rule` and `--fix-path` let a finding be fixed; those not given let all."""
    by_rule = not rules or any(fnmatchcase(one.finding.rule, rule) for rule in rules)
    return by_rule and (not paths or matches(one.file, paths))


def _stop_at_unreadable(result: "Audit", paths: Iterable[str]) -> None:
    """A file someone named must be readable; one below a folder need not be."""
    named = set(paths)
    wrong = [file for file in result.unread if file.name in named and not file.documents]
    if wrong:
        raise UnreadableInputError("\n".join(f"{file.name}: {file.problem}" for file in wrong))


def _write_baseline(result: "Audit", path: str) -> None:
    from gpufleet_policies.fronts.audit.baseline import baseline_text

    try:
        write_whole_text(Path(path), baseline_text(result.findings))
    except OSError as problem:
        raise UnreadableInputError(f"{path}: {problem.strerror}") from None
    click.echo(f"wrote {path}: {len(result.findings)} findings that no longer count", err=True)


def _without_known(result: "Audit", path: str) -> "Audit":
    from gpufleet_policies.fronts.audit.baseline import (
        UnreadableBaselineError,
        read_baseline,
        without_known,
    )

    try:
        return without_known(result, read_baseline(Path(path)))
    except UnreadableBaselineError as problem:
        raise UnreadableInputError(str(problem)) from None
    except OSError as problem:
        raise UnreadableInputError(f"{path}: {problem.strerror}") from None


def _print(result: "Audit", output_format: str, *, verbose: bool) -> None:
    if output_format == "json":
        from gpufleet_policies.fronts.audit.as_json import as_json

        print_json(as_json(result))
    elif output_format == "sarif":
        from importlib.metadata import version

        from gpufleet_policies.fronts.audit.sarif import as_sarif

        print_json(as_sarif(result, version("pulumi-gpufleet")))
    elif output_format == "junit":
        from gpufleet_policies.fronts.audit.junit import as_junit

        click.echo(as_junit(result), nl=False)
    elif output_format == "github":
        from gpufleet_policies.fronts.audit.github import as_annotations

        for line in as_annotations(result):
            click.echo(line)
    else:
        from gpufleet_policies.fronts.audit.text import as_text

        width = None
        if sys.stdout.isatty():
            width = max(60, min(shutil.get_terminal_size((100, 24)).columns, 140))
        text = as_text(result, _styled, width, verbose=verbose)
        click.echo("\n".join(text))


def _styled(words: str, kind: str) -> str:
    return click.style(words, **_COLOURS[kind])


def _explain(rule_id: str, output_format: str) -> None:
    from gpufleet_policies.rules.registry import by_id

    rule = by_id().get(rule_id)
    if rule is None:
        from difflib import get_close_matches

        near = get_close_matches(rule_id, list(by_id()), n=3, cutoff=0.4)
        hint = f"; did you mean {', '.join(near)}?" if near else "; see `gpufleet policies rules`"
        raise UnreadableInputError(f"there is no rule {rule_id!r}{hint}")
    from gpufleet.cli.policies import rule_as_dict

    row = rule_as_dict(rule)
    if output_format == "json":
        print_json(row)
        return
    levels = ", ".join(f"{profile} {level}" for profile, level in row["levels"].items())
    text = f"{rule.sentence} {rule.detail}".strip()
    text = f"{rule.sentence} {rule.detail}".strip()
    click.echo(f"{click.style(rule.id, bold=True)}  ({levels})\n\n{text}\n")
    click.echo(f"Stops a deployment only on evidence that is at least {row['mandatoryNeeds']}.")
    if rule.formula:
        click.echo(f"Money: {rule.formula}.")
    click.echo(f"Source: {rule.source}.")
    click.echo(f'Keep a finding for a while: {rule.annotation}: "<reason>; until=YYYY-MM-DD".')
    click.echo(f"See {rule.docs}.")
