"""The audit for people: findings by file, what they cost, and how to keep one for a while."""

from collections.abc import Callable, Iterator, Sequence

from gpufleet.findings import Finding
from gpufleet.findings.money import usd_hour
from gpufleet.messages import one_line
from gpufleet_policies.fronts.audit import unjudged
from gpufleet_policies.fronts.audit.patches import offered
from gpufleet_policies.fronts.audit.run import Audit, FileResult
from gpufleet_policies.money.attribution import totals

Style = Callable[[str, str], str]
"""Text and one of `error`, `warning`, `strong`, `faint` -> text as the terminal shows it."""

_INDENT = " " * 8
MOST_WAIVED = 30
"""Waived findings that are listed; a baseline can have thousands."""
_TEMPLATE_HINT = "render it first for a full verdict: helm template . | gpufleet audit -"


def as_text(
    result: Audit, style: Style, width: int | None = 100, *, verbose: bool = False
) -> Iterator[str]:
    """Line by line; `width` None wraps nothing, as for a file or another program.

    `verbose` lists everything that was not judged.
    """
    for file in result.files:
        if file.findings:
            yield from _file(file, style, width)
    if result.findings:
        yield from _money(result, style)
    if any(one.annotation for one in result.findings):
        yield (
            "Keep a finding for a while: annotate its object gpufleet.dev/ignore-<rule>: "
            '"<reason>; until=YYYY-MM-DD", write a comment `# gpufleet:ignore RULE reason=... '
            "until=YYYY-MM-DD` above the field, or list it under `exceptions` of the settings. "
            "`gpufleet policies explain RULE` says more."
        )
        yield ""
    yield from waived_lines(result.waived, style)
    for file in result.unread:
        yield f"{style('not read', 'warning')} {one_line(file.name)}: {file.problem}"
    if templates := [file for file in result.files if file.templates and not file.problem]:
        names = ", ".join(one_line(file.name) for file in templates[:3])
        more = f" and {len(templates) - 3} more" if len(templates) > 3 else ""
        yield f"{style('template', 'faint')} {names}{more}: {_TEMPLATE_HINT}"
    said_above = () if verbose else ("file", "template")
    rest = [one for one in result.not_judged if one.what not in said_above]
    yield from unjudged.lines(rest, style, verbose=verbose)
    yield _summary(result, style)


def waived_lines(waived: Sequence[Finding], style: Style) -> Iterator[str]:
    """A line for each finding that does not count, up to MOST_WAIVED."""
    for one in waived[:MOST_WAIVED]:
        place = f"{one_line(one.file)}:{one.line} {one.code} {one.locator}"
        yield f"{style('waived', 'faint')} {place}: {one.waiver}"
    if len(waived) > MOST_WAIVED:
        yield f"waived: {len(waived) - MOST_WAIVED:,} more; --format json lists all"


def _file(file: FileResult, style: Style, width: int | None) -> Iterator[str]:
    yield style("standard input" if file.name == "-" else one_line(file.name), "strong")
    for one in file.findings:
        yield from _finding(one, style, width)
    yield ""


def _finding(one: Finding, style: Style, width: int | None) -> Iterator[str]:
    level = "error" if one.is_mandatory else "warning"
    place = f"{one.locator}" + (f", {one.path}" if one.path else "")
    yield f"  {one.line:>5}  {style(level, level)}  {style(one.code, 'strong')}  {place}"
    yield from _wrapped(one.message, width)
    if one.fix:
        yield from _wrapped(f"instead: {one.fix}", width)
    if one.money is not None:
        yield from _wrapped(f"it {one.money}", width)
    if offered(one):
        yield from _wrapped("`gpufleet audit --patch` has the change", width)
    for creation in one.creates:
        words = f"`gpufleet audit --patch` has the {creation.kind}, `--fix` adds it to the file"
        yield from _wrapped(words, width)


def _wrapped(text: str, width: int | None) -> list[str]:
    if width is None:
        return [_INDENT + text]
    import textwrap  # only a terminal needs it

    return textwrap.wrap(
        text,
        width,
        initial_indent=_INDENT,
        subsequent_indent=_INDENT + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _money(result: Audit, style: Style) -> Iterator[str]:
    sums = totals(result.findings, result.spend)
    rows = (
        (sums.waste, "goes away when the findings are fixed"),
        (sums.standing, "is billed whatever happens: smallest sizes"),
        (sums.exposure, "is what it can come to: largest sizes"),
    )
    for amount, meaning in rows:
        if amount is not None:
            yield f"{style(f'{amount:>12,} USD per month', 'strong')}  {meaning}"
    yield from _spend(result)
    if any(amount is not None for amount, _ in rows) or result.spend is not None:
        yield ""


def _spend(result: Audit) -> Iterator[str]:
    """What all pools together cost at their smallest, and can come to at their largest size."""
    spend = result.spend
    if spend is None:
        return
    pools = _count(len(spend.pools), "GPU pool")
    standing = usd_hour(spend.standing.micro_usd_per_hour or 0)
    if spend.exposure.is_bounded:
        reachable = f"at most {usd_hour(spend.exposure.micro_usd_per_hour or 0)}"
    else:
        reachable = f"no bound: {'; '.join(spend.exposure.causes)}"
    yield f"{pools}: {standing} at the smallest size, {reachable}"


def _summary(result: Audit, style: Style) -> str:
    errors = sum(one.is_mandatory for one in result.findings)
    warnings = len(result.findings) - errors
    objects = sum(file.objects for file in result.files)
    found = [
        style(_count(errors, "error"), "error") if errors else "no errors",
        style(_count(warnings, "warning"), "warning") if warnings else "no warnings",
    ]
    text = (
        f"{', '.join(found)} in {_count(objects, 'object')} of {_count(len(result.files), 'file')}"
    )
    if waived := len(result.waived) - len(result.known):
        text += f"; {_count(waived, 'finding')} waived"
    if result.known:
        text += f"; {_count(len(result.known), 'finding')} of the baseline not counted"
    if result.unread:
        text += f"; {_count(len(result.unread), 'file')} not read"
    return text


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
