"""The examples on GKE as they are in the repository, against the stand-in Google."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from gpufleet.sandbox.cloud.clouds import Clouds
from tests.engine.sandbox_stack import ROOT

CHARTS = str(files("gpufleet") / "sandbox" / "charts")
NODE_POOL = "gcp:container/nodePool:NodePool"
TIME_SHARING = ROOT / "examples" / "gke-time-sharing"
MIG_NOTEBOOKS = ROOT / "examples" / "gke-mig-notebooks"
QUEUED_TRAINING = ROOT / "examples" / "gke-queued-training"


def program(example: Any) -> dict[str, str]:
    """Its files; the environment it names is that of the repository, and here that of the tests."""
    description = (example / "Pulumi.yaml").read_text()
    before, _, after = description.partition("  options:\n    virtualenv: ../../.venv\n")
    return {
        "Pulumi.yaml": before + after,
        "__main__.py": (example / "__main__.py").read_text(),
    }


def test_time_sharing(cloud_project: Callable[..., Any], clouds: Clouds) -> None:
    project = cloud_project(program(TIME_SHARING), name="gke-time-sharing")
    project.run("up", config={"project": "lab"})
    pool = clouds.one(NODE_POOL)
    assert pool.id == "projects/lab/locations/us-central1/clusters/ml/nodePools/gpufleet-chat"
    assert pool.outputs["nodeConfig"]["spot"] is True
    assert project.engine.outputs(project.stack)["advertised"] == {"nvidia.com/gpu": 4}
    project.run("destroy")


@pytest.mark.parametrize(
    ("example", "made"),
    [
        (MIG_NOTEBOOKS, "kubernetes:core/v1:ResourceQuota"),
        (QUEUED_TRAINING, "kubernetes:kueue.x-k8s.io/v1beta2:ProvisioningRequestConfig"),
    ],
    ids=["mig-notebooks", "queued-training"],
)
def test_the_others_plan_what_they_say(
    cloud_cluster_project: Callable[..., Any], example: Any, made: str
) -> None:
    project = cloud_cluster_project(program(example), name=example.name)
    planned = project.run("preview", config={"project": "lab", "charts": CHARTS})
    types = [urn.split("::")[-2].split("$")[-1] for _, urn in planned.steps]
    assert NODE_POOL in types
    assert made in types, sorted(set(types))
