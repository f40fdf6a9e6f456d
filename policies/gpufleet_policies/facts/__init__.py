"""What rules judge: plain frozen data, every field a value, absent or unknown."""

from gpufleet_policies.facts.fleet import FleetFacts, PoolFacts, ShareFacts
from gpufleet_policies.facts.intent import Intent
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.tristate import (
    UNKNOWN,
    Fact,
    Provenance,
    State,
    absent,
    known,
    unknown,
)
from gpufleet_policies.facts.workload import Amount, Container, PodGroup, Workload

__all__ = [
    "UNKNOWN",
    "Amount",
    "Container",
    "Fact",
    "FleetFacts",
    "Intent",
    "Locator",
    "PodGroup",
    "PoolFacts",
    "Provenance",
    "ShareFacts",
    "State",
    "Workload",
    "absent",
    "known",
    "unknown",
]
