"""Differences between machines of OpenShift's machine API on vSphere, AWS and Google Cloud."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpufleet.documents.paths import values_at
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift import OpenShiftMachineOptions
from gpufleet.spec.pool import GpuPool

_finding, _rules = findings_in(__file__), rules_in(__file__)

API_VERSION = "machine.openshift.io/v1beta1"
MANIFEST = dict[str, Any]
USER_DATA = "worker-user-data"
"""Name of the Secret with the workers' Ignition, which every cluster has."""


VCPU_ANNOTATION = "machine.openshift.io/vCPU"
MEMORY_ANNOTATION = "machine.openshift.io/memoryMb"
"""Size of a machine, for the autoscaler. The controllers of AWS and Google write it from the
cloud's data about the type, and require it by hand for a type that they do not know
(openshift/machine-api-provider-aws b83de56 `pkg/actuators/machineset/controller.go`,
openshift/machine-api-provider-gcp 00650f7 `pkg/cloud/gcp/actuators/machineset/controller.go`)."""


MACHINES = Path(__file__).with_name("machines")
"""Data file of machines of every infrastructure."""
MachinePlace = Mapping[str, Any]
"""Location of machines, which only the cluster knows: a connection in the spelling of files,
besides `region` and `tags` of the declaration. Values may be Outputs."""


class MachineCloud(ABC):
    """Infrastructure on which the machine API creates machines. Subclasses hold no state."""

    provider_kind: str
    """Kind of `providerSpec.value`."""
    infrastructure_type: str
    """Type of the cluster's Infrastructure (openshift/api `config/v1`, PlatformType)."""
    zonal: bool = True
    """Whether each MachineSet creates machines in one zone; elsewhere a pool may name zones. A pool
    has a MachineSet for each of its zones."""
    connection: str
    """Section of a fleet's connection with the location."""
    where: str
    """Name of the infrastructure, for messages."""
    place_fields: str
    """Required fields of such a connection."""

    @abstractmethod
    def options(self, pool: GpuPool) -> OpenShiftMachineOptions | None:
        """The pool's options; None if machines cannot be created from it."""

    @abstractmethod
    def machine(self, pool: Pool) -> MANIFEST:
        """The fields of `providerSpec.value` from the pool's declaration."""

    def place(self, connection: Mapping[str, Any], spec: FleetSpec) -> MachinePlace:
        """The location in a connection, in the spelling of files."""
        return {**connection, "region": spec.cluster.region or "", "tags": spec.tags}

    @abstractmethod
    def provider(self, place: MachinePlace, pool: Pool, zone: str | None) -> MANIFEST:
        """`providerSpec.value` of the pool's machines, in one zone if it has zones."""

    def connection_of(
        self, infrastructure: str, machines: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """The connection of existing MachineSets of the cluster, in the spelling of files: the
        inverse of `provider`. `machines` are their `providerSpec.value`, at least one."""
        raise NotImplementedError

    def knows_zone(self, connection: Mapping[str, Any], zone: str) -> bool:
        """Whether a connection has the values for machines in a zone."""
        del connection, zone
        return True

    @abstractmethod
    def placeholders(self, spec: FleetSpec) -> dict[str, Any]:
        """A connection with placeholders for values that only the cluster has."""

    def validate_pool(self, pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
        """Errors of a pool by the rules of the machine API."""
        return ()

    def validate_fleet(self, spec: FleetSpec) -> Iterable[Finding]:
        """Errors of all machines together."""
        return ()

    def validate_place(
        self, pool: Pool, connection: Mapping[str, Any], path: str
    ) -> Iterable[Finding]:
        """Errors of the connection at a path, as far as its values are known."""
        return ()

    def capacity(self, pool: Pool) -> Mapping[str, str]:
        """Annotations with CPU and memory of a machine, besides those of every set, as far as its
        type is known."""
        machine = pool.machines[0]
        memory = None if machine.memory_bytes is None else machine.memory_bytes >> 20
        found = {VCPU_ANNOTATION: machine.vcpu, MEMORY_ANNOTATION: memory}
        return {key: str(value) for key, value in found.items() if value is not None}


def first_at(machine: Mapping[str, Any], paths: Mapping[str, str]) -> dict[str, Any]:
    """Field of a connection -> the first value at its path in a machine; None: there is none."""
    return {
        key: next((value for _, value in values_at(machine, path)), None)
        for key, path in paths.items()
    }


def named_zones(pool: GpuPool) -> tuple[str, ...]:
    """Zones in a declaration: those of its reservations, else its own."""
    bought = (entry.capacity_block or entry.reserved for entry in pool.capacity)
    reserved = [one.zone for one in bought if one is not None and one.zone is not None]
    return tuple(dict.fromkeys(reserved or pool.zones))


def validate_zonal_pool(pool: Pool, example: str | None) -> Iterable[Finding]:
    """Requirements of a MachineSet for each zone, in zones of a cloud and failure domains of
    vSphere: zones, machine type; `example` is a zone of the region, None if none is needed."""
    zones = named_zones(pool.spec)
    yield from _rules("zonal", pool.path, pool=pool, zones=zones, example=example)
    if len(set(pool.spec.zones)) < len(pool.spec.zones):
        yield _finding("openshift-zone-twice", pool.path, found=pool.spec.zones)
