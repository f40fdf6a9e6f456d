"""Pools on OpenShift on Google Cloud from MachineSets."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gpufleet.catalogue import GCP, load
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.observed import Declaration, ObservedResource
from gpufleet.platforms.openshift.adoption import (
    MACHINE,
    SET_WIRED,
    OpenShiftAdoption,
    machine_of,
)
from gpufleet.spec.base import Platform


class OpenShiftGcpAdoption(OpenShiftAdoption):
    """MachineSets of Compute Engine."""

    platform = Platform.OPENSHIFT_GCP
    wired: ClassVar[Mapping[str, Sequence[str]]] = {
        **OpenShiftAdoption.wired,
        "machineSet": (
            *SET_WIRED,
            *(f"{MACHINE}.{key}" for key in ("projectID", "networkInterfaces", "tags")),
            *(f"{MACHINE}.{key}" for key in ("serviceAccounts", "disks.image")),
        ),
    }
    kept = ()

    def place(self, machine: Mapping[str, Any]) -> Declaration:
        region = machine.get("region")
        return {"region": region} if isinstance(region, str) else {}

    def zone(self, one: ObservedResource) -> str | None:
        zone = machine_of(one).get("zone")
        return zone if isinstance(zone, str) else None

    def tags(self, machine: Mapping[str, Any]) -> dict[str, str]:
        labels = mapping(machine.get("labels"))
        own = "gpufleet-dev-pool"
        return {key: str(value) for key, value in labels.items() if key != own}

    def machine(
        self, machine: Mapping[str, Any], gpu: str | None, count: int | None
    ) -> tuple[Declaration, Declaration] | None:
        kind = str(machine.get("machineType"))
        attached = mapping(next(iter(items(machine.get("gpus"))), None))
        if not attached and kind not in load().instances:
            return None
        pool: Declaration = {"instanceTypes": [kind]}
        if attached:
            carried = [
                row.accelerator.gpu
                for row in load().instances.values()
                if row.cloud == GCP
                and row.attachable
                and row.gke_accelerator_type == attached.get("type")
            ]
            if not carried:
                return None
            pool |= {"gpu": carried[0], "gpusPerNode": attached.get("count") or 1}
        spot = machine.get("provisioningModel") == "Spot"
        pool["capacity"] = [
            {"spot": {}} if spot or machine.get("preemptible") else {"onDemand": {}}
        ]
        boot = next((one for one in items(machine.get("disks")) if mapping(one).get("boot")), None)
        pool["disk"] = {"sizeGib": mapping(boot).get("sizeGb") or 128}
        options: Declaration = {"diskType": mapping(boot).get("type")}
        if spot:
            options["spotModel"] = "spot"
        return pool, {key: value for key, value in options.items() if value}


ADOPTION = OpenShiftGcpAdoption()
