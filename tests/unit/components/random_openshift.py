"""Strategies for fleets on OpenShift on AWS and on Google Cloud, and their connections."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from gpufleet.catalogue import InstanceType
from gpufleet.platforms.compiled import compile_data
from tests.unit.components.random_fleets import AWS, GCP, INTENTS, optional, sharing
from tests.unit.components.random_own_hardware import LABELS, TAINTS
from tests.unit.platforms.openshift.clouds import AWS_PLACE, GCP_PLACE, REGIONS, declaration

GCP_CONNECTION: dict[str, Any] = {
    "infrastructure_name": "ocp-x7k2p",
    "project_id": "acme",
    "network": "ocp-x7k2p-network",
    "subnetwork": "ocp-x7k2p-worker-subnet",
    "service_account": GCP_PLACE["serviceAccount"],
    "image": GCP_PLACE["image"],
    "network_tags": ["ocp-x7k2p-worker"],
}
CONNECTIONS: dict[str, dict[str, Any]] = {
    "openshiftAws": {"openshift_aws": AWS_PLACE},
    "openshiftGcp": {"openshift_gcp": GCP_CONNECTION},
}
RESERVATION = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a"}
HEALTH = st.sampled_from(
    [{"enabled": False}, {"unhealthySeconds": 600}, {"startupMinutes": 45, "maxUnhealthy": 1}]
)
MACHINE_CONFIG = st.sampled_from(
    [{}, {"kernelArguments": ["iommu=pt"]}, {"maxUnavailable": 2, "kernelArguments": ["a=b"]}]
)


def machine(row: InstanceType) -> dict[str, Any]:
    if not row.attachable:
        return {"instanceTypes": [row.name]}
    carried = row.accelerator
    return {
        "instanceTypes": ["n1-standard-16"],
        "gpu": carried.gpu,
        "gpusPerNode": carried.count,
    }


@cache
def usable(platform: str) -> tuple[InstanceType, ...]:
    """Machine types that a plain pool there may have."""
    aws = platform == "openshiftAws"
    nodes, zone = {"min": 1, "max": 1}, "us-east-1a" if aws else "us-central1-a"
    return tuple(
        row
        for row in (AWS if aws else GCP)
        if compile_data(
            declaration(
                platform,
                {
                    "name": "one",
                    "nodes": nodes,
                    "zones": [zone],
                    "capacity": [{"spot": {}}],
                    **machine(row),
                },
            )
        ).deployable
    )


@st.composite
def pool_of(draw: st.DrawFn, platform: str, name: str) -> dict[str, Any]:
    aws = platform == "openshiftAws"
    row = draw(st.sampled_from(usable(platform)))
    region = REGIONS[platform]
    there = [f"{region}{zone if aws else '-' + zone}" for zone in "abc"]
    zones = draw(st.lists(st.sampled_from(there), min_size=1, max_size=3, unique=True))
    least = draw(st.integers(0, 4))
    most = max(len(zones), least + draw(st.integers(0, 3)))
    ways: list[dict[str, Any]] = [{"onDemand": {}}, {"spot": {}}]
    if aws:
        ways += [{"spot": {"maxPriceUsdPerHour": "3.5"}}, {"reserved": RESERVATION}]
    way = draw(st.sampled_from(ways))
    pool: dict[str, Any] = {
        "name": name,
        **machine(row),
        "nodes": {"min": least, "max": most},
        "zones": [RESERVATION["zone"]] if "reserved" in way else zones,
        "intent": draw(INTENTS),
        "capacity": [way],
        "sharing": draw(sharing(row)),
        **optional(
            draw,
            labels=LABELS,
            taints=TAINTS,
            disk=st.integers(60, 900).map(lambda size: {"sizeGib": size}),
        ),
    }
    options = draw(aws_options() if aws else gcp_options(spot="spot" in way))
    return {**pool, **({platform: options} if options else {})}


@st.composite
def aws_options(draw: st.DrawFn) -> dict[str, Any]:
    volumes: list[dict[str, Any]] = [
        {},
        {"volumeType": "gp2"},
        {"volumeType": "io1", "iops": 5000},
        {"throughputMib": 500, "iops": 6000},
    ]
    groups: list[dict[str, Any]] = [
        {},
        {"placementGroup": "gpus"},
        {"placementGroup": "gpus", "placementGroupPartition": 3},
    ]
    return {
        **draw(st.sampled_from(volumes)),
        **draw(st.sampled_from(groups)),
        **optional(
            draw,
            health=HEALTH,
            machineConfig=MACHINE_CONFIG,
            kmsKeyArn=st.just("arn:aws:kms:us-east-1:123456789012:key/0a-1b"),
            tenancy=st.just("dedicated"),
            metadataTokens=st.sampled_from(["required", "optional"]),
        ),
    }


@st.composite
def gcp_options(draw: st.DrawFn, *, spot: bool) -> dict[str, Any]:
    model = {"spotModel": st.sampled_from(["preemptible", "spot"])} if spot else {}
    return optional(
        draw,
        health=HEALTH,
        machineConfig=MACHINE_CONFIG,
        diskType=st.sampled_from(["pd-ssd", "pd-balanced", "pd-standard"]),
        **model,
    )


@st.composite
def openshift_fleets(draw: st.DrawFn, platform: str) -> dict[str, Any]:
    version = draw(st.sampled_from(["1.35", "1.36"]))
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {"name": "ml", "region": REGIONS[platform], "kubernetesVersion": version},
        "pools": [draw(pool_of(platform, f"p{i}")) for i in range(draw(st.integers(1, 2)))],
        **optional(draw, tags=st.just({"cost-center": "4711"}), namePrefix=st.just("team-a")),
    }
