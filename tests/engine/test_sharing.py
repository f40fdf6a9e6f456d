"""Every way of sharing through `pulumi up`: pods fill what a pool promises, one more stays Pending.

Two fleets, as a cluster has one MIG strategy, deployed one after the other by the same stack. The
pods are those a user is instructed to paste; the scheduler decides.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
from kubernetes import client

from gpufleet.fleet import Fleet, Pool
from gpufleet.fleet.nic_cluster_policy import rdma_request
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.dra import claims
from gpufleet.render.pod_request import claiming_pod_spec, pod_spec
from tests.engine.conftest import Project
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

NAMESPACE = "sharing"
PREFIX = "sh"
PROGRAM = """
    import json, pulumi, pulumi_kubernetes as k8s
    from pathlib import Path
    from gpufleet import GpuFleet

    provider = k8s.Provider("cluster")
    namespace = k8s.core.v1.Namespace(
        "namespace",
        metadata={"name": "sharing"},
        opts=pulumi.ResourceOptions(provider=provider),
    )
    fleet = GpuFleet(
        "fleet",
        {"spec": json.loads(Path("fleet.json").read_text())},
        pulumi.ResourceOptions(providers=[provider], depends_on=[namespace]),
    )
    pulumi.export("advertised", fleet.advertised)
"""
NO_DEVICE = "cannot allocate all claims"
CLAIMS = ("resource.k8s.io", "v1", "resourceclaims")
ANOTHER_CLAIM = "another"
SHARES = 63
"""Pods that may share the network cards of a node, where nothing else is declared."""


def _mig(strategy: str, *layouts: dict[str, int], turns: int = 1) -> dict[str, Any]:
    mig: dict[str, Any] = {
        "strategy": strategy,
        "layouts": [{"gpus": 1, "devices": devices} for devices in layouts],
    }
    return {"mig": mig | ({"timeSlicing": {"replicas": turns}} if turns > 1 else {})}


def _claims(**dra: Any) -> dict[str, Any]:
    return {"dra": {"namespaces": [NAMESPACE], **dra}}


def _guest(profile: str) -> dict[str, Any]:
    return {"vgpu": {"profile": profile, "licenseSecret": "vgpu-licence"}}


H100, TWO_H100, A100 = "p5.4xlarge", "a3-highgpu-2g", "a2-ultragpu-1g"
HALVES = {"3g.40gb": 2}
SINGLE: dict[str, dict[str, Any]] = {
    "whole": {"instanceTypes": ["g6.12xlarge"]},
    "turns": {"instanceTypes": ["g6.xlarge"], "sharing": {"timeSlicing": {"replicas": 3}}},
    "turns-unrenamed": {
        "instanceTypes": ["g6.2xlarge"],
        "sharing": {"timeSlicing": {"replicas": 2, "rename": False}},
    },
    "turns-on-a-part": {
        "instanceTypes": ["g6f.xlarge"],
        "sharing": {"timeSlicing": {"replicas": 2}},
    },
    "clients": {"instanceTypes": ["g6e.xlarge"], "sharing": {"mps": {"replicas": 3}}},
    "slices": {"instanceTypes": [TWO_H100], "sharing": _mig("single", HALVES, HALVES)},
    "turns-on-slices": {"instanceTypes": [A100], "sharing": _mig("single", HALVES, turns=2)},
    "guest": {"instanceTypes": ["g6.12xlarge"], "sharing": _guest("grid_l4-12c")},
    "claims": {"instanceTypes": [TWO_H100], "sharing": _claims()},
    "claimed-turns": {"instanceTypes": [H100], "sharing": _claims(sharing="mps", clients=3)},
    "training": {"gpu": "H100-80GB", "gpusPerNode": 8, "intent": "training", "fabric": "rdma"},
}
"""Without MIG, and with the strategy `single`."""
MIXED: dict[str, dict[str, Any]] = {
    "layouts": {
        "instanceTypes": ["a2-ultragpu-4g"],
        "sharing": _mig("mixed", {"1g.10gb": 7}, {"3g.40gb": 1, "2g.20gb": 2}),
    },
    "turns-on-layouts": {
        "instanceTypes": [H100],
        "sharing": _mig("mixed", {"3g.40gb": 1, "4g.40gb": 1}, turns=2),
    },
    "beside-layouts": {"instanceTypes": ["g6.xlarge"], "sharing": {"timeSlicing": {"replicas": 2}}},
    "backed-guest": {"instanceTypes": ["a2-ultragpu-2g"], "sharing": _guest("grid_a100d-3-40c")},
    "cut-on-demand": {"instanceTypes": [H100], "sharing": _claims(devices="mig")},
    "cut-before": {
        "instanceTypes": [A100],
        "sharing": _claims(devices="mig", layouts=[{"devices": {"1g.20gb": 4}}]),
    },
}
"""With the strategy `mixed`."""


def _spec(pools: dict[str, dict[str, Any]]) -> dict[str, Any]:
    size = {"nodes": {"min": 1, "max": 1}}
    return {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "sharing"},
        "namePrefix": PREFIX,
        "pools": [{"name": name, **size, **pool} for name, pool in pools.items()],
    }


def _compiled(pools: dict[str, dict[str, Any]]) -> Fleet:
    result = compile_data(_spec(pools))
    assert result.fleet is not None, result.findings
    assert result.deployable, result.findings
    return result.fleet


FLEETS = {"single": _compiled(SINGLE), "mixed": _compiled(MIXED)}


@dataclass(frozen=True)
class Pods:
    """Pods that fill one kind of share, and the reason why there is no room for another."""

    spec: dict[str, Any]
    count: int
    reason: str
    another: dict[str, Any] | None = None
    """The excess pod, if it differs from the others: by default the same once more."""


def promised(fleet: Fleet, pool: Pool) -> Iterator[Pods]:
    """Everything a pool promises, as pods."""
    network = rdma_request(pool, fleet.spec, fleet.addons.network_operator).resources
    for share in pool.partition.shares:
        if share.resource in pool.advertised:
            spec = pod_spec(pool, share, network)
            asked = int(spec["containers"][0]["resources"]["limits"][share.resource])
            yield Pods(spec, share.per_node // asked, f"Insufficient {share.resource}")
    made = pool.partition.dra
    if made is None:
        return
    offers = made.offers
    if made.on_demand:  # they represent each other: the smallest fill the GPU
        offers = (max(offers, key=lambda offer: offer.per_node),)
    for offer in offers:
        spec = claiming_pod_spec(pool, offer, network)
        if made.clients == 1:
            yield Pods(spec, offer.per_node, NO_DEVICE)
            continue
        another = deepcopy(spec)
        another["resourceClaims"][0]["resourceClaimName"] = ANOTHER_CLAIM
        yield Pods(spec, made.clients, NO_DEVICE, another)


def another_claim(fleet: Fleet, pool: Pool) -> dict[str, Any]:
    """The claim that pods of a pool share, once more under another name."""
    label = {"gpufleet.dev/pool": pool.name}
    shared = next(c for c in claims(fleet) if label.items() <= c["metadata"]["labels"].items())
    return {**shared, "metadata": {"name": ANOTHER_CLAIM}}


class Cluster:
    """The user's view of the deployed fleet."""

    def __init__(self, api: Any) -> None:
        self.core = client.CoreV1Api(api)
        self.custom = client.CustomObjectsApi(api)

    def node(self, pool: str) -> client.V1Node:
        (node,) = self.core.list_node(label_selector=f"gpufleet.dev/pool={pool}").items
        return node

    def offers(self, pool: str) -> dict[str, int]:
        """Extended resources of the pool's node."""
        allocatable = self.node(pool).status.allocatable or {}
        return {name: int(n) for name, n in allocatable.items() if "/" in name}

    def slices(self) -> list[str]:
        """Nodes of the fleet whose GPUs the DRA driver still publishes."""
        listed = self.custom.list_cluster_custom_object("resource.k8s.io", "v1", "resourceslices")
        found = [item["spec"].get("nodeName", "") for item in listed["items"]]
        return [name for name in found if name.startswith(f"{PREFIX}-")]

    def make(self, name: str, spec: dict[str, Any]) -> None:
        spec = {**deepcopy(spec), "terminationGracePeriodSeconds": 0}
        spec["containers"][0]["image"] = "none"
        self.core.create_namespaced_pod(NAMESPACE, {"metadata": {"name": name}, "spec": spec})

    def pods(self) -> list[client.V1Pod]:
        return self.core.list_namespaced_pod(NAMESPACE).items

    def running(self) -> dict[str, str]:
        """Pod -> node."""
        pods = [pod for pod in self.pods() if pod.status.phase == "Running"]
        return {pod.metadata.name: pod.spec.node_name for pod in pods}

    def refused(self, name: str) -> str:
        """The scheduler's message about a pod without a node."""
        pod = self.core.read_namespaced_pod(name, NAMESPACE)
        conditions = pod.status.conditions or []
        said = [c.message or "" for c in conditions if c.reason == "Unschedulable"]
        return said[0] if said and pod.status.phase == "Pending" else ""

    def clear(self) -> None:
        """Remove every pod."""
        for pod in self.pods():
            self.core.delete_namespaced_pod(pod.metadata.name, NAMESPACE, grace_period_seconds=0)
        until(lambda: not self.pods(), "pods to go")


@pytest.fixture
def seen(cluster: Any) -> Iterator[Cluster]:
    """The cluster; pods that a test made are gone after it."""
    seen = Cluster(cluster)
    yield seen
    seen.clear()


@pytest.fixture(scope="module")
def deployed(request: pytest.FixtureRequest, shared_project: Project) -> str:
    """Name of the fleet that one `pulumi up` has just made."""
    pools = {"single": SINGLE, "mixed": MIXED}[request.param]
    shared_project.write({"__main__.py": PROGRAM, "fleet.json": json.dumps(_spec(pools))})
    shared_project.run("up")
    return request.param


@pytest.mark.parametrize(
    ("deployed", "pool"),
    [(fleet, pool.name) for fleet in FLEETS for pool in FLEETS[fleet].pools],
    indirect=["deployed"],
    scope="module",
)
def test_pods_fill_the_pool_and_one_more_stays_pending(
    deployed: str, pool: str, seen: Cluster
) -> None:
    fleet = FLEETS[deployed]
    declared = fleet.pool(pool)
    asked = rdma_request(declared, fleet.spec, fleet.addons.network_operator).resources
    network = dict.fromkeys(asked, SHARES)
    until(
        lambda: seen.offers(pool) == {**declared.advertised, **network},
        lambda: (seen.offers(pool), seen.node(pool).metadata.annotations),
    )
    for kind, pods in enumerate(promised(fleet, declared)):
        names = [f"{pool}-{kind}-{number}" for number in range(pods.count)]
        assert names
        for name in names:
            seen.make(name, pods.spec)
        until(lambda names=names: set(names) <= set(seen.running()), seen.running)
        assert {seen.running()[name] for name in names} == {seen.node(pool).metadata.name}
        if pods.another is not None:
            seen.custom.create_namespaced_custom_object(
                *CLAIMS[:2], NAMESPACE, CLAIMS[2], another_claim(fleet, declared)
            )
        seen.make(f"{pool}-{kind}-more", pods.another or pods.spec)
        more = f"{pool}-{kind}-more"
        until(
            lambda more=more, reason=pods.reason: reason in seen.refused(more),
            lambda more=more: seen.refused(more),
        )


@pytest.mark.parametrize("deployed", ["mixed"], indirect=True, scope="module")
def test_what_is_deployed_stays_and_goes_in_order(
    deployed: str, shared_project: Project, seen: Cluster, cluster: Any
) -> None:
    """Nodes first, then what serves them, then what that reads; definitions and their schemas stay,
    as others' objects of these kinds would go with them."""
    shared_project.run("preview", "--refresh", "--expect-no-changes")
    steps = [urn for operation, urn in shared_project.run("destroy").steps if operation == "delete"]
    kinds = [urn.split("::")[2].split("$")[-1].split(":")[-1] for urn in steps]
    nodes = [i for i, kind in enumerate(kinds) if kind == "Node"]
    releases = [i for i, kind in enumerate(kinds) if kind == "Release"]
    assert len(nodes) == len(MIXED)
    assert [steps[i].split("::")[3] for i in releases] == [
        "fleet-addons-dra-driver-release",
        "fleet-addons-gpu-operator-release",
    ]
    assert max(nodes) < min(releases)
    assert max(releases) < min(i for i, kind in enumerate(kinds) if kind == "ConfigMap")
    until(lambda: not seen.slices(), seen.slices)
    extensions = client.ApiextensionsV1Api(cluster)
    kept = {d.metadata.name for d in extensions.list_custom_resource_definition().items}
    assert {"clusterpolicies.nvidia.com", "nicclusterpolicies.mellanox.com"} <= kept
