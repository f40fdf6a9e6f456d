"""What rules validate: plain frozen data, every field a value, absent or unknown."""

from gpufleet_policies.facts.claims import DeviceClaim, DeviceClass, DeviceRequest
from gpufleet_policies.facts.container import Amount, Container, Launch
from gpufleet_policies.facts.fleet import FleetFacts, PoolFacts, ShareFacts, UncompiledFleet
from gpufleet_policies.facts.intent import WorkloadIntent
from gpufleet_policies.facts.locator import Locator
from gpufleet_policies.facts.pods import PodClaim, PodGroup, PodToleration
from gpufleet_policies.facts.scaling import Autoscaler, ScalingFacts
from gpufleet_policies.facts.surroundings import Surroundings
from gpufleet_policies.facts.tristate import (
    UNKNOWN,
    Fact,
    FieldState,
    Provenance,
    absent,
    known,
    unknown,
)
from gpufleet_policies.facts.workload import JobFacts, Ray, WorkloadFacts

__all__ = [
    "UNKNOWN",
    "Amount",
    "Autoscaler",
    "Container",
    "DeviceClaim",
    "DeviceClass",
    "DeviceRequest",
    "Fact",
    "FieldState",
    "FleetFacts",
    "JobFacts",
    "Launch",
    "Locator",
    "PodClaim",
    "PodGroup",
    "PodToleration",
    "PoolFacts",
    "Provenance",
    "Ray",
    "ScalingFacts",
    "ShareFacts",
    "Surroundings",
    "UncompiledFleet",
    "WorkloadFacts",
    "WorkloadIntent",
    "absent",
    "known",
    "unknown",
]
