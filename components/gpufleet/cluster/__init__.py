"""The model of a cluster, declared or observed: frozen data; fields are known, absent or unknown.

`compile` builds it from a declaration; the readers of the audit build it from documents and dumps.
"""

from gpufleet.cluster.claims import DeviceClaim, DeviceClass, DeviceRequest
from gpufleet.cluster.container import Amount, Container, Launch
from gpufleet.cluster.fact import (
    UNKNOWN,
    Fact,
    FieldState,
    absent,
    known,
    unknown,
)
from gpufleet.cluster.fleet import FleetFacts, PoolFacts, UncompiledFleet
from gpufleet.cluster.intent import WorkloadIntent
from gpufleet.cluster.pods import PodClaim, PodGroup, PodToleration
from gpufleet.cluster.scaling import Autoscaler, ScalingFacts
from gpufleet.cluster.surroundings import Surroundings
from gpufleet.cluster.workload import JobFacts, Ray, WorkloadFacts
from gpufleet.findings.finding import Provenance
from gpufleet.findings.locator import Locator

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
    "Surroundings",
    "UncompiledFleet",
    "WorkloadFacts",
    "WorkloadIntent",
    "absent",
    "known",
    "unknown",
]
