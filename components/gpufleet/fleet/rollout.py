"""Rollout: in which order the nodes of a pool are replaced, by the one who does it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rollout:
    """The order, as far as the declaration decides it."""

    who: str
    """Who replaces or restarts the nodes."""
    at_once: int | None
    """Nodes that are away at the same time; None: all of them."""
    before: int | None = 0
    """New nodes that are there before the first old one goes; None: one for each that goes."""
    note: str = ""
    """What else decides it."""
