"""One rendered file: where it belongs and what it is for."""

from dataclasses import dataclass
from enum import StrEnum


class ArtefactKind(StrEnum):
    """What is done with a file."""

    MANIFEST = "manifest"
    """Applied to the cluster."""
    VALUES = "values"
    """Given to a Helm chart."""
    CONFIG = "config"
    """Configuration of an NVIDIA program, as the program reads it; a manifest holds it too."""
    ARGUMENTS = "arguments"
    """Arguments of a cloud resource."""
    SNIPPET = "snippet"
    """For the user to paste into a pod template."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """One file."""

    path: str
    """Relative, with `/`; made of the pool's name and nothing that changes with a layout."""
    kind: ArtefactKind
    purpose: str
    """What it is for, in one line."""
    text: str
