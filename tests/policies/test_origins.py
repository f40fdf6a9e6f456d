"""One pool, declared in five ways, gives the same facts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpufleet.cluster.pool import NodePool
from gpufleet_policies.fronts.audit.inputs import Input
from gpufleet_policies.fronts.audit.run import completed, read_all

PULUMI = {
    "clusterName": "c",
    "nodeGroupName": "gpu",
    "instanceTypes": ["g5g.xlarge"],
    "amiType": "AL2_x86_64_GPU",
    "capacityType": "SPOT",
    "scalingConfig": {"minSize": 1, "maxSize": 4, "desiredSize": 2},
    "labels": {"team": "ml"},
    "taints": [{"key": "nvidia.com/gpu", "effect": "NO_SCHEDULE"}],
    "tags": {"owner": "ml"},
}
TYPE = "aws:eks/nodeGroup:NodeGroup"


def snake(value: Any) -> Any:
    """In Terraform's spelling, blocks as lists."""
    names = {
        "clusterName": "cluster_name",
        "nodeGroupName": "node_group_name",
        "instanceTypes": "instance_types",
        "amiType": "ami_type",
        "capacityType": "capacity_type",
        "scalingConfig": "scaling_config",
        "minSize": "min_size",
        "maxSize": "max_size",
        "desiredSize": "desired_size",
        "taints": "taint",
    }
    if isinstance(value, dict):
        found = {names.get(key, key): snake(one) for key, one in value.items()}
        if "scaling_config" in found:
            found["scaling_config"] = [found["scaling_config"]]
        return found
    return [snake(one) for one in value] if isinstance(value, list) else value


def pascal(value: Any, *, keep: bool = False) -> Any:
    """In the spelling of CloudFormation."""
    if isinstance(value, dict):
        names = {"nodeGroupName": "NodegroupName"}
        return {
            key if keep else names.get(key, key[:1].upper() + key[1:]): pascal(
                one, keep=key in ("labels", "tags")
            )
            for key, one in value.items()
        }
    return [pascal(one) for one in value] if isinstance(value, list) else value


def state() -> tuple[str, str]:
    urn = f"urn:pulumi:s::p::{TYPE}::gpu"
    resources = [{"urn": urn, "type": TYPE, "inputs": PULUMI}]
    return "state.json", json.dumps({"version": 3, "deployment": {"resources": resources}})


def plan() -> tuple[str, str]:
    resource = {
        "address": "aws_eks_node_group.gpu",
        "type": "aws_eks_node_group",
        "mode": "managed",
    }
    resource |= {"values": snake(PULUMI)}
    root = {"planned_values": {"root_module": {"resources": [resource]}}, "format_version": "1.2"}
    return "plan.json", json.dumps(root)


def terraform() -> tuple[str, str]:
    values = snake(PULUMI)
    lines = [
        f"{key} = {json.dumps(one)}"
        for key, one in values.items()
        if key not in ("scaling_config", "taint")
    ]
    lines += ["scaling_config {", *(f"{k} = {v}" for k, v in values["scaling_config"][0].items())]
    lines += ["}", "taint {", *(f'{k} = "{v}"' for k, v in values["taint"][0].items()), "}"]
    body = "\n".join(lines)
    return "main.tf", f'resource "aws_eks_node_group" "gpu" {{\n{body}\n}}\n'


def cloud_formation() -> tuple[str, str]:
    group = {"Type": "AWS::EKS::Nodegroup", "Properties": pascal(PULUMI)}
    return "stack.json", json.dumps({"Resources": {"gpu": group}})


def program() -> tuple[str, str]:
    resource = {"type": "aws:eks:NodeGroup", "properties": PULUMI}
    return "Pulumi.yaml", json.dumps(
        {"name": "p", "runtime": "yaml", "resources": {"gpu": resource}}
    )


FACTS: dict[str, Callable[[NodePool], Any]] = {
    "image": lambda pool: pool.image.found,
    "machines": lambda pool: pool.instance_types.found,
    "gpu": lambda pool: (pool.gpu.found, pool.gpus_per_node.found),
    "bounds": lambda pool: (pool.size.minimum.found, pool.size.maximum.found),
    "purchase": lambda pool: pool.capacity.found,
    "labels": lambda pool: dict(pool.labels),
    "taints": lambda pool: [(one.key, one.effect) for one in pool.taints.found or ()],
    "owner": lambda pool: pool.tags.get("owner"),
    "name": lambda pool: pool.name,
}
EXPECTED = {
    "image": "AL2_x86_64_GPU",
    "machines": ("g5g.xlarge",),
    "gpu": ("T4G", 1),
    "bounds": (1, 4),
    "purchase": frozenset({"spot"}),
    "labels": {"team": "ml"},
    "taints": [("nvidia.com/gpu", "NoSchedule")],
    "owner": "ml",
    "name": "gpu",
}


@pytest.mark.parametrize("origin", [state, plan, terraform, cloud_formation, program])
def test_a_pool_has_every_fact_whatever_declares_it(
    tmp_path: Path, origin: Callable[[], tuple[str, str]]
) -> None:
    name, text = origin()
    (tmp_path / name).write_text(text)
    (reading,) = completed(read_all([Input(str(tmp_path / name))]))
    (pool,) = [fact for fact in reading.facts if isinstance(fact, NodePool)]
    assert {fact: ask(pool) for fact, ask in FACTS.items()} == EXPECTED
