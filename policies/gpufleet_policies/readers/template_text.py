"""Unrendered templates as text that YAML can read."""

import re
from collections.abc import Callable, Iterator

_CONTROL = re.compile(
    r"\{\{-?\s*(?:/\*|if\b|else\b|end\b|range\b|with\b|define\b|template\b|block\b|\$\w+\s*:?=)"
)
_INDENT = re.compile(r"n?indent\s+(\d+)")
FILLED_IN = "gpufleet-template-value"
"""Is in a text for what a template tool fills in."""
FILLED_IN_KEY = "gpufleet-template-lines"


def without_templates(text: str) -> str:
    """A template's text as readable YAML: control lines are removed, expressions become FILLED_IN.

    Line numbers stay. A line that is only an expression fills in whole lines: its parent is read as
    UNKNOWN. Both branches of a condition stay, the later one counts.
    """
    lines = _rewritten(text, _one_line).split("\n")
    return "\n".join(_line(line) for line in lines)


def _expressions(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each expression, up to the first that is not closed.

    A search for the end from every start would take time with the square of the text.
    """
    end = 0
    while (start := text.find("{{", end)) >= 0:
        closed = text.find("}}", start + 2)
        if closed < 0:
            return
        end = closed + 2
        yield start, end


def _rewritten(text: str, write: Callable[[str], str]) -> str:
    """The text with what is written for each expression."""
    parts: list[str] = []
    done = 0
    for start, end in _expressions(text):
        parts += text[done:start], write(text[start:end])
        done = end
    return "".join([*parts, text[done:]])


def _one_line(expression: str) -> str:
    """An expression over several lines, moved to its first; the lines stay as empty ones."""
    return expression.replace("\n", " ") + "\n" * expression.count("\n")


def _value(expression: str) -> str:
    return "" if _CONTROL.match(expression) else FILLED_IN


def _line(line: str) -> str:
    if "{{" not in line:
        return line
    if _rewritten(line, lambda _: "").strip():
        return _rewritten(line, _value)
    expressions = [line[start:end] for start, end in _expressions(line)]
    values = [one for one in expressions if not _CONTROL.match(one)]
    if not values:
        return ""
    indent = _INDENT.search(values[0])
    width = int(indent[1]) if indent else len(line) - len(line.lstrip())
    return f"{' ' * min(width, 200)}{FILLED_IN_KEY}: {FILLED_IN}"
