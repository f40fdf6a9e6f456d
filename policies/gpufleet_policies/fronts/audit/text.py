"""The audit as text: the costliest object first, its cost, and how to keep a finding."""

from collections.abc import Callable, Iterator, Sequence

from gpufleet.findings import Finding
from gpufleet.findings.money import usd_hour
from gpufleet.messages import counted, one_line
from gpufleet_policies.fronts.audit import unjudged
from gpufleet_policies.fronts.audit.node_use import free_usd_per_month
from gpufleet_policies.fronts.audit.patches import offered
from gpufleet_policies.fronts.audit.ranked import ranked
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.money.attribution import totals

Style = Callable[[str, str], str]
"""Text and one of `error`, `warning`, `strong`, `faint` -> text as the terminal shows it."""

_INDENT = " " * 8
MOST_WAIVED = 30
"""Waived findings that are listed; a baseline can have thousands."""
_MOST_NODES = 20
"""Nodes that are listed; --format json has all."""
_TEMPLATE_HINT = "render it first for a full verdict: helm template . | gpufleet audit -"
_KEEP = (
    'Keep a finding for a while: annotate its object gpufleet.dev/ignore-<rule>: "<reason>; '
    'until=YYYY-MM-DD", write a comment `# gpufleet:ignore RULE reason=... until=YYYY-MM-DD` above '
    "the field, or list it under `exceptions` of the settings. `gpufleet policies explain RULE` "
    "says more."
)


def as_text(
    result: Audit, style: Style, width: int | None = 80, *, verbose: bool = False, top: int = 0
) -> Iterator[str]:
    """Line by line; `width` None wraps nothing, as for a file or another program.

    `verbose` lists everything that was not validated; `top` is the number of listed objects,
    the costliest first, 0 for all.
    """
    objects = ranked(result.findings)
    shown = objects[:top] if top else objects
    file = ""
    for at, one in enumerate(shown):
        if one.file != file:
            if at:
                yield ""
            file = one.file
            yield style("standard input" if file == "-" else one_line(file), "strong")
        for found in one.findings:
            yield from _finding(found, style, width)
    if shown:
        yield ""
    if len(shown) < len(objects):
        rest = objects[len(shown) :]
        findings = sum(len(one.findings) for one in rest)
        yield f"{counted(findings, 'more finding')} about {counted(len(rest), 'object')}: --top 0"
        yield ""
    for line in (*_nodes(result, style), *_money(result, style)):
        yield from _wrapped(line, width, "")
    if any(one.annotation for one in result.findings):
        yield from _wrapped(_KEEP, width, "")
        yield ""
    for line in (*uncounted_lines(result, style, verbose=verbose), summary(result, style)):
        yield from _wrapped(line, width, "")


def uncounted_lines(result: Audit, style: Style, *, verbose: bool) -> Iterator[str]:
    """A line for everything that is waived, not read, or not or only in part validated."""
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


def waived_lines(waived: Sequence[Finding], style: Style) -> Iterator[str]:
    """A line for each finding that does not count, up to MOST_WAIVED."""
    for one in waived[:MOST_WAIVED]:
        place = f"{one_line(one.file)}:{one.line} {one.code} {one.locator}"
        yield f"{style('waived', 'faint')} {place}: {one.waiver}"
    if len(waived) > MOST_WAIVED:
        yield f"waived: {len(waived) - MOST_WAIVED:,} more; --format json lists all"


def _finding(one: Finding, style: Style, width: int | None) -> Iterator[str]:
    level = "error" if one.is_mandatory else "warning"
    place = f"{one.locator}" + (f", {one.path}" if one.path else "")
    head = f"  {one.line:>5}  {level}  {one.code}"
    if width is None or len(head) + 2 + len(place) <= width:
        yield f"  {one.line:>5}  {style(level, level)}  {style(one.code, 'strong')}  {place}"
    else:
        yield f"  {one.line:>5}  {style(level, level)}  {style(one.code, 'strong')}"
        yield from _wrapped(place, width)
    yield from _wrapped(one.message, width)
    if one.fix:
        yield from _wrapped(f"instead: {one.fix}", width)
    if one.money is not None:
        yield from _wrapped(f"it {one.money}", width)
    if offered(one):
        yield from _wrapped("`gpufleet audit --patch` has the change", width)


def _wrapped(text: str, width: int | None, indent: str = _INDENT) -> list[str]:
    if width is None or len(indent + text) <= width:
        return [indent + text]
    import textwrap  # only a terminal needs it

    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _nodes(result: Audit, style: Style) -> Iterator[str]:
    """Nodes with units that no pod requests."""
    free = [row for row in result.nodes if row.free]
    for row in free[:_MOST_NODES]:
        kind = f" ({row.instance_type})" if row.instance_type else ""
        cost = "" if row.usd_per_month is None else f", {row.usd_per_month:,} USD per month"
        yield (
            f"{style('node', 'warning')} {one_line(row.node)}{kind}: {row.free} of "
            f"{row.allocatable} {row.resource} are requested by no pod{cost}"
        )
    if len(free) > _MOST_NODES:
        yield f"and {len(free) - _MOST_NODES:,} more nodes: --format json lists all"
    if free:
        yield ""


def sums_of(result: Audit) -> list[tuple[int, str]]:
    """The sums of a report that are known, in USD per month, and what each of them is."""
    sums = totals(result.findings, result.spend)
    rows = (
        (sums.waste, "is saved when the findings are fixed"),
        (free_usd_per_month(result.nodes), "is paid for GPUs of nodes that no pod requests"),
        (sums.standing, "is billed in any case: minimum sizes"),
        (sums.exposure, "is the maximum: maximum sizes"),
    )
    return [(amount, meaning) for amount, meaning in rows if amount is not None]


def _money(result: Audit, style: Style) -> Iterator[str]:
    rows = sums_of(result)
    for amount, meaning in rows:
        yield f"{style(f'{amount:>12,} USD per month', 'strong')}  {meaning}"
    yield from _spend(result)
    if rows or result.spend is not None:
        yield ""


def _spend(result: Audit) -> Iterator[str]:
    """Cost of all pools together at minimum and at maximum size."""
    spend = result.spend
    if spend is None:
        return
    pools = counted(len(spend.pools), "GPU pool")
    standing = usd_hour(spend.standing.micro_usd_per_hour or 0)
    if spend.exposure.is_bounded:
        reachable = f"at most {usd_hour(spend.exposure.micro_usd_per_hour or 0)}"
    else:
        reachable = f"no bound: {'; '.join(spend.exposure.causes)}"
    yield f"{pools}: {standing} at the minimum size, {reachable}"


def summary(result: Audit, style: Style) -> str:
    """Numbers of errors, warnings, objects and files in one line."""
    errors = sum(one.is_mandatory for one in result.findings)
    warnings = len(result.findings) - errors
    objects = sum(file.objects for file in result.files)
    found = [
        style(counted(errors, "error"), "error") if errors else "no errors",
        style(counted(warnings, "warning"), "warning") if warnings else "no warnings",
    ]
    files = counted(len(result.files), "file")
    text = f"{', '.join(found)} in {counted(objects, 'object')} of {files}"
    if waived := len(result.waived) - len(result.known):
        text += f"; {counted(waived, 'finding')} waived"
    if result.known:
        text += f"; {counted(len(result.known), 'finding')} of the baseline not counted"
    if result.unread:
        text += f"; {counted(len(result.unread), 'file')} not read"
    return text
