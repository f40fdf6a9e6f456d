"""One link in the chain of reasons of a finding, and the chain as evidence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContractFact:
    """One link of a chain: a fact and its source."""

    fact: str
    source: str
    """A path of the declaration, a row of the catalogue, a public project."""


def chain(*facts: ContractFact | None) -> list[dict[str, str]]:
    """The evidence of a finding: its facts in order, each leading to the next."""
    return [{"fact": one.fact, "source": one.source} for one in facts if one is not None]


def image_fact(pool: str, image: str, brings: frozenset[str]) -> ContractFact:
    """The parts of an image, by its key in the catalogue, on the nodes of a pool."""
    named = {"driver": "driver", "toolkit": "toolkit", "device plugin": "device_plugin"}
    has = ", ".join(word for word, part in named.items() if part in brings)
    return ContractFact(
        f"{pool} runs image {image}, which brings {has or 'no part of the GPU stack'}",
        f"catalogue image {image}",
    )


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the contract."""

    part: str
    """Its subject: `advertised`, `found by`, ..."""
    who: str
    facts: tuple[ContractFact, ...]
