"""What rules judge: plain frozen data, every field a value, absent or unknown."""

from gpufleet_policies.facts.claims import Claim, DeviceClass, DeviceRequest
from gpufleet_policies.facts.fleet import FleetFacts, PoolFacts, ShareFacts
from gpufleet_policies.facts.intent import Intent
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.scaling import Autoscaler, Scaling
from gpufleet_policies.facts.surroundings import Surroundings
from gpufleet_policies.facts.tristate import (
    UNKNOWN,
    Fact,
    Provenance,
    State,
    absent,
    known,
    unknown,
)
from gpufleet_policies.facts.workload import (
    Amount,
    Container,
    Job,
    Launch,
    PodClaim,
    PodGroup,
    Ray,
    Toleration,
    Workload,
)

__all__ = [
    "UNKNOWN",
    "Amount",
    "Autoscaler",
    "Claim",
    "Container",
    "DeviceClass",
    "DeviceRequest",
    "Fact",
    "FleetFacts",
    "Intent",
    "Job",
    "Launch",
    "Locator",
    "PodClaim",
    "PodGroup",
    "PoolFacts",
    "Provenance",
    "Ray",
    "Scaling",
    "ShareFacts",
    "State",
    "Surroundings",
    "Toleration",
    "Workload",
    "absent",
    "known",
    "unknown",
]
