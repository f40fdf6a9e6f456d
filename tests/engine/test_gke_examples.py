"""The examples on GKE as they are in the repository, against the simulated Google."""

import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import pytest
from kubernetes import client

from tests.clouds import Clouds
from tests.engine.namespaces import make_namespace
from tests.engine.sandbox_stack import ROOT

CHARTS = str(files("gpufleet_sandbox") / "charts")
NODE_POOL = "gcp:container/nodePool:NodePool"
TIME_SHARING = ROOT / "examples" / "gke-pools/time-sharing"
POOLS = ROOT / "examples" / "gke-pools"
SETTINGS = {"project": "lab", "charts": CHARTS}


def program(example: Any) -> dict[str, str]:
    """Its files; the environment it names is that of the repository, and here that of the tests."""
    description = (example / "Pulumi.yaml").read_text()
    described = re.sub(r"  options:\n    virtualenv: [./]+/\.venv\n", "", description)
    files = [example / "__main__.py", *example.glob("[!P]*.yaml")]
    return {"Pulumi.yaml": described, **{file.name: file.read_text() for file in files}}


def test_time_sharing(cloud_project: Callable[..., Any], clouds: Clouds) -> None:
    project = cloud_project(program(TIME_SHARING), name="gke-time-sharing")
    project.run("up", config={"project": "lab"})
    pool = clouds.one(NODE_POOL)
    assert pool.id == "projects/lab/locations/us-central1/clusters/ml/nodePools/gpufleet-chat"
    assert pool.outputs["nodeConfig"]["spot"] is True
    assert project.engine.outputs(project.stack)["advertised"] == {"nvidia.com/gpu": 4}
    project.run("destroy")


@pytest.mark.nightly
@pytest.mark.parametrize("fleet", ["mig-notebooks", "queued-training"])
def test_a_fleet_previews(
    cloud_cluster_project: Callable[..., Any], clouds: Clouds, fleet: str
) -> None:
    project = cloud_cluster_project(program(POOLS), name=POOLS.name)
    project.run("preview", config={**SETTINGS, "fleet": fleet})
    assert clouds.calls("create") == []


@pytest.mark.nightly
def test_notebooks_on_slices_that_the_operator_cuts(
    cloud_cluster_project: Callable[..., Any], clouds: Clouds, core: Any
) -> None:
    project = cloud_cluster_project(program(POOLS), name=POOLS.name)
    project.run("up", config={**SETTINGS, "fleet": "mig-notebooks"})
    nodes = clouds.one(NODE_POOL).outputs["nodeConfig"]
    (gpu,) = nodes["guestAccelerators"]
    assert gpu["gpuDriverInstallationConfig"] == {"gpuDriverVersion": "INSTALLATION_DISABLED"}
    assert "gpuPartitionSize" not in gpu
    assert nodes["labels"]["gke-no-default-nvidia-gpu-device-plugin"] == "true"
    quota = core.read_namespaced_resource_quota("gpu-operator-quota", "gpu-operator")
    assert quota.spec.hard == {"pods": "1G"}
    assert project.engine.outputs(project.stack)["advertised"] == {
        "notebooks": {"nvidia.com/mig-1g.10gb": 3, "nvidia.com/mig-3g.40gb": 1}
    }
    layouts = [
        one.data
        for one in core.list_namespaced_config_map("gpu-operator").items
        if "mig" in one.metadata.name
    ]
    assert any("3g.40gb" in text for data in layouts for text in (data or {}).values())


@pytest.fixture
def teams(core: Any) -> Iterator[tuple[str, ...]]:
    """Namespaces of the teams, which a cluster has before it gets queues."""
    names = ("product", "research")
    for name in names:
        make_namespace(core, name)
    yield names
    for name in names:
        core.delete_namespace(name)


@pytest.mark.nightly
def test_training_that_waits_in_a_queue(
    cloud_cluster_project: Callable[..., Any],
    clouds: Clouds,
    cluster: Any,
    teams: tuple[str, ...],
) -> None:
    project = cloud_cluster_project(program(POOLS), name=POOLS.name)
    project.run("up", config={**SETTINGS, "fleet": "queued-training"})
    pool = clouds.one(NODE_POOL).outputs
    assert pool["queuedProvisioning"] == {"enabled": True}
    assert pool["nodeConfig"]["maxRunDuration"] == "172800s"
    objects: Any = client.CustomObjectsApi(cluster)
    kueue = ("kueue.x-k8s.io", "v1beta2")
    request = objects.get_cluster_custom_object(
        *kueue, "provisioningrequestconfigs", "training-nodes"
    )
    assert request["spec"]["provisioningClassName"] == "queued-provisioning.gke.io"
    assert request["spec"]["managedResources"] == ["nvidia.com/gpu"]
    queues = objects.list_cluster_custom_object(*kueue, "clusterqueues")["items"]
    assert set(teams) <= {one["metadata"]["name"] for one in queues}
