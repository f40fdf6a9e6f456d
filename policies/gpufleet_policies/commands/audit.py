"""`gpufleet audit`: the policy rules over anybody's files."""

import sys
from collections.abc import Iterator, Sequence
from functools import partial

import click

from gpufleet.cli.help_screen import ScreenCommand
from gpufleet.cli.options import options
from gpufleet.cli.output import UnreadableInputError, print_json, require_something
from gpufleet.findings import Finding
from gpufleet.messages import message
from gpufleet_policies.commands.audit_call import (
    add_rules_of,
    chosen_inputs,
    may_be_fixed,
    policy_settings,
    read_and_validate,
    require_rules,
    selected_rules,
    stop_at_unreadable,
    why_nothing,
    without_collection,
    write_baseline_file,
)
from gpufleet_policies.commands.audit_reports import (
    FORMATS,
    print_report,
    read_outputs,
    write_outputs,
)
from gpufleet_policies.commands.check import command as check
from gpufleet_policies.configurations.kinds import KINDS
from gpufleet_policies.fronts.audit.as_json import finding_as_dict
from gpufleet_policies.fronts.audit.fixing import Chosen, Fixes, Validate, diff, fixes, write
from gpufleet_policies.fronts.audit.patches import ObjectPatch, object_patches
from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.names import names


def write_fixes(
    result: Audit,
    readings: Sequence[Reading],
    validate: Validate,
    chosen: Chosen,
    *,
    only_show: bool,
    output_format: str,
) -> Audit:
    """Rewrite files where it is safe, or only show the changes; report the remaining findings.

    Returns the audit of the changed files.
    """
    made = fixes(result, readings, validate, chosen)
    if not only_show:
        write(made, readings, validate)
    if output_format == "json":
        print_json(_as_dict(made, only_show=only_show))
    else:
        for line in _lines(made, only_show=only_show):
            click.echo(message(line).replace("\n", " "))
    return result if only_show else made.result


def _as_dict(made: Fixes, *, only_show: bool) -> dict[str, object]:
    return {
        "written": not only_show,
        "fixed": [patch.as_dict() for patch in made.done],
        "left": [{**patch.as_dict(), "reason": reason} for patch, reason in made.left],
        "diff": "".join(f"{message(line)}\n" for line in diff(made)),
        "remaining": [finding_as_dict(one) for one in made.result.findings],
        "worse": [finding_as_dict(one) for one in made.worse],
    }


def _lines(made: Fixes, *, only_show: bool) -> Iterator[str]:
    if only_show:
        yield from diff(made)
    verb = "would fix" if only_show else "fixed"
    for patch in made.done:
        yield f"{verb} {_place(patch)}"
    for patch, reason in made.left:
        yield f"not fixed {_place(patch)}: {reason}"
    for one in made.worse:
        yield f"new {_short(one)}"
    errors = [one for one in made.result.findings if one.is_mandatory]
    for one in errors:
        yield f"remains {_short(one)}"
    warnings = len(made.result.findings) - len(errors)
    yield f"validated again: {len(errors)} errors and {warnings} warnings remain"


def _place(patch: ObjectPatch) -> str:
    return f"{patch.file}:{patch.line} {patch.object}: {', '.join(patch.rules)}"


def _short(one: Finding) -> str:
    level = "error" if one.is_mandatory else "warning"
    return f"{level} {one.file}:{one.line} {one.locator}: {one.code}"


BASELINE = "gpufleet-baseline.json"
EXAMPLES = """\b
Examples:
  gpufleet audit deploy charts/serving/values.yaml
  helm template charts/serving | gpufleet audit -
  gpufleet audit . --format github --output sarif=gpufleet.sarif
  gpufleet audit . --top 10 --output html=audit.html
  gpufleet audit . --fix --diff            then: --fix
"""
FIRST = names("option of audit that --help shows")


@click.command("audit", cls=ScreenCommand, first=FIRST, epilog=EXAMPLES)
@click.argument("paths", metavar="PATH...", nargs=-1)
@options(__file__, "audit", output_format=click.Choice(FORMATS), kind=click.Choice(list(KINDS)))
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
    top: int,
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
    **place: str | None,
) -> None:
    """Validate files by the policy rules: find waste and impossible settings before a deployment.
    The costliest object comes first.

    PATH is a file, a folder, or `-`: Kubernetes manifests, Helm values and templates, `terraform
    show -json` plans, `pulumi preview --json`, `pulumi stack export`, `kubectl get -o json`,
    declarations of fleets. Folders are searched for .yaml, .yml, .json and .tf. Rules that compare
    objects see all files of one run together. Everything that no rule validated is named and
    counted. --as, --gpu, --select and --context give a verdict on one document (docs/check.md).

    Exits 0 when nothing fails, 1 when a finding of the level of --fail-on remains, 2 when a file,
    the settings or own rules cannot be read, or nothing was validated.
    \f
    Exits 1 with --require-judged also when something was not validated. Nothing was validated where
    there is no file, or no document that a rule reads; --allow-nothing makes that 0.

    JSON: {"findings": [...], "waived": [...], "files", "objects", "unread": [...], "notJudged":
    [{"file", "line", "object", "what", "reason"}], "inBaseline", "usdPerMonth": {"waste",
    "standing", "exposure"}}.
    """
    if explain is not None:
        from gpufleet_policies.commands.policies import print_explanation

        add_rules_of(rule_folders)
        print_explanation(explain, "json" if output_format == "json" else "text")
        return
    if any(place.values()):
        if len(paths) != 1:
            raise click.UsageError("--as, --gpu, --select and --context need one file: name one")
        if output_format not in {"text", "json"} or fix or patch or write_baseline:
            raise click.UsageError("a verdict on one document is printed as text or json only")
        click.get_current_context().invoke(
            check,
            file=paths[0],
            config=config,
            require_judged=require_judged,
            output_format=output_format,
            **place,
        )
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
    add_rules_of(rule_folders)
    settings = selected_rules(policy_settings(config, profile), include_rules, exclude_rules)
    require_rules(settings)
    inputs = chosen_inputs(paths, include_paths, exclude_paths)
    known = None if write_baseline else baseline
    click.get_current_context().with_resource(without_collection())
    readings, validate = read_and_validate(inputs, settings, config, jobs, known)
    result = validate(readings)
    stop_at_unreadable(result, paths)
    looked_at = result.looked_at or allow_nothing
    if write_baseline:
        require_something(looked_at, why_nothing(paths, result))
        write_baseline_file(result, baseline or BASELINE)
        return
    chosen = partial(may_be_fixed, fix_rules, fix_paths)
    if fix:
        result = write_fixes(
            result, readings, validate, chosen, only_show=diff, output_format=output_format
        )
    elif patch:
        print_json([one.as_dict() for one in object_patches(result, chosen)])
    else:
        write_outputs(result, files)
        print_report(result, output_format, verbose=verbose or require_judged, top=top)
    if fail_on_unread and result.unread:
        names = ", ".join(file.name for file in result.unread)
        raise UnreadableInputError(f"{len(result.unread)} of the files cannot be read: {names}")
    require_something(looked_at, why_nothing(paths, result))
    failing = [one for one in result.findings if one.is_mandatory or fail_on == "advisory"]
    failed = bool(failing) and fail_on != "never"
    sys.exit(1 if failed or (require_judged and result.not_judged) else 0)
