"""Locator: the object of a finding, as text that a reader can search for."""

import re
from dataclasses import dataclass

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def one_line(text: str) -> str:
    """A text without control characters: no name of an object writes lines, or colours, of its own
    into a log, where they would be read as commands of a CI system."""
    return text if text.isprintable() else _CONTROL.sub(" ", text)


@dataclass(frozen=True, slots=True)
class Locator:
    """One object, in a program, a file or a cluster."""

    kind: str
    """`Deployment`, `GpuFleet`."""
    name: str
    """Name in the cluster, or the name the program gave it when the cluster's is generated."""
    namespace: str = ""
    """Empty for objects without one, or where the namespace is the provider's."""
    urn: str = ""
    """URN of the Pulumi resource; empty elsewhere."""
    file: str = ""
    """File it was read from; empty in a running program."""
    line: int = 0
    """First line of the object in the file, counted from 1; 0: not known."""
    annotated: bool = True
    """Whether it can carry annotations; what cannot has its exceptions in the settings."""

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return one_line(f"{self.kind} {where}{self.name}")
