"""Pods that leave the nodes of a pool, by kind, from `kubectl get nodes,pods -A -o json`.

What a drain does to each kind: kubernetes/kubectl `pkg/drain/filters.go`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.live_node import explain_nodes, read_nodes
from gpufleet.change.live_pods import LivePod, MovingPods, moving_pods, read_pods
from gpufleet.cli import change as module
from gpufleet.findings import Finding
from tests.unit.change.fleets import EIGHTHS, HALVES, WHOLE, compiled, fleet_data

SHARE = "nvidia.com/mig-1g.10gb"


def node(name: str, pool: str = "cut", **labels: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"gpufleet.dev/pool": pool} | labels},
    }


def pod(
    name: str, node: str, owner: str | None, phase: str = "Running", **spec: Any
) -> dict[str, Any]:
    owners = [] if owner is None else [{"kind": owner, "controller": True}, {"kind": "Other"}]
    metadata = {"namespace": "lab", "name": name, "ownerReferences": owners}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"nodeName": node, "containers": [container(SHARE, "2")], **spec},
        "status": {"phase": phase},
    }


def container(resource: str, count: str) -> dict[str, Any]:
    return {"resources": {"limits": {resource: count, "cpu": "4"}}}


PODS = [
    pod("serve-1", "n0", "ReplicaSet"),
    pod("serve-2", "n1", "ReplicaSet"),
    pod("train", "n0", "Job", initContainers=[container(SHARE, "7"), container(SHARE, "3")]),
    pod("claims", "n1", "StatefulSet", containers=[{}], resourceClaims=[{"name": "gpu"}]),
    pod("alone", "n1", None),
    pod("exporter", "n0", "DaemonSet"),
    pod("kube-proxy", "n0", "Node"),
    pod("done", "n0", "Job", phase="Succeeded"),
    pod("elsewhere", "n9", "Job"),
    pod("waits", "n0", "Job") | {"spec": {}},
]
DUMP = {"kind": "List", "items": [node("n0"), node("n1"), node("n9", "other"), *PODS]}


def moved(
    old: dict[str, Any], new: dict[str, Any], dump: dict[str, Any] = DUMP
) -> tuple[list[MovingPods], list[Finding]]:
    plan, nodes = change_plan(compiled(old), compiled(new)), read_nodes(dump)
    reports = explain_nodes(compiled(new), nodes)
    moving, findings = moving_pods(plan, nodes, reports, read_pods(dump) or ())
    return list(moving), findings


def test_pods_are_read() -> None:
    pods = {one.name: one for one in read_pods(DUMP) or ()}
    assert set(pods) == {f"lab/{n}" for n in (
        "serve-1", "serve-2", "train", "claims", "alone", "exporter", "kube-proxy", "elsewhere"
    )}  # fmt: skip
    assert pods["lab/train"] == LivePod("lab/train", "n0", "Job", gpus=7, claims=0)
    assert pods["lab/claims"] == LivePod("lab/claims", "n1", "StatefulSet", gpus=0, claims=1)
    assert pods["lab/serve-1"].owner == "Deployment"
    assert read_pods({"kind": "List", "items": [node("n0")]}) is None


def test_pods_that_leave_are_counted_by_kind() -> None:
    moving, findings = moved(fleet_data(EIGHTHS), fleet_data(HALVES, change={"previous": EIGHTHS}))
    assert moving == [
        MovingPods("cut", "Deployment", pods=2, gpus=4, claims=0),
        MovingPods("cut", "Job", pods=1, gpus=7, claims=0),
        MovingPods("cut", "StatefulSet", pods=1, gpus=0, claims=1),
        MovingPods("cut", "none", pods=1, gpus=2, claims=0),
    ]
    (lost,) = findings
    assert (lost.code, lost.evidence["pods"]) == ("change-loses-pods", ["lab/alone"])
    assert "lab/alone" in lost.message


def test_a_node_that_is_done_keeps_its_pods() -> None:
    after = fleet_data(HALVES, change={"previous": EIGHTHS})
    pool = compiled(after).pools[0]
    ready = node("n1", **dict(pool.labels))
    ready["status"] = {"allocatable": {name: str(n) for name, n in pool.advertised.items()}}
    dump = {"kind": "List", "items": [node("n0"), ready, *PODS]}
    moving, findings = moved(fleet_data(EIGHTHS), after, dump)
    assert {one.owner: one.pods for one in moving} == {"Deployment": 1, "Job": 1}
    assert findings == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (fleet_data(WHOLE), fleet_data(WHOLE)),
        # More shares: the plugin restarts, pods stay.
        (
            fleet_data({"timeSlicing": {"replicas": 2}}),
            fleet_data({"timeSlicing": {"replicas": 4}}),
        ),
    ],
)
def test_nothing_leaves_where_no_node_is_emptied(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert moved(old, new) == ([], [])


def test_pods_of_a_pool_that_goes_leave() -> None:
    old = fleet_data(WHOLE)
    new = fleet_data(WHOLE)
    new["pools"][0]["name"] = "renamed"
    moving, _ = moved(old, new)
    assert {one.pool for one in moving} == {"cut"}


def test_the_command_prints_them(tmp_path: Path) -> None:
    files = []
    for name, data in (
        ("old", fleet_data(EIGHTHS)),
        ("new", fleet_data(HALVES, change={"previous": EIGHTHS})),
    ):
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(data))
    arguments = [*map(str, files), "--nodes", "-"]
    text = CliRunner().invoke(module.command, arguments, input=json.dumps(DUMP)).stdout
    assert "  cut: 2 of Deployment with 4 GPUs or shares, made again on other nodes" in text
    shown = CliRunner().invoke(
        module.command, [*arguments, "--format", "json"], input=json.dumps(DUMP)
    )
    document = json.loads(shown.stdout)
    assert document["pods"][2] == {
        "pool": "cut",
        "owner": "StatefulSet",
        "pods": 1,
        "gpus": 0,
        "claims": 1,
        "then": "made again under the same name, once the old one is gone",
    }
