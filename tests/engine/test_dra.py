"""Claims on the real API server and scheduler, from the output of `DraDriver` and simulated nodes.

The scheduler allocates from the slices that the simulated driver publishes, by the classes and
templates that were rendered. The tests update one stack. Those of the chart alone come first.
"""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config

from gpufleet.catalogue import load
from gpufleet.fleet.config_names import registration_labels
from gpufleet.partition.partition import cut
from gpufleet.spec.sharing import Sharing
from gpufleet_sandbox.engine_result import EngineError
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import Project
from tests.engine.namespaces import make_namespace
from tests.engine.waiting import until

pytestmark = [pytest.mark.sandbox]

RESOURCE = ("resource.k8s.io", "v1")
BOARD = {"product": "NVIDIA H100 80GB HBM3", "memoryMiB": 81559}
POOL: dict[str, Any] = {"gpu": "H100-80GB", "gpus_per_node": 1, "nodes": {"min": 2, "max": 2}}
CUT = {"devices": "mig", "extended_resource": True}
PROGRAM = """
from gpufleet.addons.dra_driver import DraDriver

DraDriver("dra", {args!r})
"""


class Cluster:
    """Nodes, pods and claims of one test."""

    def __init__(self, api: Any, namespace: str) -> None:
        self.core = client.CoreV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self.namespace = namespace
        self.node_name = f"{namespace}-{uuid.uuid4().hex[:6]}"

    def node(self, count: int, labels: dict[str, str], board: dict[str, Any] = BOARD) -> None:
        gpus = [{**board, "count": count}]
        hardware = {"gpus": gpus, "cpu": "96", "memory": "1152Gi", "driver": "595.91.07"}
        labels = {
            "gpufleet.dev/simulated": "true",
            "nvidia.com/gpu.present": "true",
            "kubernetes.io/hostname": self.node_name,
            **labels,
        }
        metadata = {
            "name": self.node_name,
            "labels": labels,
            "annotations": {"sandbox.gpufleet.dev/hardware": json.dumps(hardware)},
        }
        self.core.create_node({"metadata": metadata})

    def driver(self) -> str:
        annotations = self.core.read_node(self.node_name).metadata.annotations or {}
        return annotations.get("sandbox.gpufleet.dev/dra-driver", "")

    def pod(self, name: str, spec: dict[str, Any], resources: dict[str, Any]) -> None:
        container = {"name": "c", "image": "none", "resources": resources}
        self.core.create_namespaced_pod(
            self.namespace,
            {
                "metadata": {"name": name},
                "spec": {
                    "nodeSelector": {"kubernetes.io/hostname": self.node_name},
                    "tolerations": [{"operator": "Exists"}],
                    "terminationGracePeriodSeconds": 0,
                    "containers": [container],
                    **spec,
                },
            },
        )

    def claiming(self, name: str, template: str) -> None:
        claims = [{"name": "gpu", "resourceClaimTemplateName": template}]
        self.pod(name, {"resourceClaims": claims}, {"claims": [{"name": "gpu"}]})

    def sharing(self, name: str, claim: str) -> None:
        claims = [{"name": "gpu", "resourceClaimName": claim}]
        self.pod(name, {"resourceClaims": claims}, {"claims": [{"name": "gpu"}]})

    def asking(self, name: str, resource: str, count: int = 1) -> None:
        self.pod(name, {}, {"limits": {resource: str(count)}})

    def phase(self, name: str) -> str:
        return self.core.read_namespaced_pod(name, self.namespace).status.phase

    def running(self, *names: str) -> None:
        for name in names:
            until(
                lambda name=name: self.phase(name) == "Running",
                lambda name=name: f"{name}: {self.refused(name)}",
            )

    def refused(self, name: str) -> str:
        pod = self.core.read_namespaced_pod(name, self.namespace)
        return next(
            (c.message or "" for c in pod.status.conditions or [] if c.status == "False"), ""
        )

    def stays_pending(self, name: str, reason: str) -> None:
        until(lambda: reason in self.refused(name), f"{name} refused with {reason!r}")
        assert self.phase(name) == "Pending"

    def delete(self, name: str) -> None:
        self.core.delete_namespaced_pod(name, self.namespace, grace_period_seconds=0)

    def devices(self) -> dict[str, str]:
        """Claim -> device it was given."""
        listed = self.custom.list_namespaced_custom_object(
            *RESOURCE, self.namespace, "resourceclaims"
        )
        given: dict[str, str] = {}
        for claim in listed["items"]:
            allocation = (claim.get("status") or {}).get("allocation") or {}
            for result in (allocation.get("devices") or {}).get("results") or []:
                given[claim["metadata"]["name"]] = result["device"]
        return given

    def events(self, reason: str) -> list[str]:
        listed = self.core.list_namespaced_event(self.namespace).items
        return [event.message for event in listed if event.reason == reason]

    def slices(self) -> list[dict[str, Any]]:
        listed = self.custom.list_cluster_custom_object(*RESOURCE, "resourceslices")
        return [s["spec"] for s in listed["items"] if s["spec"].get("nodeName") == self.node_name]


@pytest.fixture(scope="module")
def api(sandbox: Sandbox) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(sandbox.kubeconfig)) as connected:
        yield connected


@pytest.fixture(scope="module")
def namespace(api: client.ApiClient) -> Iterator[str]:
    """One for all tests, as the stack is."""
    core, name = client.CoreV1Api(api), f"claims-{uuid.uuid4().hex[:6]}"
    make_namespace(core, name)
    yield name
    core.delete_namespace(name)


@pytest.fixture
def fleet(api: client.ApiClient, namespace: str) -> Iterator[Cluster]:
    fleet = Cluster(api, namespace)
    yield fleet
    for pod in fleet.core.list_namespaced_pod(namespace).items:
        fleet.delete(pod.metadata.name)
    until(lambda: not fleet.core.list_namespaced_pod(namespace).items, "pods to go")
    if fleet.node_name in [node.metadata.name for node in fleet.core.list_node().items]:
        fleet.core.delete_node(fleet.node_name)


def driver(namespace: str, dra: dict[str, Any], gpus: int = 1, **more: Any) -> dict[str, str]:
    sharing = {"dra": {**dra, "namespaces": [namespace]}}
    pool = {**POOL, "name": "claims", "gpus_per_node": gpus, "sharing": sharing}
    args = {"catalogue": "2026.11", "platform": "sandbox", "pools": [pool], **more}
    return {"__main__.py": PROGRAM.format(args=args)}


def labels(dra: dict[str, Any]) -> dict[str, str]:
    """Registration labels of a node of such a pool."""
    gpu = load().gpu("H100-80GB")
    camel = {{"extended_resource": "extendedResource"}.get(k, k): v for k, v in dra.items()}
    partition, found = cut(gpu, 1, Sharing.model_validate({"dra": camel}), "sharing")
    assert partition is not None, found
    return registration_labels("claims", gpu, partition)


RELEASE = """
from importlib.resources import files

import pulumi_kubernetes as k8s

namespace = k8s.core.v1.Namespace("n", metadata={{"name": "{namespace}"}})
k8s.helm.v3.Release(
    "driver",
    name="driver",
    namespace=namespace.metadata["name"],
    chart=str(files("gpufleet_sandbox") / "charts" / "dra-driver-nvidia-gpu"),
    values={values!r},
)
"""


def release(fleet: Cluster, values: dict[str, Any]) -> dict[str, str]:
    return {"__main__.py": RELEASE.format(namespace=f"{fleet.namespace}-driver", values=values)}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "needs gpuResourcesEnabledOverride=true"),
        ({"gpuResourcesEnabledOverride": True, "featuregates": {}}, "featuregates"),
    ],
    ids=["override", "key"],
)
def test_values_the_chart_refuses(
    shared_project: Project, fleet: Cluster, values: dict[str, Any], words: str
) -> None:
    shared_project.write(release(fleet, values))
    with pytest.raises(EngineError, match=words):
        shared_project.run("up")


def test_a_driver_that_crashes_serves_nothing(shared_project: Project, fleet: Cluster) -> None:
    """The chart renders conflicting gates; so does ours, by raw values no check of ours sees."""
    gates = {"DynamicMIG": True, "MPSSupport": True}
    values = {"gpuResourcesEnabledOverride": True, "featureGates": gates}
    shared_project.write(release(fleet, values))
    shared_project.run("up")
    fleet.node(1, labels({}))
    until(lambda: "mutually exclusive" in fleet.driver(), "the reason on the node")
    assert fleet.slices() == []
    shared_project.run("destroy")


def test_mig_devices_exclude_each_other(shared_project: Project, fleet: Cluster) -> None:
    shared_project.write(driver(fleet.namespace, CUT))
    shared_project.run("up")
    fleet.node(1, labels(CUT))
    until(lambda: fleet.driver() == "running: 26 devices", "the driver on the node")

    # 3g + 2g + 1g.20gb is full for 3g; the whole GPU is gone with the first slice.
    for name in ("3g-40gb", "2g-20gb"):
        fleet.claiming(f"slice-{name}", f"claims-mig-{name}")
        fleet.running(f"slice-{name}")
    fleet.claiming("whole", "claims-gpu")
    fleet.stays_pending("whole", "cannot allocate all claims")
    fleet.claiming("slice-4g", "claims-mig-4g-40gb")
    fleet.stays_pending("slice-4g", "cannot allocate all claims")
    fleet.claiming("slice-1g", "claims-mig-1g-20gb")
    fleet.running("slice-1g")
    fleet.claiming("slice-1g-more", "claims-mig-1g-10gb")
    fleet.stays_pending("slice-1g-more", "cannot allocate all claims")

    # Pending pods first: a pod that is deleted while the scheduler binds it holds its devices a
    # moment longer, and no event reports when they are free.
    for name in ("slice-4g", "slice-1g-more", "slice-3g-40gb", "slice-2g-20gb", "slice-1g"):
        fleet.delete(name)
    fleet.running("whole")
    assert list(fleet.devices().values()) == ["gpu-0"]
    fleet.delete("whole")

    # Classic requests: served through the class, never by the node's own capacity.
    for number in range(7):
        fleet.asking(f"classic-{number}", "nvidia.com/mig-1g.10gb")
    fleet.running(*(f"classic-{number}" for number in range(7)))
    assert len(set(fleet.devices().values())) == 7
    assert all("-mig-1g10gb-" in device for device in fleet.devices().values())
    assert all("-extended-resources-" in claim for claim in fleet.devices())
    fleet.asking("classic-8", "nvidia.com/mig-1g.10gb")
    fleet.stays_pending("classic-8", "cannot allocate all claims")
    fleet.asking("classic-whole", "nvidia.com/gpu")
    fleet.stays_pending("classic-whole", "cannot allocate all claims")


NEEDS = {
    "devices": "mig",
    "claims": [
        {"name": "roomy", "memory_mib": 18000},
        {"name": "wide", "multiprocessors": 61},
        {"name": "slice", "profile": "2g.20gb"},
        {"name": "pair", "devices": "gpu", "count": 2, "products": ["H100-80GB", "A100-80GB"]},
        {"name": "near", "devices": "gpu", "count": 2, "same_pcie_root": True},
    ],
}
LIMITED = {
    "claims": [
        {"name": "served", "sharing": "mps", "clients": 3, "pinned_memory_mib": 9000},
        {"name": "turns", "sharing": "timeSlicing", "interval": "Long", "clients": 2},
    ],
}


def test_claims_get_what_they_need(shared_project: Project, fleet: Cluster) -> None:
    shared_project.write(driver(fleet.namespace, NEEDS, 2))
    shared_project.run("up")
    fleet.node(2, labels({"devices": "mig"}))
    until(lambda: fleet.driver() == "running: 52 devices", "the driver on the node")

    # The smallest devices that meet each: 20 GB, 64 multiprocessors, the profile.
    for name in ("roomy", "wide", "slice"):
        fleet.claiming(name, f"claims-{name}")
        fleet.running(name)
    of_pods = {claim.split("-gpu-")[0]: device for claim, device in fleet.devices().items()}
    kinds = {name: device.split("-mig-")[1].split("-")[0] for name, device in of_pods.items()}
    assert kinds == {"roomy": "1g20gb", "wide": "4g40gb", "slice": "2g20gb"}
    fleet.claiming("pair", "claims-pair")
    fleet.stays_pending("pair", "cannot allocate all claims")
    for name in ("roomy", "wide", "slice"):
        fleet.delete(name)
    fleet.running("pair")
    assert len(fleet.devices()) == 1
    fleet.delete("pair")
    # Each simulated GPU has its own PCIe root.
    fleet.claiming("near", "claims-near")
    fleet.stays_pending("near", "cannot allocate all claims")
    fleet.delete("near")


def test_claims_bring_their_own_sharing(shared_project: Project, fleet: Cluster) -> None:
    shared_project.write(driver(fleet.namespace, LIMITED, 2))
    shared_project.run("up")
    fleet.node(2, labels({}))
    until(lambda: fleet.driver() == "running: 2 devices", "the driver on the node")
    for name in ("a", "b", "c"):
        fleet.sharing(name, "claims-served-0")
    for name in ("d", "e"):
        fleet.sharing(name, "claims-turns-0")
    fleet.running("a", "b", "c", "d", "e")
    assert set(fleet.devices().values()) == {"gpu-0", "gpu-1"}
    assert fleet.events("FailedPrepareDynamicResources") == []


def test_pods_share_a_claim_and_a_refused_one_says_why(
    shared_project: Project, fleet: Cluster
) -> None:
    shared = {"sharing": "timeSlicing", "clients": 3, "interval": "Long"}
    shared_project.write(driver(fleet.namespace, shared))
    shared_project.run("up")
    fleet.node(2, labels(shared))
    until(lambda: fleet.driver() == "running: 2 devices", "the driver on the node")
    for name in ("a", "b", "c"):
        fleet.sharing(name, "claims-gpu-0")
    fleet.sharing("d", "claims-gpu-1")
    fleet.running("a", "b", "c", "d")
    assert set(fleet.devices()) == {"claims-gpu-0", "claims-gpu-1"}
    assert fleet.events("FailedPrepareDynamicResources") == []

    # The same claims under a driver without the gate: declared by hand, past our own refusal.
    fleet.custom.create_namespaced_custom_object(
        *RESOURCE, fleet.namespace, "resourceclaims", mps_claim()
    )
    fleet.delete("d")
    until(lambda: "claims-gpu-1" not in fleet.devices(), "the second GPU to be free")
    fleet.sharing("e", "by-hand")
    fleet.running("e")
    said = until(lambda: fleet.events("FailedPrepareDynamicResources"), "the driver's refusal")
    assert 'unknown GPU sharing strategy: "MPS"' in said[0]


def mps_claim() -> dict[str, Any]:
    parameters = {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 50}},
    }
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    opaque = {"driver": "gpu.nvidia.com", "parameters": parameters}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "by-hand"},
        "spec": {"devices": {"requests": [request], "config": [{"opaque": opaque}]}},
    }


WAYS = {
    "claims": [
        {
            "name": "either",
            "first_available": [
                {"products": ["H200-141GB"]},
                {"products": ["H100-80GB"], "count": 2},
            ],
        },
        {"name": "watch", "admin_access": True, "count": 2},
        {"name": "bears", "tolerations": [{"key": "example.com/repair"}]},
    ],
}


def test_claims_are_met_in_the_second_way_and_watched(
    api: client.ApiClient, shared_project: Project, fleet: Cluster
) -> None:
    admits = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    client.CoreV1Api(api).patch_namespace(fleet.namespace, admits)
    shared_project.write(driver(fleet.namespace, WAYS, 2))
    shared_project.run("up")
    fleet.node(2, labels({}))
    until(lambda: fleet.driver() == "running: 2 devices", "the driver on the node")
    fleet.claiming("either", "claims-either")  # no H200 is there: two H100 are taken
    fleet.running("either")
    fleet.claiming("bears", "claims-bears")
    fleet.stays_pending("bears", "cannot allocate all claims")
    fleet.claiming("watch", "claims-watch")  # administrative access takes nothing away
    fleet.running("watch")
    fleet.delete("either")
    fleet.running("bears")
