"""Machines of OpenShift on Google Cloud: instances of Compute Engine with a GPU.

Formats and limits: openshift/api bfa868a `machine/v1beta1/types_gcpprovider.go`;
openshift/machine-api-provider-gcp 00e1f30 `pkg/cloud/gcp/actuators/machine/reconciler.go` and
00650f7 `machineset/controller.go`; openshift/machine-api-operator 7dc0e85
`pkg/webhooks/machine_webhook.go`; all read 2026-11-23.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.gcp_labels import resource_labels, validate_tags
from gpufleet.platforms.clouds.gcp_machines import (
    boot_disks,
    host_machine,
    validate_host,
    validate_zone_names,
)
from gpufleet.platforms.openshift.machine_cloud import (
    API_VERSION,
    MACHINES,
    MANIFEST,
    USER_DATA,
    MachineCloud,
    MachinePlace,
    first_at,
    validate_zonal_pool,
)
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift_gcp import OpenShiftGcpOptions
from gpufleet.spec.pool import GpuPool

_finding, _rules = findings_in(__file__), rules_in(__file__)

KIND = "GCPMachineProviderSpec"
CREDENTIALS = "gcp-cloud-credentials"
"""Name of the Secret with credentials, in every cluster on Google Cloud."""


class OnGcp(MachineCloud):
    """Instances of Compute Engine, one MachineSet for each zone."""

    provider_kind = KIND
    infrastructure_type = "GCP"
    connection = "openshiftGcp"
    where = "Google Cloud"
    place_fields = "infrastructureName, projectId, network, subnetwork, serviceAccount, image"

    def options(self, pool: GpuPool) -> OpenShiftGcpOptions:
        return pool.openshift_gcp or OpenShiftGcpOptions()

    def machine(self, pool: Pool) -> MANIFEST:
        return gcp_machine(pool)

    def provider(self, place: MachinePlace, pool: Pool, zone: str | None) -> MANIFEST:
        declared = gcp_machine(pool)
        labels = resource_labels({**place["tags"], POOL_LABEL: pool.name})
        disk = {"image": place.get("image"), **declared.pop("disk"), "labels": labels}
        around = data_part(
            MACHINES,
            "gcpCluster",
            region=place["region"],
            zone=zone,
            project=place["projectId"],
            disks=[{"autoDelete": True, "boot": True, **disk}],
            labels=labels,
            network=place["network"],
            subnetwork=place["subnetwork"],
            network_project=place.get("networkProjectId"),
            account=place["serviceAccount"],
            tags=items(place.get("networkTags")) or None,
            credentials=place.get("credentialsSecret", CREDENTIALS),
            user_data=place.get("userDataSecret", USER_DATA),
        )
        return {"apiVersion": API_VERSION, "kind": KIND, **declared, **around}

    def connection_of(
        self, infrastructure: str, machines: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        first = machines[0]
        paths = {
            "projectId": "projectID",
            "network": "networkInterfaces[].network",
            "subnetwork": "networkInterfaces[].subnetwork",
            "networkProjectId": "networkInterfaces[].projectID",
            "serviceAccount": "serviceAccounts[].email",
        }
        disks = [mapping(one) for one in items(first.get("disks"))]
        image = next((one.get("image") for one in disks if one.get("boot")), None)
        found = {
            "infrastructureName": infrastructure,
            **first_at(first, paths),
            "image": image,
            "networkTags": items(first.get("tags")),
        }
        return {key: value for key, value in found.items() if value}

    def placeholders(self, spec: FleetSpec) -> dict[str, Any]:
        project = spec.cluster.project or "${PROJECT}"
        return data_part(MACHINES, "gcpPlaceholders", project=project)

    def validate_pool(self, pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
        return validate_gcp_pool(pool, spec) if pool.ownership is not Ownership.EXISTING else ()

    def validate_fleet(self, spec: FleetSpec) -> Iterable[Finding]:
        return validate_tags(spec.tags)

    def validate_place(
        self, pool: Pool, connection: Mapping[str, Any], path: str
    ) -> Iterable[Finding]:
        if self.options(pool.spec).image is None and connection.get("image") is None:
            yield _finding("openshift-image-missing", path, pool=pool.name)


def gcp_machine(pool: Pool) -> MANIFEST:
    """The machine in the pool's declaration; `disk` is the boot disk."""
    options = pool.spec.openshift_gcp or OpenShiftGcpOptions()
    row = pool.machines[0].instance
    possible = [kind for kind in boot_disks(row) if kind in DISK_TYPES] if row is not None else []
    spot = pool.capacity[0].spot is not None
    gpus = None
    if row is not None and row.attachable:
        gpus = [{"type": row.gke_accelerator_type, "count": pool.gpus_per_node}]
    return data_part(
        MACHINES,
        "gcp",
        type=host_machine(pool) or pool.machines[0].name,
        disk_gib=pool.spec.disk.size_gib,
        disk_type=options.disk_type or (*possible, *DISK_TYPES)[0],
        image=options.image,
        restart="Never" if spot else "Always",
        gpus=gpus,
        provisioning="Spot" if spot and options.spot_model == "spot" else None,
        preemptible=True if spot and options.spot_model != "spot" else None,
    )


DISK_TYPES = ("pd-balanced", "pd-ssd", "pd-standard")
"""Types of disks that the machine API accepts."""


def validate_gcp_pool(pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
    """Zones, machine type, disks of a pool that gpufleet creates."""
    region = spec.cluster.region
    yield from validate_zonal_pool(pool, f"{region or pool.platform.facts.example_region}-a")
    named = [(f"{pool.path}.zones[{i}]", zone) for i, zone in enumerate(pool.spec.zones)]
    yield from validate_zone_names(named, region)
    row = pool.machines[0].instance
    if row is None:
        return
    yield from validate_host(pool, row)
    options = pool.spec.openshift_gcp or OpenShiftGcpOptions()
    taken = boot_disks(row) or DISK_TYPES
    possible = [kind for kind in taken if kind in DISK_TYPES]
    known = {"row": row, "taken": taken, "possible": possible, "known": DISK_TYPES}
    yield from _rules("pool", pool.path, pool=pool, options=options, **known)
