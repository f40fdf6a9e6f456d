"""Locator: which object a finding is about, in words a person can search for."""

from dataclasses import dataclass


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

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"
