"""The model of a cluster, declared or observed: frozen data; fields are known, absent or unknown.

`compile` builds it from a declaration; the readers of the audit build it from documents and dumps.
"""

from gpufleet.cluster.claims import DeviceClaim
from gpufleet.cluster.container import Amount, Container
from gpufleet.cluster.fact import (
    UNKNOWN,
    Fact,
    absent,
    known,
    unknown,
)
from gpufleet.cluster.fleet import FleetFacts, PoolFacts, UncompiledFleet
from gpufleet.cluster.intent import WorkloadIntent
from gpufleet.cluster.pods import PodGroup
from gpufleet.cluster.scaling import Autoscaler, ScalingFacts
from gpufleet.cluster.surroundings import Surroundings
from gpufleet.cluster.workload import WorkloadFacts
from gpufleet.findings.finding import Provenance
from gpufleet.findings.locator import Locator

__all__ = [
    "UNKNOWN",
    "Amount",
    "Autoscaler",
    "Container",
    "DeviceClaim",
    "Fact",
    "FleetFacts",
    "Locator",
    "PodGroup",
    "PoolFacts",
    "Provenance",
    "ScalingFacts",
    "Surroundings",
    "UncompiledFleet",
    "WorkloadFacts",
    "WorkloadIntent",
    "absent",
    "known",
    "unknown",
]
