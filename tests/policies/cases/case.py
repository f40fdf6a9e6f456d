"""One row of the case table."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster import FleetFacts, Surroundings
from gpufleet.findings import Finding, Level
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.pulumi_props import facts_from_pulumi
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.objects import SPEC, TODAY, changed, summary

FLEET_TYPE = "gpufleet:index:GpuFleet"


@dataclass(frozen=True)
class Thing:
    """A Pulumi resource: its type token and what the program gives it."""

    type: str
    properties: dict[str, Any] = field(hash=False)
    name: str = "thing"
    declaration: dict[str, Any] | None = field(default=None, hash=False)
    """The author's object, if the properties are derived from it."""

    @property
    def is_manifest(self) -> bool:
        """Whether the properties are a Kubernetes object, which can be in a file as well."""
        return self.type.startswith("kubernetes:") and "apiVersion" in self.properties

    @cached_property
    def all_facts(self) -> tuple[Any, ...]:
        """The thing as rules receive it."""
        urn = f"urn:pulumi:dev::p::{self.type}::{self.name}"
        return facts_from_pulumi(self.type, self.properties, self.name, urn)

    def facts(self) -> Any:
        """The first of what rules see of it."""
        return next(iter(self.all_facts), None)


def manifest(document: dict[str, Any]) -> Thing:
    """A Kubernetes object as the Kubernetes provider names it."""
    version = document["apiVersion"]
    group = version if "/" in version else f"core/{version}"
    name = document.get("metadata", {}).get("name", "generated")
    return Thing(f"kubernetes:{group}:{document['kind']}", document, name)


def fleet_thing(changes: dict[str, Any] | None = None) -> Thing:
    """The compliant fleet of `objects.SPEC`, with changes."""
    return Thing(FLEET_TYPE, summary(changes), "fleet", changed(SPEC, changes or {}))


FLEET = fleet_thing()
"""Objects next to most workloads."""


@dataclass(frozen=True)
class Case:
    """A rule, an object that keeps it, and the same object with one property that breaks it."""

    rule: str
    good: Thing
    bad: Thing
    says: str
    """Part of the message about the bad object."""
    level: Level = Level.MANDATORY
    """Level of the finding, under `settings`."""
    alongside: tuple[Thing, ...] = (FLEET,)
    """Other declarations of the program. A fleet among them is the one that the object runs on."""
    settings: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    """Policy settings; most cases need none: the fleet has environment prod."""

    def __str__(self) -> str:
        return self.rule

    def shown(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The compliant and the offending object, as their author writes them."""
        passes, fails = (
            thing.declaration
            or (
                thing.properties
                if thing.is_manifest
                else {"type": thing.type, "properties": thing.properties}
            )
            for thing in (self.good, self.bad)
        )
        return passes, fails

    def message(self) -> str:
        """Message about the bad object."""
        return next(f.text for f in self.of_the_bad if f.code == self.rule)

    @cached_property
    def of_the_bad(self) -> tuple[Finding, ...]:
        """Findings about the bad object, under the settings of the case."""
        return tuple(self.findings(self.bad))

    @cached_property
    def alongside_facts(self) -> tuple[Any, ...]:
        """Facts of the other objects; those without a rule are omitted."""
        return tuple(facts for thing in self.alongside for facts in thing.all_facts)

    def findings(self, thing: Thing, **settings: Any) -> list[Finding]:
        """Findings of the rules about an object in its surroundings."""
        subjects = thing.all_facts
        assert subjects, f"no rule validates {thing.type}"
        chosen = read_settings({**self.settings, **settings})
        everything = (*self.alongside_facts, *subjects)
        fleets = [facts for facts in everything if isinstance(facts, FleetFacts)]
        context = RuleContext(
            today=TODAY,
            load_catalogue=load,
            fleet=fleets[0] if len(fleets) == 1 else None,
            surroundings=Surroundings(everything),
            thresholds=chosen.thresholds,
        )
        return [f for subject in subjects for f in validate(subject, context, chosen)]
