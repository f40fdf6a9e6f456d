"""Machines of OpenShift on AWS: EC2 instances with a GPU.

Formats and limits: openshift/api bfa868a `machine/v1beta1/types_awsprovider.go`;
openshift/machine-api-provider-aws bf5b668 `pkg/actuators/machine/instances.go` and b83de56
`pkg/actuators/machineset/controller.go`; openshift/machine-api-operator 7dc0e85
`pkg/webhooks/machine_webhook.go`; all read 2026-11-23.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpufleet.documents.data_files import data_part
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.platforms.clouds.aws_capacity import validate_block, validate_zones
from gpufleet.platforms.clouds.aws_tags import validate_tags
from gpufleet.platforms.openshift.machine_cloud import (
    API_VERSION,
    MACHINES,
    MANIFEST,
    USER_DATA,
    MachineCloud,
    MachinePlace,
    first_at,
    named_zones,
    validate_zonal_pool,
)
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.platforms.openshift_aws import OpenShiftAwsOptions
from gpufleet.spec.pool import GpuPool

_finding, _rules = findings_in(__file__), rules_in(__file__)

KIND = "AWSMachineProviderConfig"
CREDENTIALS = "aws-cloud-credentials"
"""Name of the Secret with credentials, in every cluster on AWS."""


_BY = ("Ids", "Names")
"""References to subnets and security groups in a connection."""


class OnAws(MachineCloud):
    """EC2 instances, one MachineSet for each availability zone."""

    provider_kind = KIND
    infrastructure_type = "AWS"
    connection = "openshiftAws"
    where = "AWS"
    place_fields = "infrastructureName, iamInstanceProfile, amiId, subnets by zone, security groups"

    def options(self, pool: GpuPool) -> OpenShiftAwsOptions:
        return pool.openshift_aws or OpenShiftAwsOptions()

    def machine(self, pool: Pool) -> MANIFEST:
        return aws_machine(pool)

    def provider(self, place: MachinePlace, pool: Pool, zone: str | None) -> MANIFEST:
        assert zone is not None
        declared = aws_machine(pool)
        placement = {"region": place["region"], "availabilityZone": zone}
        ids, names = (mapping(place.get(f"subnet{kind}ByZone")) for kind in _BY)
        subnet = {"id": ids[zone]} if zone in ids else {}
        tags = {**place["tags"], POOL_LABEL: pool.name}
        around = data_part(
            MACHINES,
            "awsCluster",
            credentials=place.get("credentialsSecret", CREDENTIALS),
            profile=place["iamInstanceProfile"],
            placement=placement | declared.pop("placement"),
            groups=[
                *({"id": one} for one in items(place.get("securityGroupIds"))),
                *map(_named, items(place.get("securityGroupNames"))),
            ],
            subnet=_named(names[zone]) if zone in names else subnet,
            tags=[{"name": key, "value": value} for key, value in tags.items()],
            user_data=place.get("userDataSecret", USER_DATA),
        )
        head = {"apiVersion": API_VERSION, "kind": KIND, "ami": {"id": place.get("amiId")}}
        return {**head, **declared, **around}

    def connection_of(
        self, infrastructure: str, machines: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        subnets = {
            str(mapping(one.get("placement")).get("availabilityZone")): mapping(one.get("subnet"))
            for one in reversed(machines)
        }
        groups = [mapping(one) for one in items(machines[0].get("securityGroups"))]
        paths = {"iamInstanceProfile": "iamInstanceProfile.id", "amiId": "ami.id"}
        found = {
            "infrastructureName": infrastructure,
            **first_at(machines[0], paths),
            "subnetIdsByZone": {zone: one["id"] for zone, one in subnets.items() if "id" in one},
            "subnetNamesByZone": {
                zone: name for zone, one in subnets.items() for name in _names(one)[:1]
            },
            "securityGroupIds": [one["id"] for one in groups if "id" in one],
            "securityGroupNames": [name for one in groups for name in _names(one)],
        }
        return {key: value for key, value in found.items() if value}

    def knows_zone(self, connection: Mapping[str, Any], zone: str) -> bool:
        return any(zone in mapping(connection.get(f"subnet{kind}ByZone")) for kind in _BY)

    def placeholders(self, spec: FleetSpec) -> dict[str, Any]:
        zones = sorted({zone for pool in spec.pools for zone in named_zones(pool)})
        subnets = {zone: f"${{SUBNET_{zone.upper().replace('-', '_')}}}" for zone in zones}
        return data_part(MACHINES, "awsPlaceholders", subnets=subnets)

    def validate_pool(self, pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
        return validate_aws_pool(pool, spec) if pool.ownership is not Ownership.EXISTING else ()

    def validate_fleet(self, spec: FleetSpec) -> Iterable[Finding]:
        return validate_aws_fleet(spec)

    def validate_place(
        self, pool: Pool, connection: Mapping[str, Any], path: str
    ) -> Iterable[Finding]:
        options = self.options(pool.spec)
        if options.ami_id is None and connection.get("amiId") is None:
            yield _finding("openshift-image-missing", path, pool=pool.name)
        if not any(connection.get(f"securityGroup{kind}") for kind in _BY):
            yield _finding("openshift-security-groups-missing", path)
        subnets = [mapping(connection.get(key)) for key in ("subnetIdsByZone", "subnetNamesByZone")]
        for zone in named_zones(pool.spec):
            there = [one for one in subnets if zone in one]
            if len(there) != 1:
                known = sorted({*subnets[0], *subnets[1]}) or ["none"]
                yield (
                    _finding("zone-with-two-subnets", path, pool=pool.name, zone=zone, found=known)
                    if there
                    else _finding(
                        "zone-without-subnet", path, pool=pool.name, zone=zone, found=known
                    )
                )


def aws_machine(pool: Pool) -> MANIFEST:
    """The machine in the pool's declaration."""
    options = pool.spec.openshift_aws or OpenShiftAwsOptions()
    entry = pool.capacity[0]
    bought = entry.capacity_block or entry.reserved
    return data_part(
        MACHINES,
        "aws",
        **dict(options) | {"tenancy": None if options.tenancy == "default" else options.tenancy},
        image=options.ami_id,
        type=pool.machines[0].name,
        disk_gib=pool.spec.disk.size_gib,
        tokens={"required": "Required", "optional": "Optional"}[options.metadata_tokens],
        spot=entry.spot is not None,
        max_price=entry.spot and entry.spot.max_price_usd_per_hour,
        market="CapacityBlock" if entry.capacity_block is not None else None,
        reservation=bought and bought.id,
    )


def _names(reference: Mapping[str, Any]) -> list[str]:
    """Values of the tag `Name` by which a reference selects its resources."""
    filters = [mapping(one) for one in items(reference.get("filters"))]
    return [
        str(value)
        for one in filters
        if one.get("name") == "tag:Name"
        for value in items(one.get("values"))
    ]


def _named(name: Any) -> MANIFEST:
    return {"filters": [{"name": "tag:Name", "values": [name]}]}


OVERWRITTEN = ("Name",)
OVERWRITTEN_PREFIX = "kubernetes.io/cluster/"
"""Tags that the machine API removes from a machine and writes itself."""


def validate_aws_pool(pool: Pool, spec: FleetSpec) -> Iterable[Finding]:
    """Zones, machine type, reservations of a pool that gpufleet creates."""
    region = spec.cluster.region
    yield from validate_zonal_pool(pool, f"{region or pool.platform.facts.example_region}a")
    block = any(entry.capacity_block is not None for entry in pool.capacity)
    why = "a Capacity Block is in one zone" if block else None
    yield from validate_zones(pool, pool.spec.zones, why, region)
    yield from validate_block(pool)
    yield from _rules("pool", pool.path, pool=pool)


def validate_aws_fleet(spec: FleetSpec) -> Iterable[Finding]:
    """Tags of all machines."""
    yield from validate_tags(spec.tags, "tags")
    for key in spec.tags:
        if key in OVERWRITTEN or key.startswith(OVERWRITTEN_PREFIX):
            yield _finding("tag-reserved", f"tags.{key}", found=key)
