"""The case table: of each rule one object that keeps it and one that breaks exactly one property.

Every front runs the same table, and the documentation shows it. `CASES` are all cases of all
families, in the order of the registry.
"""

from importlib import import_module

from gpufleet_policies.rules.registry import FAMILIES
from tests.policies.cases.case import Case, Thing, fleet_thing, manifest


def _family(name: str) -> tuple[Case, ...]:
    return tuple(import_module(f"tests.policies.cases.{name}").CASES)


CASES: tuple[Case, ...] = tuple(
    case for family in FAMILIES for case in _family(family.__name__.rsplit(".", 1)[-1])
)

__all__ = ["CASES", "Case", "Thing", "fleet_thing", "manifest"]
