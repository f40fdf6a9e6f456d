"""One document of a YAML or JSON text, whichever reader read it, and what its scalars stand for."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from gpufleet.documents.go_scalars import UnreadableTextError, scalar
from gpufleet_policies.facts.tristate import UNKNOWN
from gpufleet_policies.readers.plain import SENTINELS
from gpufleet_policies.readers.template_text import FILLED_IN

MAX_BYTES = 4 << 20
"""Largest YAML text that is read. Nodes take about fifty times their text."""
MAX_JSON_BYTES = 128 << 20
"""Largest JSON text that is read: dumps of clusters and states are large."""

STR = "tag:yaml.org,2002:str"
"""Tag of a scalar that is text whatever it says."""


class Written(Protocol):
    """A part of a text."""

    def child(self, step: str | int) -> "tuple[int, Written] | None":
        """Line and place of a part of it; None where that is not written."""
        ...


class Known(ABC):
    """A part of a text that finds the way to what is in it by itself, in one go."""

    @abstractmethod
    def located(self, steps: Sequence[str | int], line: int) -> tuple[int, int]:
        """How many steps are written, and the line of the last of them; `line` is its own."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text."""

    data: Any
    """Plain data; UNKNOWN where a template tool fills something in."""
    line: int
    """Line it starts in, from 1."""
    is_template: bool = False
    """Whether any of it is filled in by a template tool."""
    node: "Written | None" = field(default=None, repr=False, compare=False)
    """Where it is written; None: nobody knows."""

    def member(self, steps: Sequence[str | int], data: Any) -> "Document":
        """A part of it as a document of its own."""
        node = self.node
        for step in steps:
            found = None if node is None else node.child(step)
            node = None if found is None else found[1]
        return Document(data, self.line_of(steps), self.is_template, node)

    def line_of(self, steps: Sequence[str | int]) -> int:
        """The line of a field, or of the nearest thing above it that is written."""
        return self.located(steps)[1]

    def located(self, steps: Sequence[str | int]) -> tuple[int, int]:
        """How many steps of a path are written, and the line of the last of them."""
        node, line = self.node, self.line
        if isinstance(node, Known):
            return node.located(steps, line)
        for depth, step in enumerate(steps):
            found = None if node is None else node.child(step)
            if found is None:
                return depth, line
            line, node = found
        return len(steps), line


def scalar_value(tag: str, text: str, line: int) -> Any:
    """What a scalar stands for; UNKNOWN for what is filled in later.

    Raises UnreadableTextError, with the line, when an explicit tag does not fit the text.
    """
    if FILLED_IN in text or text in SENTINELS:
        return UNKNOWN
    if tag == STR:
        return text
    try:
        return _short_scalar(tag, text) if len(text) < 200 else scalar(tag, text, line)
    except UnreadableTextError as problem:
        raise UnreadableTextError(str(problem).replace("line 0", f"line {line}")) from None


@lru_cache(maxsize=20_000)
def _short_scalar(tag: str, text: str) -> Any:
    """Words of manifests repeat: most scalars are resolved once in a run."""
    value = scalar(tag, text, 0)
    return UNKNOWN if isinstance(value, float) and not math.isfinite(value) else value
