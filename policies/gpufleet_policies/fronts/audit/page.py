"""The audit as one HTML page: sums, the costliest objects, nodes."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from gpufleet.findings import Finding
from gpufleet.messages import marked, one_line
from gpufleet_policies.fronts.audit.ranked import RankedObject, ranked
from gpufleet_policies.fronts.audit.run import Audit
from gpufleet_policies.fronts.audit.text import counted, sums_of

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def as_page(result: Audit, top: int = 0) -> str:
    """One page without scripts and without anything from another machine."""
    return "\n".join(_lines(result, top)) + "\n"


def _lines(result: Audit, top: int) -> Iterator[str]:
    objects = ranked(result.findings)
    shown = objects[:top] if top else objects
    errors = sum(one.is_mandatory for one in result.findings)
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield f"<title>GPU audit</title><style>{_STYLE}</style></head><body>"
    yield "<h1>GPU audit</h1>"
    yield "<table>"
    for amount, meaning in sums_of(result):
        yield f'<tr><td class="n">{amount:,} USD per month</td><td>{meaning}</td></tr>'
    yield "</table>"
    yield (
        f"<p>{counted(errors, 'error')} and {counted(len(result.findings) - errors, 'warning')} "
        f"about {counted(len(objects), 'object')} in {counted(len(result.files), 'file')}; "
        f"{counted(len(result.waived), 'finding')} waived; "
        f"{counted(len(result.not_judged), 'thing')} not validated.</p>"
    )
    yield "<h2>Costliest first</h2><table>"
    yield '<tr><th class="n">USD per month</th><th>What</th></tr>'
    for one in shown:
        yield _row(one)
    yield "</table>"
    if len(shown) < len(objects):
        yield f"<p>{len(objects) - len(shown):,} more objects are not shown.</p>"
    yield from _nodes(result)
    yield from _waived(result)
    yield "</body></html>"


def _row(one: RankedObject) -> str:
    dearest = one.dearest()
    amount = "" if dearest is None else f"{dearest[0]:,}<br>{dearest[1].value}"
    place = _text(f"{one.file}:{one.findings[0].line}")
    parts = "".join(_finding(found) for found in one.findings)
    return (
        f'<tr><td class="n">{amount}</td><td><strong>{_text(one.object)}</strong> '
        f'<span class="where">{place}</span>{parts}</td></tr>'
    )


def _finding(one: Finding) -> str:
    level = "error" if one.is_mandatory else "advice"
    fix = f" Instead: {marked(one.fix)}." if one.fix else ""
    return (
        f'<p><span class="{level}">{level}</span> {marked(one.statement)}.{fix} '
        f'<span class="rule">{_text(one.code)}</span></p>'
    )


def _nodes(result: Audit) -> Iterator[str]:
    if not result.nodes:
        return
    yield "<h2>GPUs of nodes</h2><table><tr><th>Node</th><th>Machine</th><th>Resource</th>"
    yield '<th class="n">There</th><th class="n">Requested</th><th class="n">Free, USD</th></tr>'
    for row in result.nodes:
        cost = "" if row.usd_per_month is None else f"{row.usd_per_month:,}"
        yield (
            f"<tr><td>{_text(row.node)}</td><td>{_text(row.instance_type)}</td>"
            f'<td>{_text(row.resource)}</td><td class="n">{row.allocatable}</td>'
            f'<td class="n">{row.requested}</td><td class="n">{cost}</td></tr>'
        )
    yield "</table>"


def _waived(result: Audit) -> Iterator[str]:
    if not result.waived:
        return
    yield "<h2>Waived</h2><ul>"
    for one in result.waived:
        yield f"<li>{_text(one.code)} {_text(str(one.locator))}: {_text(str(one.waiver))}</li>"
    yield "</ul>"


def _text(text: str) -> str:
    return escape(one_line(text))
