"""Engine export and API server list of a fleet's registered resources."""

from typing import Any

from gpufleet.fleet import Fleet

SUBNETS = {"subnet-0a": "us-east-1a", "subnet-0b": "us-east-1b"}
OWN = ("gpufleet:index:", "pulumi:")


def pulumi_state(resources: list[Any], cluster: dict[str, Any]) -> dict[str, Any]:
    """A `pulumi stack export` of recorded registrations, without anything that is gpufleet's own:
    components hold the compiled fleet, and reading that would prove nothing. Cluster and subnets,
    which a fleet is given, are among the resources as another program made them."""
    exported: list[dict[str, Any]] = [
        {
            "urn": f"urn:pulumi:dev::other::{one.type}::{one.name}",
            "type": one.type,
            "id": f"{one.name}-id",
            "custom": True,
            "inputs": one.inputs,
            "outputs": {},
        }
        for one in resources
        if not one.type.startswith(OWN) and one.type != "gpufleet:vsphere:Batch"
    ]
    exported += [
        {
            "urn": f"urn:pulumi:dev::other::aws:ec2/subnet:Subnet::{name}",
            "type": "aws:ec2/subnet:Subnet",
            "id": name,
            "custom": True,
            "inputs": {"availabilityZone": zone},
            "outputs": {},
        }
        for name, zone in SUBNETS.items()
    ]
    exported += [_cluster(cluster)] if "region" in cluster else []
    return {"version": 3, "deployment": {"resources": exported}}


def _cluster(cluster: dict[str, Any]) -> dict[str, Any]:
    version = cluster.get("kubernetesVersion", "1.36")
    if cluster["region"].startswith("us-east"):
        kind, inputs = "aws:eks/cluster:Cluster", {"name": cluster["name"], "version": version}
    else:
        kind = "gcp:container/cluster:Cluster"
        inputs = {
            "name": cluster["name"],
            "location": cluster["region"],
            "minMasterVersion": f"{version}.1-gke.100",
        }
    urn = f"urn:pulumi:dev::other::{kind}::cluster"
    return {"urn": urn, "type": kind, "id": cluster["name"], "custom": True, "inputs": inputs}


def cluster_dump(resources: list[Any]) -> dict[str, Any]:
    """A `kubectl get -o json` of the objects among them."""
    items = [
        one.inputs
        for one in resources
        if one.type.startswith("kubernetes:")
        and "kind" in one.inputs
        and ":Release" not in one.type
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def some_nodes(fleet: Fleet) -> dict[str, Any]:
    """A node of each pool, as kubelet and GPU feature discovery describe it."""
    version = f"v{fleet.spec.cluster.kubernetes_version}.2"
    items = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"{pool.name}-node",
                "labels": {
                    "gpufleet.dev/pool": pool.name,
                    "nvidia.com/gpu.product": pool.gpu.product_names[0].replace(" ", "-"),
                },
            },
            "status": {"nodeInfo": {"kubeletVersion": version}},
        }
        for pool in fleet.pools
        if pool.gpu.product_names
    ]
    return {"apiVersion": "v1", "kind": "List", "items": items}
