"""NodePools that select machines by Karpenter's labels of machines, without naming a type.

Labels: karpenter-provider-aws `reference/instance-types`. Machines: AWS, EC2 instance types of
accelerated computing. In category p above generation 4, p5.48xlarge has eight H100; in family g6e,
only g6e.48xlarge has more than four L40S.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpufleet.catalogue import load
from gpufleet_policies.commands.adopt import command
from tests.unit.adopt.public_node_pools import NODE_POOLS

AWS = "karpenter.k8s.aws/"


def require(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def adopt(tmp_path: Path, *requirements: dict[str, Any], capacity: bool = True) -> Result:
    bought = [require("karpenter.sh/capacity-type", "on-demand")] if capacity else []
    inner = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "vision"},
        "requirements": [*requirements, *bought],
        "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
    }
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "vision"},
        "spec": {"template": {"spec": inner}, "limits": {"nvidia.com/gpu": "8"}},
    }
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "vision"},
        "spec": {"amiSelectorTerms": [{"alias": "al2023@v20261001"}], "role": "nodes"},
    }
    file = tmp_path / "dump.json"
    dump = {"apiVersion": "v1", "kind": "List", "items": [pool, node_class]}
    file.write_text(json.dumps(dump))
    return CliRunner().invoke(command, [str(file), "--format", "json"])


@pytest.mark.parametrize(
    ("requirements", "types"),
    [
        (
            [
                require(f"{AWS}instance-family", "g6"),
                require(f"{AWS}instance-size", "xlarge", "2xlarge"),
            ],
            {"g6.xlarge", "g6.2xlarge"},
        ),
        (
            [
                require(f"{AWS}instance-category", "p"),
                require(f"{AWS}instance-generation", "4", operator="Gt"),
                require(f"{AWS}instance-gpu-name", "h100"),
                require(f"{AWS}instance-gpu-count", "8"),
            ],
            {"p5.48xlarge"},
        ),
        (
            [
                require(f"{AWS}instance-gpu-manufacturer", "nvidia"),
                require(f"{AWS}instance-family", "g6e"),
                require(f"{AWS}instance-gpu-count", "4", operator="Gt"),
            ],
            {"g6e.48xlarge"},
        ),
    ],
    ids=["family", "category", "manufacturer"],
)
def test_machines_are_those_that_the_labels_select(
    tmp_path: Path, requirements: list[dict[str, Any]], types: set[str]
) -> None:
    result = adopt(tmp_path, *requirements)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    (pool,) = found["spec"]["pools"]
    assert set(pool["instanceTypes"]) == types
    assert pool["karpenter"]["requirements"] == requirements
    keys = ", ".join(one["key"] for one in requirements)
    note = f"instanceTypes are the {len(types)} of the catalogue that {keys} select"
    assert any(note in one for one in found["notes"])


@pytest.mark.parametrize(
    "requirement",
    [
        require(f"{AWS}instance-category", "c", "m"),
        require(f"{AWS}instance-category", "c", "g"),
        require("node.kubernetes.io/instance-type", "g6.xlarge", operator="NotIn"),
    ],
    ids=["no GPUs", "some GPUs", "all but one"],
)
def test_machines_without_gpus_make_another_pool(
    tmp_path: Path, requirement: dict[str, Any]
) -> None:
    result = adopt(tmp_path, requirement)
    assert result.exit_code == 1
    assert "no group of nodes with GPUs was found" in result.output


@pytest.mark.parametrize("name", NODE_POOLS)
def test_public_node_pools_are_adopted_with_a_pool_for_each_gpu(name: str, tmp_path: Path) -> None:
    """12 of 12: each machine is one that the requirements select, and each pool has one GPU."""
    requirements, gpus = NODE_POOLS[name]
    result = adopt(tmp_path, *requirements, capacity=False)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    catalogue = load()
    found: set[str] = set()
    for pool in document["spec"]["pools"]:
        rows = [catalogue.instances[one] for one in pool["instanceTypes"]]
        alike = {(row.accelerator.gpu, row.accelerator.count) for row in rows}
        assert len(alike) == 1, pool
        found.add(rows[0].accelerator.gpu)
    assert gpus <= found
    # What is left out is what EKS has no driver or price for: K80, V100, parts of GPUs.
    lost = [note for note in document["notes"] if "is left out" in note]
    assert not [note for note in lost if any(f"x-{gpu.lower()} " in note for gpu in gpus)]


def test_a_static_pool_of_auto_mode_is_read(tmp_path: Path) -> None:
    """Nodes go after 336 hours by default (Amazon EKS user guide, automode, create-node-pool)."""
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "vision"},
        "spec": {
            "replicas": 2,
            "template": {
                "spec": {
                    "nodeClassRef": {
                        "group": "eks.amazonaws.com",
                        "kind": "NodeClass",
                        "name": "x",
                    },
                    "expireAfter": "200h",
                    "requirements": [require("node.kubernetes.io/instance-type", "g6.xlarge")],
                }
            },
        },
    }
    file = tmp_path / "dump.json"
    node_class = {
        "apiVersion": "eks.amazonaws.com/v1",
        "kind": "NodeClass",
        "metadata": {"name": "x"},
        "spec": {"ephemeralStorage": {"size": "300Gi"}},
    }
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [pool, node_class]}))
    result = CliRunner().invoke(command, [str(file), "--format", "json"])
    (found,) = json.loads(result.stdout)["spec"]["pools"]
    assert found["provisioner"] == "autoMode"
    assert found["nodes"] == {"min": 2, "max": 2}
    assert found["karpenter"] == {"static": True, "expireAfter": "200h"}
    assert found["disk"] == {"sizeGib": 300}
