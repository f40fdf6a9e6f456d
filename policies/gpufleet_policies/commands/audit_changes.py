"""Output of `gpufleet audit --patch` and changes of `--fix`."""

from collections.abc import Iterator, Sequence

import click

from gpufleet.cli.output import print_json
from gpufleet.findings import Finding
from gpufleet.messages import message
from gpufleet_policies.fronts.audit.as_json import finding_as_dict
from gpufleet_policies.fronts.audit.fixing import Chosen, Fixes, Validate, diff, fixes, write
from gpufleet_policies.fronts.audit.patches import ObjectPatch, object_patches
from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.fronts.audit.run import Audit


def print_patches(result: Audit, chosen: Chosen) -> None:
    """One JSON document: a list of {"file", "line", "object", "rules", "patch"}."""
    print_json([patch.as_dict() for patch in object_patches(result, chosen)])


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
