"""The audit as one HTML page: sums, the costliest objects, nodes, and what was not validated."""

from collections.abc import Iterator
from html import escape

from gpufleet.cli.html_parts import document, finding, tiles
from gpufleet.messages import one_line
from gpufleet_policies.fronts.audit.ranked import RankedObject, ranked
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.fronts.audit.text import summary, sums_of, uncounted_lines


def as_page(result: Audit, top: int = 0) -> str:
    """One page without scripts and without anything from another machine."""
    return document("GPU audit", _lines(result, top))


def _lines(result: Audit, top: int) -> Iterator[str]:
    objects = ranked(result.findings)
    shown = objects[:top] if top else objects
    yield "<h1>GPU audit</h1>"
    if result.looked_at:
        yield f'<p class="where">{summary(result, _plain)}</p>'
    else:
        yield "<p><strong>Nothing was validated: no rule reads anything in the input.</strong></p>"
    if sums := sums_of(result):
        yield from tiles(("USD a month", f"{amount:,}", meaning) for amount, meaning in sums)
    for one in shown:
        yield from _object(one)
    if len(shown) < len(objects):
        yield f"<p>{len(objects) - len(shown):,} more objects are not shown.</p>"
    yield from _nodes(result)
    if lines := list(uncounted_lines(result, _plain, verbose=True)):
        yield "<h2>Not counted or not validated</h2><ul>"
        yield from (f"<li>{_text(line)}</li>" for line in lines)
        yield "</ul>"


def _plain(text: str, style: str) -> str:  # noqa: ARG001  # a page has its own styles
    return text


def _object(one: RankedObject) -> Iterator[str]:
    dearest = one.dearest()
    amount = "" if dearest is None else f"{dearest[0]:,} USD a month ({dearest[1].value})"
    yield f"<section><h2>{_text(one.object)}<small>{amount}</small></h2>"
    for found in one.findings:
        level = "error" if found.is_mandatory else "warning"
        place = f"{one.file}:{found.line}"
        yield finding(level, found.code, found.statement, found.fix or "", [place])
    yield "</section>"


def _nodes(result: Audit) -> Iterator[str]:
    if not result.nodes:
        return
    words, numbers = ("Node", "Machine", "Resource"), ("There", "Requested", "Free, USD a month")
    heads = "".join(f"<th>{text}</th>" for text in words)
    heads += "".join(f'<th class="number">{text}</th>' for text in numbers)
    yield f'<h2>GPUs of nodes</h2><div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>'
    for row in result.nodes:
        cost = "" if row.usd_per_month is None else f"{row.usd_per_month:,}"
        amounts = (f"{row.allocatable}", f"{row.requested}", cost)
        texts = zip(words, (row.node, row.instance_type, row.resource), strict=True)
        cells = "".join(f'<td data-label="{name}">{_text(text)}</td>' for name, text in texts)
        cells += "".join(
            f'<td class="number" data-label="{name}">{amount}</td>'
            for name, amount in zip(numbers, amounts, strict=True)
        )
        yield f"<tr>{cells}</tr>"
    yield "</tbody></table></div>"


def _text(text: str) -> str:
    return escape(one_line(text))
