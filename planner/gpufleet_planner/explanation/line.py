"""One explained number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpufleet.documents.plain_data import camel, plain_data
from gpufleet.models.ledger import Basis


@dataclass(frozen=True, slots=True)
class ExplanationLine:
    """A number with its formula and where it comes from."""

    topic: str
    """`model`, `memory`, `device`, `speed`, `cost`, `choice`."""
    figure: str
    """What it is: `weights`, `first token`."""
    value: str
    """The number with its unit."""
    formula: str
    """How it comes about, with the numbers that went in; empty: it is read, not computed."""
    basis: Basis
    source: str
    """Where formula or number are from, with repository or edition and date."""


def picked(value: object, *names: str) -> dict[str, Any]:
    """Some attributes as plain data for JSON."""
    return {camel(name): plain_data(getattr(value, name)) for name in names}


def lines_as_list(lines: Sequence[ExplanationLine]) -> list[dict[str, Any]]:
    """Plain data for JSON."""
    return [plain_data(line) for line in lines]


def lines_as_text(lines: Sequence[ExplanationLine], indent: str = "") -> str:
    """For people: one number a line, its formula and its source below it."""
    shown: list[str] = []
    topic = ""
    for line in lines:
        if line.topic != topic:
            topic = line.topic
            shown.append(f"{indent}{topic}")
        shown.append(f"{indent}  {line.figure}: {line.value} ({line.basis.value})")
        if line.formula:
            shown.append(f"{indent}    = {line.formula}")
        shown.append(f"{indent}    from {line.source}")
    return "\n".join(shown)
