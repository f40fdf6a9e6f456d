"""The plan against the real engine: what it replaces or deletes is what `gpufleet change` named."""

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from tests.clouds import Clouds
from tests.engine.conftest import Project
from tests.engine.engine_preview import HARD, differences, read_preview
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, inventory, simulated
from tests.unit.change.edits import EKS, GKE, VSPHERE, Data, fleet

TAGS = {"cost-center": "4711"}
SAMPLE = ("same", "disk", "types", "labels", "machine", "sharing")

CLOUD = """
import json
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pulumi_gcp as gcp

import gpufleet

given = json.loads(Path("given.json").read_text())
providers = {
    "aws": aws.Provider("amazon", region="us-east-1"),
    "gcp": gcp.Provider("google", project="stand-in", region="us-central1"),
}
for pool in given["pools"]:
    getattr(gpufleet, given["component"])(
        pool["name"],
        {**given["connection"], "pool": pool},
        pulumi.ResourceOptions(providers=providers),
    )
"""
VCENTER = """
import json
from pathlib import Path

import pulumi
from gpufleet import VsphereGpuNodeGroup

given = json.loads(Path("given.json").read_text())
for pool in given["pools"]:
    VsphereGpuNodeGroup(
        pool["name"],
        {
            "catalogue": "2026.11",
            "name_prefix": "ml",
            "pool": pool,
            "connection": {
                "server": "127.0.0.1",
                "port": given["port"],
                "plain_http": True,
                "datacenter": "DC0",
                "compute_cluster": "DC0_C0",
                "join": {
                    "method": "rke2",
                    "endpoint": "https://10.0.0.10:9345",
                    "token": pulumi.Output.secret(given["token"]),
                },
            },
        },
    )
"""


def snake(value: Any) -> Any:
    """Arguments of components in Python's spelling; keys of maps have no capitals."""
    if isinstance(value, dict):
        return {
            re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", key): (
                one if key in {"launchTemplate", "nodeGroup", "nodePool"} else snake(one)
            )
            for key, one in value.items()
        }
    return [snake(one) for one in value] if isinstance(value, list) else value


def compiled(data: Data) -> Fleet:
    result = compile_data(data)
    assert result.fleet is not None, [str(one) for one in result.findings]
    return result.fleet


def previewed(project: Project) -> dict[str, Any]:
    """Output of `pulumi preview --json`."""
    made = subprocess.run(
        ["pulumi", "preview", "--json", "--non-interactive", "--stack", project.stack],
        cwd=project.folder,
        env={**project.engine.env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
    return json.loads(made.stdout)


def replay(
    project: Project, old: Data, new: Data, given: Callable[[Data], dict[str, Any]]
) -> list[str]:
    """Deploy one side, preview the other: what differs from the plan."""
    project.write({"given.json": json.dumps(given(old))})
    project.run("up")
    project.write({"given.json": json.dumps(given(new))})
    fleets = compiled(old), compiled(new)
    plan = change_plan(*fleets)
    found = read_preview(previewed(project))
    replaced = {one.name for one in found if one.operation in HARD}
    planned = {pool.name for pool in plan.pools for one in pool.engine if one.operation in HARD}
    assert {name.rpartition("-")[0] for name in replaced} <= planned | {f"{p}-tag" for p in planned}
    return differences(plan, *fleets, found)


def of_pools(edits: dict[str, Any], names: tuple[str, ...] | None) -> dict[str, Any]:
    return {name: both for name, both in edits.items() if names is None or name in names}


@pytest.mark.parametrize(
    "names",
    [pytest.param(SAMPLE, id="sample"), pytest.param(None, id="all", marks=pytest.mark.nightly)],
)
def test_on_eks(cloud_project: Callable[..., Project], clouds: Clouds, names: Any) -> None:
    made = clouds.eks_cluster("ml")
    connection = {
        "catalogue": "2026.11",
        "region": "us-east-1",
        "name_prefix": "ml",
        "tags": TAGS,
        "cluster_name": made["clusterName"],
        "node_role_arn": made["nodeRoleArn"],
        "subnet_ids_by_zone": made["subnetIdsByZone"],
        "vpc_id": made["vpcId"],
        "cluster_security_group_id": made["clusterSecurityGroupId"],
        "cluster_endpoint": "https://ml.example.com",
        "cluster_certificate_authority": "Q0E=",
        "cluster_service_cidr": "172.20.0.0/16",
    }
    edits = of_pools(EKS, names)

    def given(data: Data) -> dict[str, Any]:
        own = {**connection, "tags": data["tags"], "name_prefix": data["namePrefix"]}
        return {"component": "EksGpuNodeGroup", "connection": own, "pools": snake(data["pools"])}

    project = cloud_project({"__main__.py": CLOUD})
    old = fleet("eks", 0, edits, tags=TAGS)
    assert replay(project, old, fleet("eks", 1, edits, tags=TAGS), given) == []
    if names is None:
        for whole in ({"tags": {"cost-center": "12"}}, {"tags": TAGS, "namePrefix": "other"}):
            assert replay(project, old, {**old, **whole}, given) == []


@pytest.mark.parametrize(
    "names",
    [pytest.param(SAMPLE, id="sample"), pytest.param(None, id="all", marks=pytest.mark.nightly)],
)
def test_on_gke(cloud_project: Callable[..., Project], names: Any) -> None:
    edits = of_pools(GKE, names)

    def given(data: Data) -> dict[str, Any]:
        connection = {
            "catalogue": "2026.11",
            "region": "us-central1",
            "cluster_name": "ml",
            "project": "stand-in",
            "name_prefix": data["namePrefix"],
            "tags": data["tags"],
        }
        return {
            "component": "GkeGpuNodePool",
            "connection": connection,
            "pools": snake(data["pools"]),
        }

    project = cloud_project({"__main__.py": CLOUD})
    old, new = (fleet("gke", side, edits, tags=TAGS) for side in (0, 1))
    assert replay(project, old, new, given) == []


def test_on_vsphere(project: Callable[..., Project]) -> None:
    with simulated(inventory(hosts=3, gpus=4, machines=2)) as vcenter:
        made = project({"__main__.py": VCENTER})
        made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})

        def given(data: Data) -> dict[str, Any]:
            port = vcenter.proxy.port
            # Without the word the preview refuses what ends machines that run.
            words = {"cpus": "restart"}
            pools = [
                {
                    **pool,
                    "vsphere": {
                        **pool.get("vsphere", {}),
                        "update_policy": words.get(pool["name"], "replace"),
                    },
                }
                for pool in snake(data["pools"])
            ]
            return {"pools": pools, "port": port, "token": SECRET}

        old, new = (fleet("vsphere", side, VSPHERE) for side in (0, 1))
        assert replay(made, old, new, given) == []
        made.run("destroy")
