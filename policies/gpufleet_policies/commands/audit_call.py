"""Input of `gpufleet audit`: settings, files, rules, baseline."""

import gc
import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufleet.cli.output import UnreadableInputError, refusing, require_something, write_file
from gpufleet.documents.path_globs import matches
from gpufleet.messages import one_line

if TYPE_CHECKING:
    from gpufleet.findings import Finding
    from gpufleet_policies.fronts.audit.fixing import Validate
    from gpufleet_policies.fronts.audit.inputs import Input
    from gpufleet_policies.fronts.audit.reading import Reading
    from gpufleet_policies.fronts.audit.run import Audit
    from gpufleet_policies.rules.settings import RuleSettings

MOST_JOBS = 8
"""More processes than this spend their time telling each other what they read."""


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


def chosen_inputs(
    paths: tuple[str, ...], include: tuple[str, ...], exclude: tuple[str, ...]
) -> "list[Input]":
    """The files to read. Raises UnreadableInputError without a file, or for a wrong path."""
    from gpufleet_policies.fronts.audit.inputs import find_inputs

    with refusing():
        found = find_inputs(paths, include, exclude)
    if include or exclude:
        require_something(found, "--include-path and --exclude-path leave no file to read")
    return found


def add_rules_of(folders: Iterable[str]) -> None:
    """Apply the project's own rules of some folders too. Raises UnreadableInputError."""
    if not folders:
        return
    from gpufleet_policies.own_rules import OwnRulesError, load_own_rules

    with refusing(OwnRulesError):
        for folder in folders:
            load_own_rules(Path(folder))


def selected_rules(
    settings: "RuleSettings", include: tuple[str, ...], exclude: tuple[str, ...]
) -> "RuleSettings":
    """The settings with the rules that the command line chooses. Raises UnreadableInputError."""
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


def why_nothing(paths: Sequence[str], result: "Audit") -> str:
    """Why nothing was looked at."""
    count = len(result.files)
    why = "no .yaml, .yml, .json or .tf file is there"
    if count:
        files = "the file holds" if count == 1 else f"the {count:,} files hold"
        why = f"{files} no object, values, plan, state or declaration that a rule reads"
    return f"{', '.join(paths)}: nothing was validated: {why} (--allow-nothing accepts that)"


@contextmanager
def without_collection() -> Generator[None]:
    """Leave cycles alone for a while. Facts and lines hold none: the collector goes over all of
    them again and again, which takes a fifth of an audit's time, and finds nothing."""
    was = gc.isenabled()
    gc.unfreeze()  # where a program calls the command again
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.freeze()  # nor does the collection at the end of the program
            gc.enable()


def read_and_validate(
    inputs: "Sequence[Input]",
    settings: "RuleSettings",
    config: str | None,
    jobs: int | None,
    baseline: str | None,
) -> "tuple[list[Reading], Validate]":
    """The contents of the inputs, validated by these settings, without known findings."""
    from gpufleet_policies.fronts.audit.run import EndedEarlyError, judged, read_all
    from gpufleet_policies.fronts.referenced_fleet import UnreadableFleetError, referenced_fleet

    today = datetime.now(UTC).date()
    with refusing(UnreadableFleetError, EndedEarlyError):
        known_fleet = referenced_fleet(settings.fleet, Path(config or ".").parent)
        readings = read_all(inputs, jobs or min(os.cpu_count() or 1, MOST_JOBS))

    def validate(those: "Sequence[Reading]") -> "Audit":
        result = judged(those, settings, today, known_fleet)
        return result if baseline is None else _without_known(result, baseline)

    return readings, validate


def may_be_fixed(rules: Sequence[str], paths: Sequence[str], one: "Finding") -> bool:
    """Whether `--fix-rule` and `--fix-path` let a finding be fixed; those not given let all."""
    by_rule = not rules or any(fnmatchcase(one.code, rule) for rule in rules)
    return by_rule and (not paths or matches(one.file, paths))


def stop_at_unreadable(result: "Audit", paths: Iterable[str]) -> None:
    """A named file must be readable; a file below a named folder need not be."""
    named = set(paths)
    wrong = [file for file in result.unread if file.name in named and not file.documents]
    if wrong:
        raise UnreadableInputError(*(f"{file.name}: {file.problem}" for file in wrong))


def write_baseline_file(result: "Audit", path: str) -> None:
    """Write every finding to the baseline, and report it."""
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
