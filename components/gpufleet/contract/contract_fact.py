"""One link of the chain of reasons of a finding."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContractFact:
    """One link of a chain: what is so, and who says it."""

    fact: str
    source: str
    """Where it can be read: a path of the declaration, a row of the catalogue, a public project."""
