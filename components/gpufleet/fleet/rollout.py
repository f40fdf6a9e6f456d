"""Rollout: order in which the nodes of a pool are replaced, and by which program."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rollout:
    """The order, as far as the declaration decides it."""

    who: str
    """Program that replaces or restarts the nodes."""
    at_once: int | None
    """Number of nodes that are unavailable at the same time; None: all of them."""
    before: int | None = 0
    """New nodes before the first old one is removed; None: one for each removed node."""
    note: str = ""
    """Other conditions."""
