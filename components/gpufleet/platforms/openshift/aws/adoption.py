"""Pools on OpenShift on AWS from MachineSets."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gpufleet.catalogue import load
from gpufleet.documents.shapes import items, mapping
from gpufleet.fleet.observed import Declaration, ObservedResource
from gpufleet.platforms.openshift.adoption import (
    MACHINE,
    SET_WIRED,
    OpenShiftAdoption,
    machine_of,
)
from gpufleet.spec.base import Platform


class OpenShiftAwsAdoption(OpenShiftAdoption):
    """MachineSets of EC2 instances."""

    platform = Platform.OPENSHIFT_AWS
    wired: ClassVar[Mapping[str, Sequence[str]]] = {
        **OpenShiftAdoption.wired,
        "machineSet": (
            *SET_WIRED,
            *(f"{MACHINE}.{key}" for key in ("ami", "iamInstanceProfile", "subnet")),
            f"{MACHINE}.securityGroups",
        ),
    }
    # The comparison drops empty values, as the options of spot machines without a maximum price.
    kept = ("capacity",)

    def place(self, machine: Mapping[str, Any]) -> Declaration:
        region = mapping(machine.get("placement")).get("region")
        return {"region": region} if isinstance(region, str) else {}

    def zone(self, one: ObservedResource) -> str | None:
        zone = mapping(machine_of(one).get("placement")).get("availabilityZone")
        return zone if isinstance(zone, str) else None

    def tags(self, machine: Mapping[str, Any]) -> dict[str, str]:
        pairs = [mapping(tag) for tag in items(machine.get("tags"))]
        return {str(one.get("name")): str(one.get("value")) for one in pairs}

    def machine(
        self, machine: Mapping[str, Any], gpu: str | None, count: int | None
    ) -> tuple[Declaration, Declaration] | None:
        kind = str(machine.get("instanceType"))
        if kind not in load().instances:
            return None
        volume: dict[str, Any] = {}
        for device in items(machine.get("blockDevices")):
            if not mapping(device).get("deviceName"):
                volume = mapping(mapping(device).get("ebs"))
        options: Declaration = {
            "volumeType": volume.get("volumeType"),
            "iops": volume.get("iops"),
            "throughputMib": volume.get("throughputMib"),
            "kmsKeyArn": mapping(volume.get("kmsKey")).get("arn"),
            "placementGroup": machine.get("placementGroupName"),
            "placementGroupPartition": machine.get("placementGroupPartition"),
            "tenancy": mapping(machine.get("placement")).get("tenancy"),
        }
        tokens = mapping(machine.get("metadataServiceOptions")).get("authentication")
        if tokens != "Required":
            options["metadataTokens"] = "optional"
        bought = _capacity(machine)
        pool: Declaration = {
            "instanceTypes": [kind],
            **({} if "onDemand" in bought else {"capacity": [bought]}),
            "disk": {"sizeGib": volume.get("volumeSize") or 120},
        }
        return pool, {key: value for key, value in options.items() if value}


def _capacity(machine: Mapping[str, Any]) -> Declaration:
    reserved = machine.get("capacityReservationId")
    if "spotMarketOptions" in machine or machine.get("marketType") == "Spot":
        price = mapping(machine.get("spotMarketOptions")).get("maxPrice")
        return {"spot": {} if price is None else {"maxPriceUsdPerHour": price}}
    zone = mapping(machine.get("placement")).get("availabilityZone")
    return {"reserved": {"id": reserved, "zone": zone}} if reserved else {"onDemand": {}}


ADOPTION = OpenShiftAwsAdoption()
