"""The region of what is adopted: that of its resources, never another one without a note."""

import json
from typing import Any

from click.testing import CliRunner

from gpufleet_policies.commands.adopt import command

ARN = "arn:aws:eks:eu-west-1:111122223333:"


def adopted(**cluster: str) -> dict[str, Any]:
    """A Terraform state with a cluster and one node group."""
    group: dict[str, Any] = {
        "id": "lab:gpu",
        "cluster_name": "lab",
        "node_group_name": "gpu",
        "ami_type": "AL2023_x86_64_NVIDIA",
        "version": "1.34",
        "capacity_type": "ON_DEMAND",
        "instance_types": ["g6.xlarge"],
        "scaling_config": [{"desired_size": 1, "max_size": 3, "min_size": 0}],
        "node_role_arn": "arn:aws:iam::111122223333:role/gpu",
        "subnet_ids": ["subnet-1"],
    }
    rows = [
        ("aws_eks_cluster", {"id": "lab", "name": "lab", "version": "1.34", **cluster}),
        ("aws_eks_node_group", group),
    ]
    resources = [
        {"address": f"{kind}.this", "mode": "managed", "type": kind, "name": "this",
         "provider_name": "registry.terraform.io/hashicorp/aws", "values": values}
        for kind, values in rows
    ]  # fmt: skip
    state = {
        "format_version": "1.0",
        "terraform_version": "1.9.8",
        "values": {"root_module": {"resources": resources}},
    }
    done = CliRunner().invoke(command, ["-", "--format", "json"], input=json.dumps(state))
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_region_is_read_from_an_arn() -> None:
    found = adopted(arn=f"{ARN}cluster/lab")
    assert found["spec"]["cluster"]["region"] == "eu-west-1"
    assert not any("region" in note for note in found["notes"])


def test_a_region_that_nothing_states_is_noted() -> None:
    found = adopted()
    assert (
        "cluster.region is not known from these resources: write it before you compile"
        in found["notes"]
    )
    assert "region" not in found["spec"]["cluster"]
