"""Locator: the object of a finding, as text that a reader can search for."""

from dataclasses import dataclass

from gpufleet.messages import one_line


@dataclass(frozen=True, slots=True)
class Locator:
    """One object, in a program, a file or a cluster."""

    kind: str
    """`Deployment`, `GpuFleet`."""
    name: str
    """Name in the cluster, or the resource name of the program if the cluster generates it."""
    namespace: str = ""
    """Empty for objects without one, or if the provider sets it."""
    urn: str = ""
    """URN of the Pulumi resource; empty elsewhere."""
    file: str = ""
    """File it was read from; empty in a running program."""
    line: int = 0
    """First line of the object in the file, counted from 1; 0: not known."""
    cluster: str = ""
    """Name of the cluster in its GitOps tool, if it is not the cluster of its file."""
    annotated: bool = True
    """Whether it can have annotations; exceptions of other objects are in the settings."""

    def __str__(self) -> str:
        if not self.kind:
            return ""
        where = f"{self.namespace}/" if self.namespace else ""
        return one_line(f"{self.kind} {where}{self.name}")


NO_OBJECT = Locator("", "")
"""For a finding without an object: about a declaration, a file, or the only document."""
