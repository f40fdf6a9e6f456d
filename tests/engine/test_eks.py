"""EKS pools under the real engine, against the simulated AWS: AWS accepts our requests."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config

from gpufleet_sandbox.cloud.scenario import Disturbance
from gpufleet_sandbox.engine import EngineError
from gpufleet_sandbox.sandbox import Sandbox
from tests.clouds import Clouds
from tests.engine.sandbox_stack import config_as_shipped, write_config
from tests.unit.components.eks_pools import POOLS

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
TAG = "aws:autoscaling/tag:Tag"
STACKS = Path(__file__).parents[2] / "stacks"
PROGRAM_FILES = ("__main__.py", "settings.py", "eks.py")
CHARTS = str(files("gpufleet_sandbox") / "charts")

PROGRAM = """
import json
from pathlib import Path

import pulumi
import pulumi_aws as aws

from gpufleet import EksGpuNodeGroup

given = json.loads(Path("given.json").read_text())
amazon = aws.Provider("amazon", region="us-east-1")
for pool in given["pools"]:
    made = EksGpuNodeGroup(
        pool["name"],
        {**given["connection"], "pool": pool},
        pulumi.ResourceOptions(providers={"aws": amazon}),
    )
    pulumi.export(pool["name"], made.scaling_group_name)
"""


@pytest.fixture
def cluster(clouds: Clouds) -> dict[str, Any]:
    """A cluster, its network and its roles."""
    return clouds.eks_cluster("ml")


@pytest.fixture
def deploy(cloud_project: Callable[..., Any], cluster: dict[str, Any]) -> Callable[..., Any]:
    """Makes a project; `deploy(pools)` writes other pools."""
    connection = {
        "catalogue": "2026.11",
        "region": "us-east-1",
        "name_prefix": "ml",
        "tags": {"cost-center": "4711"},
        "cluster_name": cluster["clusterName"],
        "node_role_arn": cluster["nodeRoleArn"],
        "subnet_ids_by_zone": cluster["subnetIdsByZone"],
        "vpc_id": cluster["vpcId"],
        "cluster_security_group_id": cluster["clusterSecurityGroupId"],
        "cluster_endpoint": "https://ml.example.com",
        "cluster_certificate_authority": "Q0E=",
        "cluster_service_cidr": "172.20.0.0/16",
    }
    project = cloud_project({"__main__.py": PROGRAM})

    def pools(**declared: dict[str, Any]) -> Any:
        named = [{"name": name, **pool} for name, pool in declared.items()]
        project.write({"given.json": json.dumps({"connection": connection, "pools": named})})
        return project

    return pools


def group_of(clouds: Clouds, pool: str) -> dict[str, Any]:
    """The node group as the EKS API shows it to another client."""
    found = [g for g in clouds.resources(GROUP) if g.outputs["tags"]["gpufleet.dev/pool"] == pool]
    (stored,) = found
    name = stored.outputs["nodeGroupName"]
    return clouds.aws_call("eks", "DescribeNodegroup", clusterName="ml", nodegroupName=name)[
        "nodegroup"
    ]


def test_every_way_of_buying_and_every_image(deploy: Callable[..., Any], clouds: Clouds) -> None:
    project = deploy(**POOLS)
    project.run("up")
    block = group_of(clouds, "capacity-block")
    assert block["capacityType"] == "CAPACITY_BLOCK"
    assert block["taints"][0] == {
        "key": "nvidia.com/gpu",
        "value": "present",
        "effect": "NO_SCHEDULE",
    }
    assert group_of(clouds, "spot")["instanceTypes"] == ["g5.2xlarge", "g5.4xlarge", "g5.xlarge"]
    assert group_of(clouds, "arm")["amiType"] == "AL2023_ARM_64_NVIDIA"
    assert group_of(clouds, "neuron")["amiType"] == "AL2023_x86_64_NEURON"
    assert group_of(clouds, "neuron")["taints"][0]["key"] == "aws.amazon.com/neuron"
    scaled = {tag.outputs["autoscalingGroupName"] for tag in clouds.resources(TAG)}
    assert len(scaled) == 3  # one for each pool of Cluster Autoscaler
    project.run("preview", "--expect-no-changes")
    project.run("destroy")
    assert clouds.resources() == []


def scaled(clouds: Clouds, size: int) -> None:
    """An autoscaler, or a user of the console, sets the size."""
    stored = clouds.one(GROUP)
    scaling = {**stored.outputs["scalingConfig"], "desiredSize": size}
    clouds.aws_call(
        "eks",
        "UpdateNodegroupConfig",
        clusterName="ml",
        nodegroupName=stored.outputs["nodeGroupName"],
        scalingConfig=scaling,
    )
    clouds.folder.save(
        replace(
            stored,
            inputs={**stored.inputs, "scalingConfig": scaling},
            outputs={**stored.outputs, "scalingConfig": scaling},
        )
    )


def sizes(clouds: Clouds) -> tuple[int, int, int]:
    """Least, present and largest size of the pool `chat`, as EKS has them."""
    scaling = group_of(clouds, "chat")["scalingConfig"]
    return scaling["minSize"], scaling["desiredSize"], scaling["maxSize"]


def test_a_size_that_somebody_set_survives_every_change_without_a_refresh(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    pool = {**POOLS["on-demand"], "nodes": {"min": 0, "max": 8}}
    project = deploy(chat=pool)
    project.run("up")
    scaled(clouds, 5)
    project.run("preview", "--expect-no-changes")
    deploy(chat={**pool, "nodes": {"min": 0, "max": 9}, "labels": {"a": "b"}}).run("up")
    assert sizes(clouds) == (0, 5, 9)
    # EKS refuses a minimum above the size and a maximum below it: the size moves with them.
    deploy(chat={**pool, "nodes": {"min": 6, "max": 9}}).run("up")
    assert sizes(clouds) == (6, 6, 9)
    deploy(chat={**pool, "nodes": {"min": 1, "max": 3}}).run("up")
    assert sizes(clouds) == (1, 3, 3)


@pytest.mark.nightly
def test_disk_and_hop_limit_change_in_place_and_types_replace(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    pool = POOLS["spot"]
    deploy(jobs=pool).run("up")
    first = clouds.one(GROUP)
    deploy(jobs={**pool, "disk": {"size_gib": 500}, "eks": {"metadata_hop_limit": 2}}).run("up")
    assert clouds.one(GROUP).id == first.id
    assert clouds.one(GROUP).outputs["launchTemplate"]["version"] == "2"
    deploy(jobs={**pool, "instance_types": ["g5.2xlarge"]}).run("up")
    assert clouds.one(GROUP).id != first.id


@pytest.mark.nightly
def test_failure_in_the_middle_is_finished_by_the_next_update(
    deploy: Callable[..., Any], clouds: Clouds
) -> None:
    clouds.disturb(
        Disturbance(operation="create", type=GROUP, nth=1, then="fail", message="no capacity")
    )
    project = deploy(training=POOLS["efa-on-demand"])
    with pytest.raises(EngineError, match="no capacity"):
        project.run("up")
    template = clouds.one(TEMPLATE)
    project.run("up")
    assert clouds.one(TEMPLATE).id == template.id
    assert group_of(clouds, "training")["status"] == "ACTIVE"


BY_HAND = """
import json
from pathlib import Path

import pulumi
import pulumi_aws as aws

given = json.loads(Path("given.json").read_text())
amazon = aws.Provider("amazon", region="us-east-1")
aws.eks.NodeGroup(
    "old",
    node_group_name="by-hand",
    cluster_name=given["clusterName"],
    node_role_arn=given["nodeRoleArn"],
    subnet_ids=list(given["subnetIdsByZone"].values()),
    instance_types=["g6.xlarge"],
    ami_type="AL2023_x86_64_NVIDIA",
    scaling_config={"min_size": 0, "max_size": 3, "desired_size": 1},
    labels={"old": "label"},
    opts=pulumi.ResourceOptions(provider=amazon),
)
"""


def test_an_existing_group_is_taken_over_unchanged_and_then_managed(
    cloud_project: Callable[..., Any],
    deploy: Callable[..., Any],
    clouds: Clouds,
    cluster: dict[str, Any],
) -> None:
    files = {"__main__.py": BY_HAND, "given.json": json.dumps(cluster)}
    cloud_project(files, name="old").run("up")
    old = clouds.one(GROUP)
    pool = {"instance_types": ["g6.xlarge"], "nodes": {"min": 0, "max": 5}}
    adopted = {**pool, "import_id": "ml:by-hand"}
    project = deploy(chat=adopted)
    project.run("up")
    assert clouds.one(GROUP) == old
    assert clouds.resources(TEMPLATE) == []
    project.run("preview", "--expect-no-changes")
    managed = {**adopted, "eks": {"imported": "manage"}}
    deploy(chat=managed).run("up")
    project.run("preview", "--expect-no-changes")
    group = clouds.one(GROUP)
    assert group.id == "ml:by-hand"
    assert group.outputs["scalingConfig"] == {"minSize": 0, "maxSize": 5, "desiredSize": 1}
    assert group.outputs["labels"]["gpufleet.dev/pool"] == "chat"
    assert group.outputs["amiType"] == "AL2023_x86_64_NVIDIA"
    deploy(chat={**managed, "labels": {"example.com/tier": "web"}}).run("up")
    changed = clouds.one(GROUP)
    assert (changed.id, changed.outputs["labels"]["example.com/tier"]) == (group.id, "web")


@pytest.fixture
def stack_of(
    cloud_cluster_project: Callable[..., Any], cluster: dict[str, Any]
) -> Callable[[str], Any]:
    """A stack of this repository, with the cluster's ids in the place of another stack's outputs,
    and charts of the sandbox."""

    def make(environment: str) -> Any:
        program = {f"stacks/{name}": (STACKS / name).read_text() for name in PROGRAM_FILES}
        program["Pulumi.yaml"] = (
            "name: gpufleet\nmain: stacks\nstackConfigDir: stacks\nruntime: python\n"
        )
        project = cloud_cluster_project(program, name=f"gpufleet-{environment}")
        settings = config_as_shipped(f"Pulumi.eks-{environment}.yaml")
        fleet = settings["gpufleet:fleet"]
        fleet["cluster"]["name"] = "ml"
        fleet["addons"] = {**fleet.get("addons", {}), "charts": {"source": {"folder": CHARTS}}}
        settings["gpufleet:connection"] = {
            "clusterIdentifier": f"eks-{environment}",
            "kubeconfig": project.engine.env["KUBECONFIG"],
            "nodeRoleArn": cluster["nodeRoleArn"],
            "subnetIdsByZone": cluster["subnetIdsByZone"],
            "vpcId": cluster["vpcId"],
            "clusterSecurityGroupId": cluster["clusterSecurityGroupId"],
        }
        write_config(project.folder / f"stacks/Pulumi.{project.stack}.yaml", settings)
        return project

    return make


@pytest.mark.nightly
def test_the_stack_eks_dev_previews(stack_of: Callable[[str], Any], clouds: Clouds) -> None:
    stack_of("dev").run("preview")
    assert clouds.calls("create") == []


def test_the_stack_eks_prod_with_both_autoscalers(
    stack_of: Callable[[str], Any], clouds: Clouds, cluster: dict[str, Any], api: Any
) -> None:
    project = stack_of("prod")
    (settings,) = project.folder.rglob(f"Pulumi.{project.stack}.yaml")
    assert "until: 2027-07-04T11:30:00Z\n" in settings.read_text(), "the time is as it was shipped"
    project.run("up")
    made = {one.outputs["tags"]["gpufleet.dev/pool"] for one in clouds.resources(GROUP)}
    assert made == {"notebooks", "training"}
    assert group_of(clouds, "training")["capacityType"] == "CAPACITY_BLOCK"
    queue = clouds.one("aws:sqs/queue:Queue").outputs
    assert queue["tags"]["cost-center"] == "4711"
    objects: Any = client.CustomObjectsApi(api)
    pool = objects.get_cluster_custom_object("karpenter.sh", "v1", "nodepools", "gpufleet-chat")
    assert pool["spec"]["limits"]["nodes"] == "8"
    kind = ("karpenter.k8s.aws", "v1", "ec2nodeclasses")
    node_class = objects.get_cluster_custom_object(*kind, "gpufleet-chat")
    assert node_class["spec"]["role"] == cluster["nodeRoleArn"].rsplit("/", 1)[-1]
    assert node_class["spec"]["amiSelectorTerms"] == [{"alias": "al2023@v20261101"}]
    core: Any = client.CoreV1Api(api)
    told = core.read_namespaced_config_map("karpenter-settings", "kube-system").data["values.json"]
    settings = json.loads(told)["settings"]
    assert settings["clusterName"] == "ml"
    assert settings["interruptionQueue"] == queue["name"]
    assert settings["featureGates"]["nodeOverlay"] is True
    expander = core.read_namespaced_config_map(
        "cluster-autoscaler-priority-expander", "kube-system"
    )
    assert yaml.safe_load(expander.data["priorities"]) == {
        50: ["^eks-ml-prod-training-[0-9a-f]{7,26}-[0-9a-f]{8}-"],
        1: [".*"],
    }
    agents = {one.outputs["addonName"] for one in clouds.resources("aws:eks/addon:Addon")}
    assert agents == {"eks-node-monitoring-agent"}
    project.run("preview", "--expect-no-changes")
    project.run("destroy")
    assert clouds.resources() == []


@pytest.fixture
def api(sandbox: Sandbox) -> Iterator[Any]:
    """A client of the shared cluster."""
    with config.new_client_from_config(str(sandbox.kubeconfig)) as found:
        yield found
