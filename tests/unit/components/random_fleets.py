"""Strategies for whole fleets on EKS and GKE: every way of buying, sharing, scaling and wiring."""

from typing import Any

from hypothesis import strategies as st

from gpufleet.catalogue import AWS, GCP, InstanceType, load
from tests.unit.components.random_options import EKS, GKE, KARPENTER, some

CATALOGUE = load("2026.11")
TURNS = st.fixed_dictionaries({"replicas": st.integers(2, 9)})
LATER = "2026-12-20T11:30:00Z"
NODES = st.integers(1, 8).map(lambda most: {"min": 0, "max": most})
PROVISIONERS = ["managed", "karpenter", "clusterAutoscaler", "autoMode"]
INTENTS = st.sampled_from(["training", "batch", "inference", "interactive"])


def machines(cloud: str, vendor: str) -> list[InstanceType]:
    return [
        row
        for row in CATALOGUE.instances.values()
        if row.cloud == cloud and CATALOGUE.gpu(row.accelerator.gpu).vendor == vendor
    ]


AWS, NEURON = machines(AWS, "nvidia"), machines(AWS, "aws")
GCP, TPU = machines(GCP, "nvidia"), machines(GCP, "google")


def optional(draw: st.DrawFn, **choices: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Some of the keys, each with a value."""
    return {key: draw(values) for key, values in choices.items() if draw(st.booleans())}


@st.composite
def sharing(draw: st.DrawFn, row: InstanceType) -> dict[str, Any]:
    ways: list[st.SearchStrategy[dict[str, Any]]] = [
        st.just({"exclusive": {}}),
        TURNS.map(lambda turns: {"timeSlicing": turns}),
        TURNS.map(lambda turns: {"mps": turns}),
    ]
    geometry = CATALOGUE.gpu(row.accelerator.gpu).mig
    if geometry is not None:
        layouts = {
            profile: row.offered_partition_sizes.get(profile, 1)
            for profile in (row.offered_partition_sizes or geometry.profiles)
        }
        one = st.sampled_from(sorted(layouts.items()))
        ways.append(one.map(lambda cut: {"mig": {"layouts": [{"devices": {cut[0]: cut[1]}}]}}))
    return draw(st.one_of(ways))


@st.composite
def eks_pool(draw: st.DrawFn, name: str) -> dict[str, Any]:
    row = draw(st.sampled_from(AWS) | st.sampled_from(NEURON))
    neuron = row in NEURON
    ways: list[dict[str, Any]] = [
        {"onDemand": {}},
        {"spot": {}},
        {"reserved": {"id": "cr-0123456789abcdef0", "zone": "us-east-1a"}},
        {
            "capacityBlock": {
                "id": "cr-0123456789abcdef0",
                "zone": "us-east-1a",
                "until": LATER,
            }
        },
    ]
    pool: dict[str, Any] = {
        "name": name,
        "instanceTypes": [row.name],
        "nodes": draw(NODES),
        "intent": draw(INTENTS),
        "provisioner": draw(
            st.sampled_from(["managed", "karpenter", "clusterAutoscaler", "autoMode"])
        ),
        "capacity": [draw(st.sampled_from([*ways, ways[0]]))],
        **optional(
            draw,
            zones=st.sampled_from([["us-east-1a"], ["us-east-1a", "us-east-1b"]]),
            labels=st.just({"example.com/tier": "a"}),
            taints=st.just([{"key": "example.com/team", "value": "a", "effect": "NoExecute"}]),
            disk=st.integers(60, 900).map(lambda size: {"sizeGib": size}),
        ),
    }
    if not neuron:
        pool["sharing"] = draw(sharing(row))
        pool |= optional(draw, image=st.sampled_from(["al2023-nvidia", "bottlerocket-nvidia"]))
    if row.efa_interfaces and draw(st.booleans()):
        pool |= {"fabric": "efa", "zones": ["us-east-1a"]}
    by_karpenter = pool["provisioner"] in {"karpenter", "autoMode"}
    sections = {"eks": some(draw, EKS)}
    if sections["eks"].get("placementGroup"):
        pool.setdefault("zones", ["us-east-1a"])  # the connection has subnets in two
    if by_karpenter:
        sections["karpenter"] = some(draw, KARPENTER)
        pool["capacity"] = draw(
            st.lists(st.sampled_from(ways), min_size=1, max_size=3, unique_by=repr)
        )
    return {**pool, **{name: options for name, options in sections.items() if options}}


@st.composite
def gke_pool(draw: st.DrawFn, name: str) -> dict[str, Any]:
    row = draw(st.sampled_from(GCP) | st.sampled_from(TPU))
    tpu = row in TPU
    ways: list[dict[str, Any]] = [
        {"onDemand": {}},
        {"spot": {}},
        {"flexStart": {"maxRunDuration": "12h"}},
        {"queued": {}},
        {"reserved": {"id": "gpus", "zone": "us-central1-a", "blocks": ["block-1"]}},
    ]
    host = ["n1-standard-16"] if row.attachable else [row.name]
    pool: dict[str, Any] = {
        "name": name,
        "instanceTypes": host,
        **(
            {"gpu": row.accelerator.gpu, "gpusPerNode": row.accelerator.count}
            if row.attachable
            else {}
        ),
        "nodes": draw(NODES),
        "intent": draw(INTENTS),
        "capacity": draw(st.lists(st.sampled_from(ways), min_size=1, max_size=3, unique_by=repr)),
        "zones": ["us-central1-a"],
        **optional(
            draw,
            labels=st.just({"example.com/tier": "a"}),
            taints=st.just([{"key": "example.com/team", "value": "a", "effect": "NoExecute"}]),
        ),
    }
    fabric = (row.gpudirect or "none").lower().replace("gpudirect", "").strip(" -")
    if fabric != "none" and draw(st.booleans()):
        pool["fabric"] = fabric
    if not tpu:
        pool["sharing"] = draw(sharing(row))
    options = some(draw, GKE)
    return {**pool, **({"gke": options} if options else {})}


@st.composite
def fleets(draw: st.DrawFn) -> dict[str, Any]:
    """A FleetSpec; not every one is legal."""
    platform = draw(st.sampled_from(["eks", "gke"]))
    pool = eks_pool if platform == "eks" else gke_pool
    return {
        "catalogue": "2026.11",
        "platform": platform,
        "cluster": {
            "name": "ml",
            "region": "us-east-1" if platform == "eks" else "us-central1",
            # Programs of Cluster Autoscaler are pinned for these.
            "kubernetesVersion": draw(st.sampled_from(["1.35", "1.36"])),
        },
        "pools": [draw(pool(f"p{i}")) for i in range(draw(st.integers(1, 2)))],
        **optional(
            draw,
            tags=st.just({"cost-center": "4711"}),
            namePrefix=st.sampled_from(["team-a", "sg", "1a"]),
        ),
    }


CONNECTIONS: dict[str, dict[str, Any]] = {
    "eks": {
        "cluster_name": "ml",
        "node_role_arn": "arn:aws:iam::123456789012:role/nodes",
        "subnet_ids_by_zone": {"us-east-1a": "subnet-0a", "us-east-1b": "subnet-0b"},
        "vpc_id": "vpc-01",
        "cluster_security_group_id": "sg-0c",
        "cluster_endpoint": "https://ml.example.com",
        "cluster_certificate_authority": "Y2E=",
        "cluster_service_cidr": "172.20.0.0/16",
    },
    "gke": {
        "cluster_name": "ml",
        "project": "stand-in",
        "gpu_networks": {
            name: {"network": f"net-{name}", "subnetwork": f"sub-{name}"}
            for name in (
                *(f"vpc{index}" for index in range(1, 9)),
                "gvnic-1",
                *(f"rdma-{index}" for index in range(8)),
            )
        },
    },
}
