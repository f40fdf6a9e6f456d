"""Documents and objects that an audit did not validate, with reason, place and count."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from gpufleet.cluster.release_values import steps_of
from gpufleet.messages import message, one_line
from gpufleet_policies.resolve.written_lines import Located
from gpufleet_policies.wrappers.judged import NotJudged, Unjudged

with Path(__file__).with_suffix(".csv").open(newline="", encoding="utf-8") as _file:
    KINDS = {row["what"]: (row["one"], row["several"]) for row in csv.DictReader(_file)}
"""Kind of reason -> what one such thing, and several, are called."""

_SHOWN = 4


def left_out(fact: NotJudged, document: Located, file: str) -> Unjudged:
    """A part that a reader skipped, with its line."""
    line = max(document.line, 1)
    if fact.place:
        line = document.located(steps_of(fact.place))[1]
    place = f", {fact.place}" if fact.place else ""
    return Unjudged(file, line, f"{fact.locator}{place}", fact.what, message(fact.reason))


def lines(
    found: Sequence[Unjudged], style: Callable[[str, str], str], *, verbose: bool
) -> Iterator[str]:
    """For people: a line for each kind of reason, or for each thing."""
    if verbose:
        for one in found:
            at = one_line(f"{one.file}:{one.line}" if one.line else one.file)
            yield f"{style('not validated', 'warning')} {at} {one.object}: {one.reason}"
        return
    for what, number in Counter(one.what for one in found).items():
        names = dict.fromkeys(_short(one) for one in found if one.what == what)
        shown = ", ".join(list(names)[:_SHOWN])
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        noun = KINDS[what][number != 1]
        yield f"{style('not validated', 'faint')} {number:,} {noun}: {shown}{more}"
    if found:
        yield "`--verbose` lists what is not validated; `--require-judged` fails on it."


def _short(one: Unjudged) -> str:
    if one.what in ("file", "template", "patch") or not one.object:
        return one_line(one.file)
    if one.what in ("kind", "chart") and one.reason.startswith("no rule reads"):
        return one.reason.rpartition(" ")[2]
    return one.object
