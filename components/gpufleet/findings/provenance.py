"""Provenance: how reliable a value is."""

from enum import IntEnum


class Provenance(IntEnum):
    """How reliable a value is, weakest first: rules compare it with their requirement."""

    DEFAULT = 0
    """No source names it: a documented default, or the pinned release of the catalogue."""
    INFERRED = 1
    """Inferred from a model's name, an image, a command line."""
    EXPLICIT = 2
    """A field of the object itself."""
    DECLARED = 3
    """Declared on purpose: an annotation, an argument of a component, a plan."""
