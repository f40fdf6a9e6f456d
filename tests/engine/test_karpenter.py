"""Rendered NodePools and NodeOverlays under the real Karpenter core, on the real API server.

Karpenter decides here: from the rendered objects it must know which machines serve a pod that
requests a GPU, a slice or a share, stop at the pool's limit, and remove idle machines. The test
publishes the resources of a device plugin on each new node, from the compiled pool.
"""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_objects import (
    capacity_buffer,
    karpenter_name,
    node_overlay,
    node_pool,
)
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.render.pod_request import pod_spec
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.karpenter_controller import (
    EFA,
    RESERVATION,
    DevicePlugin,
    Karpenter,
    karpenter,
    with_kwok_class,
)
from tests.engine.namespaces import make_namespace
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

SOON = {"disruption": {"consolidateAfter": "1s", "consolidationPolicy": "WhenEmpty"}}
LATER = {"disruption": {"consolidateAfter": "10m", "consolidationPolicy": "WhenEmpty"}}
"""Of pools of which no node is removed here: after a second, Karpenter may treat a node as empty
whose pod it has not seen yet, and the pod is deleted with it."""
BLOCK = {"id": "cr-0123456789abcdef0", "zone": "us-east-1a", "until": "2026-12-20T11:30:00Z"}
TENANCY = "karpenter.k8s.aws/instance-tenancy"
FULL = ("cr-0123456789abcdef3", "cr-0123456789abcdef4")


def _blocks(*ids: str) -> list[dict[str, Any]]:
    return [{"capacityBlock": {**BLOCK, "id": one, "instances": 1}} for one in ids]


TWO_BLOCKS = _blocks("cr-0123456789abcdef1", "cr-0123456789abcdef2")
FULL_BLOCKS = _blocks(*FULL)
POOLS: dict[str, dict[str, Any]] = {
    "whole": {"gpu": "L40S", "nodes": {"min": 0, "max": 2}},
    "shared": {
        "gpu": "L4",
        "nodes": {"min": 0, "max": 2},
        "capacity": [{"spot": {}}, {"onDemand": {}}],
        "sharing": {"timeSlicing": {"replicas": 4}},
    },
    "slices": {
        "instanceTypes": ["p4de.24xlarge"],
        "nodes": {"min": 0, "max": 2},
        "sharing": {
            "mig": {
                "layouts": [
                    {"gpus": 4, "devices": {"1g.10gb": 7}},
                    {"gpus": 4, "devices": {"3g.40gb": 2}},
                ]
            }
        },
    },
    "eighth": {"instanceTypes": ["g6f.large", "g6f.xlarge"], "nodes": {"min": 0, "max": 1}},
    "linked": {
        "instanceTypes": ["p5.48xlarge"],
        "nodes": {"min": 0, "max": 1},
        "fabric": "efa",
        "zones": ["us-east-1a"],
    },
    "ultra": {
        "instanceTypes": ["trn2u.48xlarge"],
        "nodes": {"min": 0, "max": 4},
        "fabric": "efa",
        "intent": "training",
        "capacity": [{"capacityBlock": BLOCK}],
    },
    "blocks": {
        "instanceTypes": ["p5en.48xlarge"],
        "nodes": {"min": 0, "max": 3},
        "fabric": "efa",
        "capacity": [*TWO_BLOCKS, {"onDemand": {}}],
        "karpenter": LATER,
    },
    "full": {
        "instanceTypes": ["p4d.24xlarge"],
        "nodes": {"min": 0, "max": 3},
        "fabric": "efa",
        "capacity": [*FULL_BLOCKS, {"onDemand": {}}],
        "karpenter": LATER,
    },
    "kept": {
        "instanceTypes": ["g6.48xlarge"],
        "nodes": {"min": 2, "max": 3},
        "karpenter": {"static": True},
    },
    "free": {
        "instanceTypes": ["g6e.12xlarge"],
        "nodes": {"min": 1, "max": 2},
        "karpenter": {"buffer": True},
    },
    "alone": {
        "instanceTypes": ["g5.xlarge"],
        "nodes": {"min": 0, "max": 1},
        "karpenter": {
            "requirements": [{"key": TENANCY, "operator": "In", "values": ["dedicated"]}],
            **LATER,
        },
    },
}


def fleet() -> Fleet:
    pools = [
        {"name": name, "provisioner": "karpenter", "karpenter": SOON, **pool}
        for name, pool in POOLS.items()
    ]
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": pools,
        }
    )
    assert result.fleet is not None, result.findings
    assert result.deployable, result.findings
    return result.fleet


FLEET = fleet()


class Cluster:
    """Pods and nodes of this module."""

    def __init__(self, api: Any, namespace: str, controller: Karpenter) -> None:
        self.core, self.namespace, self.controller = client.CoreV1Api(api), namespace, controller

    def log(self) -> str:
        return self.controller.log.read_text()[-3000:]

    def nodes(self, pool: str) -> list[Any]:
        return self.core.list_node(label_selector=f"{POOL_LABEL}={pool}").items

    def only_node(self, pool: str) -> Any:
        """The node on which the pods of a pool are; one that came in vain goes first."""
        (node,) = until(
            lambda: found if len(found := self.nodes(pool)) == 1 else None,
            lambda: [node.metadata.name for node in self.nodes(pool)],
        )
        return node

    def ask(self, pool: str, resource: str, names: list[str]) -> None:
        """A pod for each name, as `gpufleet render` tells users to write it."""
        compiled = FLEET.pool(pool)
        share = next(s for s in compiled.partition.shares if s.resource == resource)
        for name in names:
            spec = pod_spec(compiled, share)
            spec["containers"][0]["image"] = "none"
            spec["terminationGracePeriodSeconds"] = 0
            body = {"metadata": {"name": name}, "spec": spec}
            self.core.create_namespaced_pod(self.namespace, body)

    def phases(self, names: list[str]) -> dict[str, str]:
        pods = self.core.list_namespaced_pod(self.namespace).items
        return {p.metadata.name: p.status.phase for p in pods if p.metadata.name in names}

    def running(self, names: list[str]) -> None:
        until(
            lambda: set(self.phases(names).values()) == {"Running"},
            lambda: f"{self.phases(names)}\n{self.log()}",
        )

    def unschedulable(self, names: list[str]) -> None:
        """The scheduler has reported of each pod that no node fits it: Karpenter reads that."""

        def said() -> set[str]:
            return {
                pod.metadata.name
                for pod in self.core.list_namespaced_pod(self.namespace).items
                for condition in pod.status.conditions or []
                if (condition.type, condition.reason) == ("PodScheduled", "Unschedulable")
            }

        until(lambda: said() >= set(names), lambda: f"not said of {set(names) - said()}")

    def delete(self, names: list[str]) -> None:
        for name in names:
            self.core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)


@pytest.fixture(scope="module")
def running(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Karpenter with all pools; every node is gone before it ends."""
    server, namespace = sandbox.server(), "karpenter-pools"
    folder = tmp_path_factory.mktemp("karpenter")
    with (
        karpenter(sandbox, folder, FLEET.pools, frozenset(FULL)) as controller,
        config.new_client_from_config(str(sandbox.kubeconfig)) as api,
    ):
        make_namespace(client.CoreV1Api(api), namespace)
        made = list(_objects())
        for path, document in made:
            server.apply(path, _text(document))
        plugin = DevicePlugin(api, FLEET.pools)
        plugin.start()
        cluster = Cluster(api, namespace, controller)
        try:
            yield cluster
        finally:
            cluster.core.delete_namespace(namespace)
            for path, _ in reversed(made):
                server.request("DELETE", path)
            until(
                lambda: not [n for pool in FLEET.pools for n in cluster.nodes(pool.name)],
                lambda: f"nodes are left\n{cluster.log()}",
            )
            plugin.over.set()
            plugin.join()


def _objects() -> Iterator[tuple[str, dict[str, Any]]]:
    group = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses/kwok"
    yield group, {**_named("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", "kwok"), "spec": {}}
    for pool in FLEET.pools:
        name, overlay = karpenter_name(pool), node_overlay(pool)
        if overlay is not None:
            yield f"/apis/karpenter.sh/v1alpha1/nodeoverlays/{name}", overlay
        rendered = with_kwok_class(node_pool(pool, eks_shape(pool)))
        yield f"/apis/karpenter.sh/v1/nodepools/{name}", rendered
        for made in capacity_buffer(pool):
            group = "api/v1" if made["apiVersion"] == "v1" else f"apis/{made['apiVersion']}"
            plural = f"{made['kind'].lower()}s"
            yield f"/{group}/namespaces/kube-system/{plural}/{name}", made


def _named(version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def _text(document: dict[str, Any]) -> bytes:
    return yaml.safe_dump(document).encode()


def names(pool: str, count: int) -> list[str]:
    return [f"{pool}-{i}" for i in range(count)]


def test_pods_get_machines_with_gpus_slices_shares_parts_and_efa(running: Cluster) -> None:
    asked = {
        "whole": ("nvidia.com/gpu", 1),
        "shared": ("nvidia.com/gpu.shared", 4),
        "slices": ("nvidia.com/mig-1g.10gb", 20),
        "eighth": ("nvidia.com/gpu", 1),
        "linked": ("nvidia.com/gpu", 1),
        "ultra": ("aws.amazon.com/neuron", 1),
    }
    with running.controller.paused():  # it decides once, about all pods of a pool
        for pool, (resource, count) in asked.items():
            running.ask(pool, resource, names(pool, count))
        running.ask("slices", "nvidia.com/mig-3g.40gb", ["slices-large"])
        running.unschedulable(["slices-large"])
        for pool, (_, count) in asked.items():
            running.unschedulable(names(pool, count))
    for pool, (_, count) in asked.items():
        running.running(names(pool, count))
        node = running.only_node(pool)  # all of them fit on one, and Karpenter knew
        compiled = FLEET.pool(pool)
        labels = node.metadata.labels
        assert labels["node.kubernetes.io/instance-type"] in {m.name for m in compiled.machines}
        assert labels.items() >= dict(compiled.labels).items()
        accelerator = "aws.amazon.com/neuron" if pool == "ultra" else "nvidia.com/gpu"
        assert (accelerator, "NoSchedule") in {(t.key, t.effect) for t in node.spec.taints}
    running.running(["slices-large"])
    (linked,) = running.core.list_namespaced_pod(
        running.namespace, field_selector="metadata.name=linked-0"
    ).items
    limits = linked.spec.containers[0].resources.limits
    assert (limits[EFA], limits["hugepages-2Mi"]) == ("32", "5Gi")
    node = running.only_node("shared")
    assert node.metadata.labels["karpenter.sh/capacity-type"] == "spot"


def test_machines_come_from_two_blocks_and_then_on_demand(running: Cluster) -> None:
    """Each pod with EFA takes a machine. If both blocks are full, the machine is on demand, in the
    zone of the blocks."""
    asked = {"blocks": names("blocks", 2), "full": names("full", 1)}
    with running.controller.paused():
        for pool, pods in asked.items():
            running.ask(pool, "nvidia.com/gpu", pods)
            running.unschedulable(pods)
    for pods in asked.values():
        running.running(pods)
    bought = {
        pool: {
            (labels["karpenter.sh/capacity-type"], labels["topology.kubernetes.io/zone"])
            for labels in (node.metadata.labels for node in running.nodes(pool))
        }
        for pool in asked
    }
    assert bought == {
        "blocks": {("reserved", "us-east-1a")},
        "full": {("on-demand", "us-east-1a")},
    }
    named = [node.metadata.labels[RESERVATION] for node in running.nodes("blocks")]
    assert len(named) == 2
    # Of blocks at one price the kwok provider takes any, and it counts none that it gave away.
    assert set(named) <= {one["capacityBlock"]["id"] for one in TWO_BLOCKS}


def test_a_machine_of_dedicated_tenancy_is_claimed_and_labelled_as_such(running: Cluster) -> None:
    """The AWS provider reads the tenancy from the requirements of the NodeClaim: getTenancyType in
    aws/karpenter-provider-aws v1.14.3 `pkg/controllers/nodeclass/validation.go`."""
    running.ask("alone", "nvidia.com/gpu", names("alone", 1))
    running.running(names("alone", 1))
    assert running.only_node("alone").metadata.labels[TENANCY] == "dedicated"
    custom = client.CustomObjectsApi(running.core.api_client)
    claims: Any = custom.list_cluster_custom_object(
        "karpenter.sh", "v1", "nodeclaims", label_selector=f"{POOL_LABEL}=alone"
    )
    (claim,) = claims["items"]
    wanted = {one["key"]: one.get("values") for one in claim["spec"]["requirements"]}
    assert wanted[TENANCY] == ["dedicated"]


def test_a_static_pool_has_its_nodes_without_a_pod(running: Cluster) -> None:
    until(
        lambda: len(running.nodes("kept")) == 2,
        lambda: f"{len(running.nodes('kept'))} nodes\n{running.log()}",
    )


def test_a_buffer_keeps_a_node_free_beside_the_one_that_works(running: Cluster) -> None:
    """Without a pod there is one node; a pod takes it, and another one comes, at most `max`."""
    for pods, nodes in (([], 1), (["free-0"], 2), (["free-1"], 2)):
        if pods:
            running.ask("free", "nvidia.com/gpu", pods)
            running.running(pods)
        until(
            lambda: len(running.nodes("free")) == nodes,  # noqa: B023
            lambda: f"{len(running.nodes('free'))} nodes\n{running.log()}",
        )


def test_a_pool_stops_at_its_limit(running: Cluster) -> None:
    more = [f"more-{i}" for i in range(3)]
    running.ask("whole", "nvidia.com/gpu", more)
    until(
        lambda: len(running.nodes("whole")) == 2,
        lambda: f"{len(running.nodes('whole'))} nodes\n{running.log()}",
    )
    until(
        lambda: sorted(running.phases(more).values()) == ["Pending", "Pending", "Running"],
        lambda: str(running.phases(more)),
    )
    until(lambda: "limit" in running.controller.log.read_text(), running.log)
    for _ in range(10):  # further batches come and go
        assert len(running.nodes("whole")) <= 2
        assert list(running.phases(more).values()).count("Running") <= 1
        time.sleep(0.2)
    running.delete(more)


def test_idle_machines_go_and_working_ones_stay(running: Cluster) -> None:
    idle = [*names("slices", 20), "slices-large", *names("eighth", 1)]
    running.delete(idle)
    until(
        lambda: not running.nodes("slices") and not running.nodes("eighth"),
        lambda: f"idle machines are left\n{running.log()}",
    )
    assert running.nodes("shared")
    running.running([*names("shared", 4), *names("whole", 1)])
