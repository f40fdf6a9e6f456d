"""GKE pools under the real engine, against the simulated Google: GKE accepts our requests."""

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest
from kubernetes import client, config

from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.gke.compute_class import compute_class
from gpufleet_sandbox.cloud.scenario import Disturbance
from gpufleet_sandbox.cloud.store import Stored
from gpufleet_sandbox.engine import EngineError
from gpufleet_sandbox.sandbox import Sandbox
from tests.clouds import Clouds
from tests.engine.sandbox_stack import Stack, stack_files
from tests.unit.components.gke_pools import CONNECTION, POOLS

NODE_POOL = "gcp:container/nodePool:NodePool"
CHARTS = str(files("gpufleet_sandbox") / "charts")
ALONE = {name: pool for name, pool in POOLS.items() if name != "ladder"}

PROGRAM = """
import json
from pathlib import Path

import pulumi
import pulumi_gcp as gcp

from gpufleet import GkeGpuNodePool

given = json.loads(Path("given.json").read_text())
google = gcp.Provider("google", project="stand-in", region="us-central1")
for pool in given["pools"]:
    GkeGpuNodePool(
        pool["name"],
        {**given["connection"], "pool": pool},
        pulumi.ResourceOptions(providers={"gcp": google}),
    )
"""


@pytest.fixture
def deploy(cloud_project: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a project; `deploy(name=pool)` writes other pools."""
    project = cloud_project({"__main__.py": PROGRAM})

    def pools(**declared: dict[str, Any]) -> Any:
        named = [{"name": name.replace("_", "-"), **pool} for name, pool in declared.items()]
        project.write({"given.json": json.dumps({"connection": CONNECTION, "pools": named})})
        return project

    return pools


def pool_of(clouds: Clouds, name: str) -> dict[str, Any]:
    """The node pool's properties as the provider recorded them."""
    (found,) = [pool for pool in clouds.resources(NODE_POOL) if pool.inputs["name"] == f"ml-{name}"]
    return dict(found.outputs)


def test_every_way_of_buying_is_made_kept_and_removed(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    project = deploy(**ALONE)
    project.run("up")
    assert len(clouds.resources(NODE_POOL)) == len(ALONE)
    assert pool_of(clouds, "queued")["queuedProvisioning"] == {"enabled": True}
    assert pool_of(clouds, "flex-start")["nodeConfig"]["flexStart"] is True
    project.run("preview", "--refresh", "--expect-no-changes")
    project.run("destroy")
    assert clouds.resources() == []


@pytest.mark.nightly
def test_limits_change_in_place_and_sharing_makes_a_new_pool(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    pool = POOLS["time-sharing"]
    deploy(chat=pool).run("up")
    deploy(chat={**pool, "nodes": {"min": 1, "max": 9}, "disk": {"size_gib": 300}}).run("up")
    assert pool_of(clouds, "chat")["autoscaling"]["totalMaxNodeCount"] == 9
    assert [call.operation for call in clouds.calls()] == ["create", "update"]
    deploy(chat={**pool, "sharing": {"time_slicing": {"replicas": 2}}}).run("up")
    # The name is ours, so the old pool goes before the new one comes.
    assert [call.operation for call in clouds.calls()][2:] == ["delete", "create"]


def test_an_update_that_fails_half_way_is_finished_by_the_next(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    clouds.disturb(
        Disturbance(
            operation="create", name="spot*", nth=1, then="fail", message="ZONE_RESOURCE_POOL"
        ),
        Disturbance(
            operation="create", name="mps*", nth=1, then="fail-after", message="GCE_STOCKOUT"
        ),
    )
    project = deploy(spot=POOLS["spot"], mps=POOLS["mps"])
    with pytest.raises(EngineError) as failure:
        project.run("up", "--continue-on-error")
    assert "ZONE_RESOURCE_POOL" in str(failure.value)
    assert "GCE_STOCKOUT" in str(failure.value)
    project.run("up")
    assert [call.operation for call in clouds.calls() if call.name.startswith("mps")] == [
        "create",
        "update",
    ]
    assert len(clouds.resources(NODE_POOL)) == 2
    project.run("preview", "--expect-no-changes")


OLD = "projects/stand-in/locations/us-central1/clusters/ml/nodePools/by-hand"


def made_by_hand(clouds: Clouds) -> Stored:
    """A node pool that no program manages, with its own settings."""
    inputs: dict[str, Any] = {
        "cluster": "ml",
        "location": "us-central1",
        "project": "stand-in",
        "name": "by-hand",
        "initialNodeCount": 2,
        "maxPodsPerNode": 64,
        "autoscaling": {"minNodeCount": 0, "maxNodeCount": 2},
        "management": {"autoRepair": False, "autoUpgrade": False},
        "nodeDrainConfigs": [{"respectPdbDuringNodePoolDeletion": True}],
        "nodeConfig": {
            "machineType": "g2-standard-8",
            "diskSizeGb": 77,
            "labels": {"old": "label"},
            "tags": ["old-tag"],
            "spot": True,
            "bootDisk": {"diskType": "pd-ssd"},
            "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
        },
    }
    old = Stored(NODE_POOL, OLD, "old", inputs, {**inputs, "instanceGroupUrls": []})
    clouds.gcp.folder.save(old)
    return old


TAKEN_OVER: dict[str, Any] = {
    "instance_types": ["g2-standard-4"],
    "nodes": {"min": 1, "max": 5},
    "sharing": {"time_slicing": {"replicas": 4}},
    "import_id": "stand-in/us-central1/ml/by-hand",
}
MANAGED: dict[str, Any] = {**TAKEN_OVER, "gke": {"imported": "manage"}}


def test_an_existing_node_pool_is_adopted_unchanged(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    old = made_by_hand(clouds)
    project = deploy(chat=TAKEN_OVER)
    project.run("up")
    assert clouds.one(NODE_POOL) == old
    project.run("preview", "--expect-no-changes")
    assert {call.operation for call in clouds.calls()} == {"read"}


def test_a_node_pool_that_was_taken_over_follows_the_declaration(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    old = made_by_hand(clouds)
    project = deploy(chat=MANAGED)
    project.run("up")
    project.run("preview", "--expect-no-changes")
    found = clouds.one(NODE_POOL)
    assert found.id == OLD
    assert found.outputs["autoscaling"]["totalMaxNodeCount"] == 5
    assert found.outputs["management"] == {"autoRepair": True, "autoUpgrade": True}
    nodes = found.outputs["nodeConfig"]
    assert nodes["labels"] == {"gpufleet.dev/pool": "chat"}
    assert nodes["tags"] == ["gpu-nodes"]
    # Fields that only a new node pool could change are unchanged, for any declaration.
    kept = ("machineType", "diskSizeGb", "spot", "bootDisk", "guestAccelerators")
    assert {key: nodes[key] for key in kept} == {key: old.inputs["nodeConfig"][key] for key in kept}
    assert found.outputs["maxPodsPerNode"] == 64
    deploy(chat={**MANAGED, "nodes": {"min": 0, "max": 7}}).run("up")
    assert clouds.one(NODE_POOL).outputs["autoscaling"]["totalMaxNodeCount"] == 7
    assert {call.operation for call in clouds.calls()} == {"read", "update"}


CLUSTER = """
import os
from pathlib import Path

import pulumi

pulumi.export("kubeconfig", pulumi.Output.secret(Path(os.environ["KUBECONFIG"]).read_text()))
pulumi.export("nodeServiceAccount", "nodes@acme-ml-prod.iam.gserviceaccount.com")
for index in range(1, 5):
    pulumi.export(f"gpuNetwork{index}", f"gpu-{index}")
    pulumi.export(f"gpuSubnet{index}", f"gpu-{index}-sub")
"""


def test_the_stack_gke_prod_beside_the_stack_of_its_cluster(
    cloud_cluster_project: Callable[..., Any], clouds: Clouds, api: Any
) -> None:
    """The repository's own program and stack file: both drivers, a fallback order, networks, the
    operator; only the place of the charts is another."""
    fleet = Stack(cloud_cluster_project(stack_files(), name="gpufleet"), "Pulumi.gke-prod.yaml")
    cluster = cloud_cluster_project({"__main__.py": CLUSTER}, name="cluster")
    cluster.run("up")
    connection = fleet.config["gpufleet:connection"]
    connection["clusterStack"] = f"organization/cluster/{cluster.stack}"
    fleet.fleet["addons"]["charts"] = {"source": {"folder": CHARTS}}
    fleet.save()
    project = fleet.project
    project.run("up")
    objects: Any = client.CustomObjectsApi(api)
    made = objects.get_cluster_custom_object("cloud.google.com", "v1", "computeclasses", "chat")
    assert made["spec"]["priorities"] == [
        {"nodepools": ["ml-prod-chat-on-demand"]},
        {"nodepools": ["ml-prod-chat-spot"]},
    ]
    parameters = objects.get_cluster_custom_object(
        "networking.gke.io", "v1", "gkenetworkparamsets", "vpc4"
    )
    assert parameters["spec"] == {
        "vpc": "gpu-4",
        "vpcSubnet": "gpu-4-sub",
        "deviceMode": "NetDevice",
    }
    quota: Any = client.CoreV1Api(api).read_namespaced_resource_quota(
        "gpu-operator-quota", "gpu-operator"
    )
    assert quota.spec.hard == {"pods": "1G"}
    pools = {pool.inputs["name"]: pool.outputs for pool in clouds.resources(NODE_POOL)}
    assert set(pools) == {
        "ml-prod-chat-on-demand",
        "ml-prod-chat-spot",
        "ml-prod-notebooks",
        "ml-prod-training",
    }
    assert len(pools["ml-prod-training"]["networkConfig"]["additionalNodeNetworkConfigs"]) == 4
    config = pools["ml-prod-notebooks"]["nodeConfig"]
    assert config["serviceAccount"] == "nodes@acme-ml-prod.iam.gserviceaccount.com"
    assert pools["ml-prod-training"]["project"] == "acme-ml-prod"
    assert project.engine.outputs(project.stack)["advertised"] == {
        "chat": {"nvidia.com/gpu": 4},
        "notebooks": {
            "nvidia.com/mig-1g.10gb": 7,
            "nvidia.com/mig-2g.20gb": 2,
            "nvidia.com/mig-3g.40gb": 1,
        },
        "training": {"nvidia.com/gpu": 8},
    }
    project.run("preview", "--expect-no-changes")


CLASSES: dict[str, dict[str, Any]] = {
    "ways": {
        "instanceTypes": ["a3-highgpu-8g"],
        "capacity": [
            {"reserved": {"id": "gpus", "zone": "us-central1-a", "blocks": ["block-1"]}},
            {"spot": {}},
            {"flexStart": {}},
        ],
    },
    "plain": {
        "gpu": "L4",
        "taints": [{"key": "example.com/team", "value": "abc"}, {"key": "example.com/without"}],
        "zones": ["us-central1-b"],
        "gke": {
            "localSsds": 1,
            "maxPods": 32,
            "imageCache": "projects/ml/global/images/models",
            "openReservations": True,
        },
    },
}


def test_classes_by_which_gke_makes_node_pools_are_accepted(sandbox: Sandbox) -> None:
    """By the definition that a cluster serves, its rules included."""
    spec = {
        "catalogue": "2026.11",
        "platform": "gke",
        "cluster": {"name": "ml", "region": "us-central1"},
        "provisioner": "computeClass",
        "pools": [
            {"name": name, "nodes": {"min": 0, "max": 4}, **pool} for name, pool in CLASSES.items()
        ],
    }
    fleet = compile_data(spec).fleet
    assert fleet is not None
    server = sandbox.server()
    path = "/apis/cloud.google.com/v1/computeclasses?dryRun=All&fieldValidation=Strict"
    for pool in fleet.pools:
        manifest = compute_class(pool, "ml")
        assert manifest is not None
        answer = server.request("POST", path, json.dumps(manifest).encode())
        assert answer.status == 201, answer.body.decode()
        manifest["spec"]["priorities"][0]["reservations"] = {"affinity": "Specific"}
        refused = server.request("POST", path, json.dumps(manifest).encode())
        assert "At least 1 specific reservation" in refused.body.decode()


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[Any]:
    with config.new_client_from_config(str(sandbox.kubeconfig)) as found:
        yield found
