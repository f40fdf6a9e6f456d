"""Unrendered templates as text that YAML can read."""

import re

_TEMPLATE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_CONTROL = re.compile(
    r"\{\{-?\s*(?:/\*|if\b|else\b|end\b|range\b|with\b|define\b|template\b|block\b|\$\w+\s*:?=)"
)
_INDENT = re.compile(r"n?indent\s+(\d+)")
FILLED_IN = "gpufleet-template-value"
"""Is in a text for what a template tool fills in."""
FILLED_IN_KEY = "gpufleet-template-lines"


def without_templates(text: str) -> str:
    """A template's text that YAML can read: control lines go, values become FILLED_IN.

    Lines stay where they are. A line that is nothing but an expression fills in whole lines: what
    it is in reads as UNKNOWN. Both branches of a condition stay, the later one counts.
    """
    lines = _TEMPLATE.sub(_one_line, text).split("\n")
    return "\n".join(_line(line) for line in lines)


def _one_line(match: re.Match[str]) -> str:
    """An expression over several lines, moved to its first; the lines stay as empty ones."""
    found = match[0]
    return found.replace("\n", " ") + "\n" * found.count("\n")


def _line(line: str) -> str:
    if "{{" not in line:
        return line
    bare = _TEMPLATE.sub("", line).strip()
    if bare:
        return _TEMPLATE.sub(lambda m: "" if _CONTROL.match(m[0]) else FILLED_IN, line)
    expressions = [m[0] for m in _TEMPLATE.finditer(line) if not _CONTROL.match(m[0])]
    if not expressions:
        return ""
    indent = _INDENT.search(expressions[0])
    width = int(indent[1]) if indent else len(line) - len(line.lstrip())
    return f"{' ' * min(width, 200)}{FILLED_IN_KEY}: {FILLED_IN}"
