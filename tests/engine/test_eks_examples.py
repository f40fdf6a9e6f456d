"""The examples for EKS as they are in the repository, on the simulated AWS."""

import json
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet_sandbox.engine import EngineError
from tests.clouds import Clouds

EXAMPLES = Path(__file__).parents[2] / "examples"
CHARTS = str(files("gpufleet_sandbox") / "charts")
GROUP = "aws:eks/nodeGroup:NodeGroup"

POOLS = EXAMPLES.parent / "examples" / "eks-pools"
FLEETS = ("add-pools", "inference", "notebooks", "training")


def copied(project: Any, example: Path, config: dict[str, Any]) -> Any:
    """An example's files in a project of the test's own, with its settings."""
    for file in [example / "__main__.py", *example.glob("[!P]*.yaml")]:
        shutil.copy(file, project.folder)
    described = yaml.safe_load((example / "Pulumi.yaml").read_text())
    assert set(config) <= set(described["config"])
    named = {f"{described['name']}:{key}": value for key, value in config.items()}
    file = project.folder / f"Pulumi.{project.stack}.yaml"
    kept = yaml.safe_load(file.read_text()) if file.exists() else {}
    file.write_text(yaml.safe_dump({**kept, "config": named}))
    return project


@pytest.mark.parametrize("name", FLEETS)
def test_a_fleet_previews(
    cloud_cluster_project: Callable[..., Any], clouds: Clouds, name: str
) -> None:
    cluster = clouds.eks_cluster("ml")
    project = cloud_cluster_project({}, name=f"gpufleet-{POOLS.name}")
    connection = {
        "kubeconfig": project.engine.env["KUBECONFIG"],
        **{key: cluster[key] for key in ("nodeRoleArn", "subnetIdsByZone", "vpcId")},
        "clusterSecurityGroupId": cluster["clusterSecurityGroupId"],
    }
    settings = {"fleet": name, "connection": connection, "charts": CHARTS}
    copied(project, POOLS, settings).run("preview")
    assert clouds.calls("create") == []


PLATFORM = """
import json
from pathlib import Path

import pulumi

for key, value in json.loads(Path("given.json").read_text()).items():
    pulumi.export(key, value)
"""


@pytest.mark.parametrize("command", ["preview", "up"])
def test_a_pool_of_another_stack(
    cloud_project: Callable[..., Any], clouds: Clouds, command: str
) -> None:
    cluster = clouds.eks_cluster("ml")
    known = {
        "clusterName": "ml",
        "nodeRoleArn": cluster["nodeRoleArn"],
        "subnetA": cluster["subnetIdsByZone"]["us-east-1a"],
        "configurations": ["all-disabled", "default"],
    }
    platform = cloud_project({"__main__.py": PLATFORM}, name="platform")

    def declared(*configurations: str) -> None:
        outputs = {**known, "configurations": [*known["configurations"], *configurations]}
        platform.write({"given.json": json.dumps(outputs)})
        platform.run("up")

    declared()
    example = EXAMPLES.parent / "examples" / "eks-pools/another-stack"
    team = cloud_project({}, name="gpufleet-eks-pool-in-another-stack")
    copied(team, example, {"platform": f"organization/platform/{platform.stack}"})
    with pytest.raises(EngineError, match="configuration-not-declared") as refused:
        team.run(command)
    missing = str(refused.value).split("device-plugin.config=")[1].split(",")[0]
    declared(missing)
    team.run(command)
    if command == "preview":
        assert clouds.resources(GROUP) == []
        return
    assert clouds.one(GROUP).outputs["labels"]["nvidia.com/device-plugin.config"] == missing
    team.run("destroy")
