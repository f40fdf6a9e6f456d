"""Machines of OpenShift on vSphere: clones of a template that has the GPU.

Format, read 2026-11-22: openshift/api `machine/v1beta1` (VSphereMachineProviderSpec).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.findings import Finding, error
from gpufleet.fleet.model import Pool
from gpufleet.platforms.openshift.machine_cloud import (
    API_VERSION,
    MANIFEST,
    USER_DATA,
    ClusterPlace,
    MachineCloud,
)
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift import OpenShiftOptions
from gpufleet.spec.platforms.vsphere import Attachment
from gpufleet.spec.pool import GpuPool

KIND = "VSphereMachineProviderSpec"
CREDENTIALS = "vsphere-cloud-credentials"
"""Name of the Secret with the vCenter's credentials, in every cluster on vSphere."""


@dataclass(frozen=True, slots=True)
class MachinePlace(ClusterPlace):
    """The cluster's place on its vCenter."""

    infrastructure: Any
    server: Any
    datacenter: Any
    network: Any
    datastore: Any = None
    folder: Any = None
    resource_pool: Any = None
    credentials: Any = CREDENTIALS
    """Name of the Secret with the vCenter's credentials."""
    user_data: Any = USER_DATA
    """Name of the Secret with the workers' Ignition."""

    def provider(self, pool: Pool, zone: str | None) -> MANIFEST:
        options = vsphere_options(pool)
        workspace = {
            "server": self.server,
            "datacenter": self.datacenter,
            "datastore": options.datastore or self.datastore,
            "folder": options.folder or self.folder,
            "resourcePool": self.resource_pool,
        }
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            **vsphere_machine(pool),
            "credentialsSecret": {"name": self.credentials},
            "userDataSecret": {"name": self.user_data},
            "network": {"devices": [{"networkName": self.network}]},
            "snapshot": "",
            "workspace": {key: value for key, value in workspace.items() if value is not None},
        }


OPEN_PLACE = MachinePlace(
    infrastructure="${INFRASTRUCTURE_NAME}",
    server="${VCENTER}",
    datacenter="${DATACENTER}",
    network="${NETWORK}",
    datastore="${DATASTORE}",
    folder="${FOLDER}",
    resource_pool="${RESOURCE_POOL}",
)
"""Placeholders for values that only the cluster has. `envsubst` and Flux fill them in. An API
server refuses a file that still contains one."""


class OnVsphere(MachineCloud):
    """One place, no zones."""

    provider_kind = KIND
    zonal = False
    connection = "openshift"
    place_missing = (
        (
            "pools on OpenShift need the cluster's place on its vCenter: infrastructureName, "
            "server, datacenter, network"
        ),
        "pass it besides the spec, with the values of an existing MachineSet",
    )

    def options(self, pool: GpuPool) -> OpenShiftOptions | None:
        return pool.openshift

    def machine(self, pool: Pool) -> MANIFEST:
        return vsphere_machine(pool)

    def place(self, connection: Mapping[str, Any], spec: FleetSpec) -> MachinePlace:
        return MachinePlace(
            infrastructure=connection["infrastructureName"],
            server=connection["server"],
            datacenter=connection["datacenter"],
            network=connection["network"],
            datastore=connection.get("datastore"),
            folder=connection.get("folder"),
            resource_pool=connection.get("resourcePool"),
            credentials=connection.get("credentialsSecret", CREDENTIALS),
            user_data=connection.get("userDataSecret", USER_DATA),
        )

    def open_place(self, spec: FleetSpec) -> MachinePlace:
        return OPEN_PLACE

    def validate_pool(self, pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
        if pool.spec.zones:
            yield error(
                "openshift-zones",
                f"{pool.path}.zones",
                "machines of a MachineSet are in one place, which the connection names",
                "remove zones; a pool for each failure domain has its own datastore and folder",
                found=list(pool.spec.zones),
            )
        if pool.spec.openshift is not None:
            yield from _attachment(pool, pool.spec.openshift, f"{pool.path}.openshift")

    def validate_place(
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
            yield error(
                "openshift-folder-not-absolute",
                where,
                f"{folder!r} is not below /{datacenter}/vm/, and the machine API takes absolute "
                "paths",
                f"write /{datacenter}/vm/{folder.strip('/').rsplit('/', 1)[-1]}",
                found=folder,
            )


def vsphere_options(pool: Pool) -> OpenShiftOptions:
    """The pool's `openshift` section.

    Raises:
        ValueError: it has none, so that nothing can be made of it.
    """
    if pool.spec.openshift is None:
        raise ValueError(f"pool {pool.name} has no openshift section")
    return pool.spec.openshift


def vsphere_machine(pool: Pool) -> MANIFEST:
    """What the pool declares of a machine."""
    options = vsphere_options(pool)
    return {
        "numCPUs": options.cpus,
        **(
            {"numCoresPerSocket": options.cores_per_socket}
            if options.cores_per_socket is not None
            else {}
        ),
        "memoryMiB": options.memory_gib * 1024,
        "diskGiB": pool.spec.disk.size_gib,
        "template": options.template,
        **({"tagIDs": list(options.tag_ids)} if options.tag_ids else {}),
    }


def _attachment(pool: Pool, options: OpenShiftOptions, place: str) -> Iterable[Finding]:
    by_profile = options.attachment is Attachment.VGPU
    if by_profile != (pool.spec.sharing.vgpu is not None):
        yield error(
            "vgpu-attachment-and-sharing-disagree",
            f"{place}.attachment",
            f"attachment is {options.attachment.value} and sharing is {pool.spec.sharing.mode}",
            "`attachment: vgpu` and `sharing: {vgpu: {profile: ...}}` go together",
        )
    if options.attachment is Attachment.PASSTHROUGH and pool.nodes.maximum > 1:
        yield error(
            "openshift-passthrough-one-machine",
            f"{pool.path}.nodes.max",
            f"{pool.nodes.maximum} machines from a template that names one PCI device of one host:"
            " only the first would start",
            "write `attachment: dynamicDirectPath` and such a template, or nodes.max: 1",
            found=pool.nodes.maximum,
            limit=1,
        )
