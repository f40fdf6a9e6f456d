"""Provenance: how well a value is known."""

from enum import IntEnum


class Provenance(IntEnum):
    """How well a value is known, weakest first: rules compare it with what they need."""

    DEFAULT = 0
    """Nothing names it: a documented default, or the pinned release of the catalogue."""
    INFERRED = 1
    """Read out of a model's name, an image, a command line."""
    EXPLICIT = 2
    """A field of the object itself."""
    DECLARED = 3
    """Declared on purpose: an annotation, an argument of a component, a plan."""
