"""Machines of OpenShift on vSphere: clones of a template that has the GPU.

Format: openshift/api bfa868a `machine/v1beta1` (VSphereMachineProviderSpec). A MachineSet cannot
name a failure domain of the cluster's Infrastructure, which only a ControlPlaneMachineSet does
(`machine/v1` VSphereFailureDomain): it has the domain's location, network and group of virtual
machines. How the controller handles adapters, disks and addresses: openshift/machine-api-operator
b2522f6 `pkg/controller/vsphere/reconciler.go`. Both read 2026-11-23.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_cloud import (
    API_VERSION,
    MACHINES,
    MANIFEST,
    USER_DATA,
    MachineCloud,
    MachinePlace,
    named_zones,
    validate_zonal_pool,
)
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift import MachineRollout, OpenShiftNetwork, OpenShiftOptions
from gpufleet.spec.platforms.vsphere_devices import DiskFormat
from gpufleet.spec.pool import GpuPool

_rules = rules_in(__file__)

KIND = "VSphereMachineProviderSpec"
CREDENTIALS = "vsphere-cloud-credentials"
"""Name of the Secret with the vCenter's credentials, in every cluster on vSphere."""
PROVISIONING = {
    DiskFormat.THIN: "Thin",
    DiskFormat.THICK: "Thick",
    DiskFormat.EAGER_ZEROED: "EagerlyZeroed",
}


class OnVsphere(MachineCloud):
    """One location, or one for each failure domain that a pool names as its zone."""

    infrastructure_type = "VSphere"
    provider_kind = KIND
    zonal = False
    connection = "openshift"
    where = "its vCenter"
    place_fields = "infrastructureName, server, datacenter, network"

    def options(self, pool: GpuPool) -> OpenShiftOptions | None:
        return pool.openshift

    def machine(self, pool: Pool) -> MANIFEST:
        return vsphere_machine(pool)

    def provider(self, place: MachinePlace, pool: Pool, zone: str | None) -> MANIFEST:
        if zone is not None:
            place = {**place, **place["failureDomains"][zone]}
        options = vsphere_options(pool)
        around = data_part(
            MACHINES,
            "vsphereCluster",
            credentials=place.get("credentialsSecret", CREDENTIALS),
            user_data=place.get("userDataSecret", USER_DATA),
            server=place["server"],
            datacenter=place["datacenter"],
            datastore=options.datastore or place.get("datastore"),
            folder=options.folder or place.get("folder"),
            pool=place.get("resourcePool"),
            group=place.get("vmGroup"),
        )
        network = {"devices": [{"networkName": place["network"]}]}
        head = {"apiVersion": API_VERSION, "kind": KIND, "network": network}
        return {**head, **vsphere_machine(pool), **around}

    def capacity(self, pool: Pool) -> Mapping[str, str]:
        return {}  # the machine API writes them from `numCPUs` and `memoryMiB`

    def placeholders(self, spec: FleetSpec) -> dict[str, Any]:
        zones = sorted({zone for pool in spec.pools for zone in named_zones(pool)})
        return {
            "infrastructureName": "${INFRASTRUCTURE_NAME}",
            **_placeholders(""),
            "failureDomains": {zone: _placeholders(zone) for zone in zones},
        }

    def validate_pool(self, pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
        yield from validate_zonal_pool(pool, None)
        if pool.spec.openshift is not None:
            yield from _rules("vsphere", pool.path, pool=pool, options=pool.spec.openshift)
            yield from _addresses(pool, pool.spec.openshift, f"{pool.path}.openshift.networks")

    def validate_place(
        self, pool: Pool, connection: Mapping[str, Any], path: str
    ) -> Iterable[Finding]:
        domains = mapping(connection.get("failureDomains"))
        for zone in named_zones(pool.spec):
            if zone in domains:
                one = {**connection, **mapping(domains[zone])}
                yield from self._validate_folder(pool, one, f"{path}.failureDomains.{zone}")
            else:
                known = {"zone": zone, "domains": domains, "shown": ", ".join(domains) or "none"}
                yield from _rules("failure-domain", path, pool=pool, **known)
        if not pool.spec.zones:
            yield from self._validate_folder(pool, connection, path)

    def _validate_folder(
        self, pool: Pool, connection: Mapping[str, Any], path: str
    ) -> Iterable[Finding]:
        datacenter = connection.get("datacenter")
        own = None if pool.spec.openshift is None else pool.spec.openshift.folder
        folder, where = connection.get("folder"), f"{path}.folder"
        if own is not None:
            folder, where = own, f"{pool.path}.openshift.folder"
        if not isinstance(folder, str) or not isinstance(datacenter, str):
            return
        if not folder.startswith(f"/{datacenter}/vm/"):
            last = folder.strip("/").rsplit("/", 1)[-1]
            yield from _rules("folder", where, folder=folder, datacenter=datacenter, last=last)


def vsphere_options(pool: Pool) -> OpenShiftOptions:
    """The pool's `openshift` section.

    Raises:
        ValueError: it has none, so that nothing can be created from it.
    """
    if pool.spec.openshift is None:
        raise ValueError(f"pool {pool.name} has no openshift section")
    return pool.spec.openshift


def vsphere_machine(pool: Pool) -> MANIFEST:
    """The machine in the pool's declaration."""
    options = vsphere_options(pool)
    disks = [
        {
            "name": disk.name,
            "sizeGiB": disk.size_gib,
            **({"provisioningMode": PROVISIONING[disk.format]} if disk.format else {}),
        }
        for disk in options.extra_disks
    ]
    devices = [_device(one) for one in options.networks]
    declared = {
        "numCPUs": options.cpus,
        "numCoresPerSocket": options.cores_per_socket,
        "memoryMiB": options.memory_gib * 1024,
        "diskGiB": pool.spec.disk.size_gib,
        "template": options.template,
        "tagIDs": list(options.tag_ids),
        "dataDisks": disks,
        "network": {"devices": devices} if devices else None,
    }
    return {key: value for key, value in declared.items() if value}


def _device(adapter: OpenShiftNetwork) -> MANIFEST:
    given = adapter.addresses
    addresses = (
        {}
        if given is None
        else {
            "addressesFromPools": [pool.model_dump() for pool in given.pools],
            "ipAddrs": list(given.fixed),
            "gateway": given.gateway,
            "nameservers": list(given.nameservers),
        }
    )
    return {"networkName": adapter.network, **{k: v for k, v in addresses.items() if v}}


def _placeholders(domain: str) -> dict[str, str]:
    end = f"_{domain.upper().replace('-', '_')}" if domain else ""
    return data_part(MACHINES, "vspherePlaceholders", end=end)


def _addresses(pool: Pool, options: OpenShiftOptions, place: str) -> Iterable[Finding]:
    given = [(index, one.addresses) for index, one in enumerate(options.networks) if one.addresses]
    most = pool.nodes.maximum + (options.rollout is MachineRollout.SURGE)
    for index, addresses in given:
        if addresses.fixed and most > 1:
            where = f"{place}[{index}].addresses"
            yield from _rules("fixed", where, addresses=addresses, maximum=most)
    if given and len(options.networks) > 1:
        yield from _rules("adapters", f"{place}[{given[0][0]}]", options=options)
