"""The simulated AWS and Google providers under the real engine, with unchanged programs."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpufleet_sandbox.cloud.scenario import Disturbance
from gpufleet_sandbox.engine import EngineError
from tests.clouds import Clouds
from tests.engine.waiting import until

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_POOL = "gcp:container/nodePool:NodePool"

PROGRAM = """
import json
import re
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pulumi_gcp as gcp

given = json.loads(Path("given.json").read_text())
amazon = aws.Provider("amazon", region="us-east-1", default_tags={"tags": {"owner": "tests"}})
google = gcp.Provider("google", project="stand-in", region="us-central1")
in_amazon = pulumi.ResourceOptions(provider=amazon)
in_google = pulumi.ResourceOptions(provider=google)

template = aws.ec2.LaunchTemplate(
    "template",
    instance_type=given["instanceType"],
    block_device_mappings=[{"device_name": "/dev/xvda", "ebs": {"volume_size": 200}}],
    opts=in_amazon,
)
group = aws.eks.NodeGroup(
    "group",
    cluster_name=given["clusterName"],
    node_role_arn=given["nodeRoleArn"],
    subnet_ids=list(given["subnetIdsByZone"].values()),
    ami_type=given["amiType"],
    scaling_config={"min_size": 0, "max_size": given["max"], "desired_size": 0},
    launch_template={"id": template.id, "version": template.latest_version.apply(str)},
    opts=in_amazon,
)
aws.autoscaling.Tag(
    "tag",
    autoscaling_group_name=group.resources[0].autoscaling_groups[0].name,
    tag={"key": "k8s.io/cluster-autoscaler/enabled", "value": "1", "propagate_at_launch": False},
    opts=in_amazon,
)
gcp.container.NodePool(
    "pool",
    cluster="ml-prod",
    location="us-central1",
    node_config={
        "machine_type": "g2-standard-8",
        "guest_accelerators": [{"type": "nvidia-l4", "count": given["gpus"]}],
    },
    node_count=given["max"],
    opts=in_google,
)
pulumi.export("group", group.node_group_name)
"""


@pytest.fixture
def fleet(cloud_project: Callable[..., Any], clouds: Clouds) -> Callable[..., Any]:
    """Makes the project; `fleet(max=5)` writes other settings."""
    cluster = clouds.eks_cluster("ml-prod")
    given = {
        **cluster,
        "instanceType": "g6.2xlarge",
        "amiType": "AL2023_x86_64_NVIDIA",
        "max": 2,
        "gpus": 1,
    }
    made = cloud_project({"__main__.py": PROGRAM})

    def settings(**changed: Any) -> Any:
        given.update(changed)
        made.write({"given.json": json.dumps(given)})
        return made

    return settings


def test_up_again_change_replace_and_destroy(fleet: Callable[..., Any], clouds: Clouds) -> None:
    project = fleet()
    project.run("up")
    group = clouds.one(NODE_GROUP)
    assert group.outputs["tagsAll"] == {"owner": "tests"}
    assert group.outputs["launchTemplate"] == {"id": clouds.one(TEMPLATE).id, "version": "1"}
    seen_by_api = clouds.aws_call(
        "eks",
        "DescribeNodegroup",
        clusterName="ml-prod",
        nodegroupName=group.outputs["nodeGroupName"],
    )["nodegroup"]
    assert seen_by_api["amiType"] == "AL2023_x86_64_NVIDIA"
    project.run("preview", "--expect-no-changes")
    calls = len(clouds.calls())
    fleet(max=5, instanceType="g6.4xlarge").run("up")
    changed = [call.operation for call in clouds.calls()[calls:] if call.operation != "read"]
    assert changed.count("update") == 3, changed
    assert clouds.one(NODE_GROUP).outputs["launchTemplate"]["version"] == "2"
    fleet(amiType="BOTTLEROCKET_x86_64_NVIDIA").run("up")
    assert clouds.one(NODE_GROUP).id != group.id
    project.run("destroy")
    assert clouds.resources() == []


def test_refused_inputs_name_property_and_value(fleet: Callable[..., Any], clouds: Clouds) -> None:
    with pytest.raises(EngineError) as failure:
        fleet(amiType="AL2023_x86_64_NVIDA").run("preview")
    assert "amiType: must be one of" in str(failure.value)
    assert "is 'AL2023_x86_64_NVIDA'" in str(failure.value)
    wrong = "nodeConfig.guestAccelerators[0].count: must be a whole number, and is 'many'"
    with pytest.raises(EngineError, match=re.escape(wrong)):
        fleet(amiType="AL2023_x86_64_NVIDIA", gpus="many").run("preview")
    assert clouds.calls("create") == []


def test_failure_in_the_middle_and_recovery(fleet: Callable[..., Any], clouds: Clouds) -> None:
    clouds.disturb(
        Disturbance(operation="create", type=NODE_GROUP, nth=1, then="fail", message="no capacity"),
        Disturbance(
            operation="create", type=NODE_POOL, nth=1, then="fail-after", message="stockout"
        ),
    )
    with pytest.raises(EngineError) as failure:
        fleet().run("up", "--continue-on-error")
    assert "no capacity" in str(failure.value)
    assert "stockout" in str(failure.value)
    assert clouds.resources(NODE_GROUP) == []
    pool = clouds.one(NODE_POOL)
    project = fleet()
    project.run("up")
    assert clouds.one(NODE_POOL).id == pool.id
    assert clouds.one(NODE_GROUP).outputs["status"] == "ACTIVE"
    # GKE itself refuses what no type check sees: two GPUs on a machine with one.
    with pytest.raises(EngineError, match="g2-standard-8 has 1 accelerators, not 2"):
        fleet(gpus=2).run("up")
    fleet(gpus=1)
    project.run("destroy")
    assert clouds.resources() == []


def test_installed_plugins_share_a_cloud_and_leave_when_told(
    project: Callable[..., Any], tmp_path: Path
) -> None:
    clouds = Clouds(tmp_path / "cloud")
    program = """
        import pulumi, pulumi_aws as aws
        amazon = aws.Provider("amazon", region="us-east-1")
        queue = aws.sqs.Queue("queue", opts=pulumi.ResourceOptions(provider=amazon))
        pulumi.export("url", queue.url)
    """
    made = project({"__main__.py": program})
    made.engine.env.update(clouds.environment())
    made.run("up")
    queue = clouds.one("aws:sqs/queue:Queue")
    assert made.engine.outputs(made.stack) == {"url": queue.id}
    made.run("preview", "--refresh", "--expect-no-changes")
    clouds.disturb(Disturbance(operation="delete", type="*Queue", then="hang"))
    # It hangs for an hour, unless it is interrupted.
    said = tmp_path / "said"
    with said.open("wb") as file:
        destroying = subprocess.Popen(
            ["pulumi", "destroy", "--yes", "--skip-preview", "--stack", made.stack],
            cwd=made.folder,
            env=made.engine.env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
    try:
        until(lambda: "deleting" in said.read_text(), said.read_text)
        destroying.send_signal(signal.SIGINT)
        assert destroying.wait(300) != 0
    finally:
        destroying.kill()
        destroying.wait()
    assert clouds.one("aws:sqs/queue:Queue") == queue
    clouds.calm()
    made.engine.call(["cancel", made.stack, "--yes"])
    made.run("destroy")
    assert clouds.resources() == []
