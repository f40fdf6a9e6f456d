"""`gpufleet audit`: the policy rules over anybody's files."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufleet.cli.help_screen import ScreenCommand
from gpufleet.cli.output import (
    UnreadableInputError,
    refusing,
    require_something,
    write_file,
)
from gpufleet.documents.path_globs import matches
from gpufleet.messages import one_line
from gpufleet_policies.commands.audit_reports import (
    FORMATS,
    print_report,
    read_outputs,
    write_outputs,
)

if TYPE_CHECKING:
    from gpufleet.findings import Finding
    from gpufleet_policies.fronts.audit.fixing import Validate
    from gpufleet_policies.fronts.audit.inputs import Input
    from gpufleet_policies.fronts.audit.reading import Reading
    from gpufleet_policies.fronts.audit.run import Audit
    from gpufleet_policies.rules.settings import RuleSettings

BASELINE = "gpufleet-baseline.json"
MOST_JOBS = 8
"""More processes than this spend their time telling each other what they read."""

EXAMPLES = """\b
Examples:
  gpufleet audit deploy charts/serving/values.yaml
  helm template charts/serving | gpufleet audit -
  gpufleet audit . --exclude-path vendor --exclude-rule 'gpu-job-*' --fail-on advisory
  gpufleet audit . --format github --output sarif=gpufleet.sarif --output junit=gpufleet.xml
  gpufleet audit . --write-baseline        then: --baseline gpufleet-baseline.json
  gpufleet audit . --fix --diff            then: --fix
"""
FIRST = ("profile", "config", "baseline", "fail_on", "fix", "output_format", "require_judged")


@click.command("audit", cls=ScreenCommand, first=FIRST, epilog=EXAMPLES)
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
@click.option(
    "--explain", metavar="RULE", help="The same as `gpufleet policies explain RULE`, and end."
)
@click.option(
    "--include-rule",
    "include_rules",
    multiple=True,
    metavar="GLOB",
    help="Apply only these rules. A rule that is named in full is at least advisory.",
)
@click.option(
    "--exclude-rule", "exclude_rules", multiple=True, metavar="GLOB", help="Leave these rules out."
)
@click.option(
    "--include-path",
    "include_paths",
    multiple=True,
    metavar="GLOB",
    help="Read only files of these names: `*` matches `/` too, a folder means all that is in it.",
)
@click.option(
    "--exclude-path",
    "exclude_paths",
    multiple=True,
    metavar="GLOB",
    help="Do not read files of these names.",
)
@click.option(
    "--rules-dir",
    "rule_folders",
    multiple=True,
    metavar="DIR",
    help="Folder with Python files of your own rules (docs/own-rules.md). They are run.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["mandatory", "advisory", "never"]),
    default="mandatory",
    show_default=True,
    help="Findings of which level, or of a higher one, make the exit status 1.",
)
@click.option(
    "--fail-on-unread", is_flag=True, help="Exit 2 when any file cannot be read, named or not."
)
@click.option(
    "--allow-nothing",
    is_flag=True,
    help="Exit 0 where nothing was looked at: for hooks that name whatever files changed.",
)
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
    help="What is printed. text: for people. json: everything, for programs. sarif: code scanning "
    "of GitHub, GitLab, Azure DevOps. junit: test reports of GitLab, Jenkins. github: annotations "
    "of the changed lines in GitHub Actions.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Write a report of any format into a file as well, in the same run. Repeat it for more.",
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
    help="Maximum processes. Default: as many as there are processors, 8 at most.",
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
    include_rules: tuple[str, ...],
    exclude_rules: tuple[str, ...],
    include_paths: tuple[str, ...],
    exclude_paths: tuple[str, ...],
    rule_folders: tuple[str, ...],
    fail_on: str,
    fail_on_unread: bool,
    allow_nothing: bool,
    outputs: tuple[str, ...],
) -> None:
    """Validate files by the policy rules: waste and impossibility found before they are deployed.

    PATH is a file, a folder, or `-`: Kubernetes manifests, Helm values and templates, `terraform
    show -json` plans, `pulumi preview --json`, `pulumi stack export`, `kubectl get -o json`,
    declarations of fleets. Folders are searched for .yaml, .yml and .json. Rules that compare
    objects see everything of one run together. What no rule looked at is named and counted.

    Exits 0 when nothing fails, 1 when a finding of the level of --fail-on is left, or with
    --require-judged when something was not judged, 2 when a named file, the settings or the own
    rules cannot be read, the call is wrong, or nothing was looked at: no file, or no document that
    rules know. --allow-nothing makes that 0.

    JSON: {"findings": [...], "waived": [...], "files", "objects", "unread": [...], "notJudged":
    [{"file", "line", "object", "what", "reason"}], "inBaseline", "usdPerMonth": {"waste",
    "standing", "exposure"}}.
    """
    if explain is not None:
        from gpufleet_policies.commands.policies import print_explanation

        _add_rules(rule_folders)
        print_explanation(explain, "json" if output_format == "json" else "text")
        return
    if not paths:
        raise click.UsageError("name at least one file or folder, or `-`")
    if patch and fix:
        raise click.UsageError("--patch prints and --fix writes: choose one")
    if diff and not fix:
        raise click.UsageError("--diff is used with --fix only")
    if (fix_rules or fix_paths) and not (fix or patch):
        raise click.UsageError("--fix-rule and --fix-path are used with --fix or --patch only")
    if outputs and (fix or patch or write_baseline):
        raise click.UsageError("--output is used without --fix, --patch and --write-baseline")
    files = read_outputs(outputs)
    _add_rules(rule_folders)
    settings = _selected(policy_settings(config, profile), include_rules, exclude_rules)
    require_rules(settings)
    inputs = _inputs(paths, include_paths, exclude_paths)
    known = None if write_baseline else baseline
    readings, validate = _read(inputs, settings, config, jobs, known)
    result = validate(readings)
    _stop_at_unreadable(result, paths)
    looked_at = result.looked_at or allow_nothing
    if write_baseline:
        require_something(looked_at, _nothing(paths, result))
        _write_baseline(result, baseline or BASELINE)
        return
    chosen = partial(_may_be_fixed, fix_rules, fix_paths)
    if fix:
        from gpufleet_policies.commands.audit_changes import write_fixes

        result = write_fixes(
            result, readings, validate, chosen, only_show=diff, output_format=output_format
        )
    elif patch:
        from gpufleet_policies.commands.audit_changes import print_patches

        print_patches(result, chosen)
    else:
        write_outputs(result, files)
        print_report(result, output_format, verbose=verbose or require_judged)
    if fail_on_unread and result.unread:
        names = ", ".join(file.name for file in result.unread)
        raise UnreadableInputError(f"{len(result.unread)} of the files cannot be read: {names}")
    require_something(looked_at, _nothing(paths, result))
    failing = [one for one in result.findings if one.is_mandatory or fail_on == "advisory"]
    failed = bool(failing) and fail_on != "never"
    sys.exit(1 if failed or (require_judged and result.not_judged) else 0)


def policy_settings(config: str | None, profile: str | None) -> "RuleSettings":
    """The settings of a file, or those next to the caller, under a profile if one is named.

    Raises UnreadableInputError with every problem.
    """
    from gpufleet_policies.fronts.settings_file import settings_file, settings_or_safe
    from gpufleet_policies.rules.settings import read_settings

    with refusing(ValueError):
        path = settings_file(Path()) if config is None else Path(config)
        nothing: Mapping[str, Any] = {}
        data, missing = (nothing, "") if path is None else settings_or_safe(path)
        if profile is not None:
            data = {**data, "profile": profile}
        elif missing:
            click.echo(f"gpufleet: {one_line(missing)}", err=True)
        return read_settings(data, one_line(config or "policy settings"))


def _inputs(
    paths: tuple[str, ...], include: tuple[str, ...], exclude: tuple[str, ...]
) -> "list[Input]":
    from gpufleet_policies.fronts.audit.inputs import find_inputs

    with refusing():
        found = find_inputs(paths, include, exclude)
    if include or exclude:
        require_something(found, "--include-path and --exclude-path leave no file to read")
    return found


def _add_rules(folders: Iterable[str]) -> None:
    if not folders:
        return
    from gpufleet_policies.own_rules import OwnRulesError, load_own_rules

    with refusing(OwnRulesError):
        for folder in folders:
            load_own_rules(Path(folder))


def _selected(
    settings: "RuleSettings", include: tuple[str, ...], exclude: tuple[str, ...]
) -> "RuleSettings":
    if not include and not exclude:
        return settings
    from gpufleet_policies.fronts.audit.selection import UnknownRuleError, selected

    with refusing(UnknownRuleError):
        return selected(settings, include, exclude)


def require_rules(settings: "RuleSettings") -> None:
    """Stop without any rule that is on, which would pass whatever the files hold."""
    require_something(
        settings.everything_off or not settings.is_off,
        "every rule is off, so nothing would be checked; turn rules on, or write the reason "
        "under `everythingOff` in the settings",
    )


def _nothing(paths: Sequence[str], result: "Audit") -> str:
    """Why nothing was looked at."""
    count = len(result.files)
    why = "no .yaml, .yml or .json file is there"
    if count:
        files = "the file holds" if count == 1 else f"the {count:,} files hold"
        why = f"{files} no object, values, plan, state or declaration that a rule reads"
    return f"{', '.join(paths)}: nothing was looked at: {why} (--allow-nothing accepts that)"


def _read(
    inputs: "Sequence[Input]",
    settings: "RuleSettings",
    config: str | None,
    jobs: int | None,
    baseline: str | None,
) -> "tuple[list[Reading], Validate]":
    """What the inputs hold, and what validates it: by these settings, without known findings."""
    from gpufleet_policies.fronts.audit.run import EndedEarlyError, judged, read_all
    from gpufleet_policies.fronts.referenced_fleet import UnreadableFleetError, referenced_fleet

    today = datetime.now(UTC).date()
    with refusing(UnreadableFleetError, EndedEarlyError):
        told = referenced_fleet(settings.fleet, Path(config or ".").parent)
        readings = read_all(inputs, jobs or min(os.cpu_count() or 1, MOST_JOBS))

    def validate(those: "Sequence[Reading]") -> "Audit":
        result = judged(those, settings, today, told)
        return result if baseline is None else _without_known(result, baseline)

    return readings, validate


def _may_be_fixed(rules: Sequence[str], paths: Sequence[str], one: "Finding") -> bool:
    """Whether `--fix-rule` and `--fix-path` let a finding be fixed; those not given let all."""
    by_rule = not rules or any(fnmatchcase(one.code, rule) for rule in rules)
    return by_rule and (not paths or matches(one.file, paths))


def _stop_at_unreadable(result: "Audit", paths: Iterable[str]) -> None:
    """A file someone named must be readable; one below a folder need not be."""
    named = set(paths)
    wrong = [file for file in result.unread if file.name in named and not file.documents]
    if wrong:
        raise UnreadableInputError(*(f"{file.name}: {file.problem}" for file in wrong))


def _write_baseline(result: "Audit", path: str) -> None:
    from gpufleet_policies.fronts.audit.baseline import baseline_text

    write_file(path, baseline_text(result.findings))
    count = len(result.findings)
    words = "finding that no longer counts" if count == 1 else "findings that no longer count"
    click.echo(one_line(f"wrote {path}: {count} {words}"), err=True)


def _without_known(result: "Audit", path: str) -> "Audit":
    from gpufleet_policies.fronts.audit.baseline import (
        UnreadableBaselineError,
        read_baseline,
        without_known,
    )

    if not Path(path).exists():
        text = f"no baseline {path}, so every finding counts; --write-baseline makes one"
        click.echo(f"gpufleet: {one_line(text)}", err=True)
        return result
    with refusing(UnreadableBaselineError):
        return without_known(result, read_baseline(Path(path)))
