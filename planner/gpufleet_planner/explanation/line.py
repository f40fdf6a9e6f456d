"""One explained number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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


def lines_as_list(lines: Sequence[ExplanationLine]) -> list[dict[str, Any]]:
    """Plain data for JSON."""
    return [
        {
            "topic": line.topic,
            "figure": line.figure,
            "value": line.value,
            "formula": line.formula,
            "basis": line.basis.value,
            "source": line.source,
        }
        for line in lines
    ]


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
