"""`adopt` of nodes that no cloud of gpufleet created: correct, or it names the unread parts."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gpufleet.platforms.compiled import compile_data
from gpufleet_policies.commands.adopt import command

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8"}


def node(name: str, labels: dict[str, str], capacity: dict[str, str], **more: Any) -> Any:
    info = {"kubeletVersion": more.pop("kubelet", "v1.34.3"), "osImage": more.pop("os", "Ubuntu")}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": more,
        "status": {"capacity": capacity, "nodeInfo": info},
    }


def adopted(tmp_path: Path, *objects: Any) -> dict[str, Any]:
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
    result = CliRunner().invoke(command, [str(file), "--format", "json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("more", "image"),
    [
        ({"kubelet": "v1.34.3+rke2r1"}, "rke2-driver"),
        ({"kubelet": "v1.34.3+k3s1"}, "k3s"),
        ({"os": "DGX OS 7.2.1"}, "dgx"),
        ({"providerID": "azure:///subscriptions/x"}, "aks"),
        ({"providerID": "ocid1.instance.oc1..x"}, "oke"),
        ({}, None),
    ],
)
def test_what_nodes_bring_is_what_they_say(
    tmp_path: Path, more: dict[str, str], image: str | None
) -> None:
    found = adopted(tmp_path, node("a", H100, {"nvidia.com/gpu": "8"}, **more), node("b", {}, {}))
    spec = found["spec"]
    assert spec["platform"] == "existing"
    assert "region" not in spec["cluster"]
    (pool,) = spec["pools"]
    assert (pool["gpu"], pool["gpusPerNode"], pool["nodes"]) == (
        "H100-80GB",
        8,
        {"min": 1, "max": 1},
    )
    assert pool.get("image") == image
    assert pool["existing"] == {"nodes": ["a"]}
    assert "capacity" not in pool
    notes = " ".join(found["notes"])
    assert "prices are not in the cluster" in notes
    assert ("the driver's installer was not found" in notes) == (image is None)
    assert compile_data(spec).deployable


def test_labels_of_other_people_stay_theirs(tmp_path: Path) -> None:
    found = adopted(tmp_path, node("a", {**H100, "team": "x"}, {"nvidia.com/gpu": "8"}))
    assert "labels" not in found["spec"]["pools"][0]


@pytest.mark.parametrize(
    ("driver", "toolkit", "kubelet", "image"),
    [
        (True, True, "v1.34.3", "plain"),
        (False, True, "v1.34.3", "plain-driver"),
        (False, False, "v1.34.3", "plain-driver-toolkit"),
        (True, True, "v1.34.3+rke2r1", "rke2"),
        (False, True, "v1.34.3+rke2r1", "rke2-driver"),
        (False, False, "v1.34.3+k3s1", "k3s"),
        # No row has k3s with the operator's driver.
        (True, True, "v1.34.3+k3s1", None),
    ],
)
def test_what_the_operator_installs_is_what_nodes_lack(
    tmp_path: Path, driver: bool, toolkit: bool, kubelet: str, image: str | None
) -> None:
    one = node("a", H100, {"nvidia.com/gpu": "8"}, kubelet=kubelet)
    switches = {"driver": {"enabled": driver}, "toolkit": {"enabled": toolkit}}
    policy = {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": switches,
    }
    by_policy = adopted(tmp_path, one, policy)["spec"]["pools"][0].get("image")
    pods = ["nvidia-operator-validator-x"]
    pods += ["nvidia-driver-daemonset-x"] if driver else []
    pods += ["nvidia-container-toolkit-daemonset-x"] if toolkit else []
    shown = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}} for name in pods]
    by_pods = adopted(tmp_path, one, *shown)["spec"]["pools"][0].get("image")
    assert (by_policy, by_pods) == (image, image)


def test_nodes_that_differ_are_pools_of_their_own(tmp_path: Path) -> None:
    shared = {"nvidia.com/gpu.product": "NVIDIA-L4-SHARED", "nvidia.com/gpu.count": "1"}
    found = adopted(
        tmp_path,
        node("a", H100, {"nvidia.com/gpu": "8"}),
        node("b", H100, {"nvidia.com/gpu": "8"}),
        node("c", shared, {"nvidia.com/gpu": "4"}),
    )
    pools = {pool["name"]: pool for pool in found["spec"]["pools"]}
    assert {name: pool["nodes"]["max"] for name, pool in pools.items()} == {"h100-80gb": 2, "l4": 1}
    assert pools["l4"]["gpusPerNode"] == 1


A100 = {
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/mig.strategy": "mixed",
}
SLICED = {
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb",
    "nvidia.com/gpu.count": "56",
    "nvidia.com/mig.strategy": "single",
}
"""Strategy `single`: product and count are those of the slices (NVIDIA/k8s-device-plugin, GPU
Feature Discovery, "MIG single": seven of each A100)."""


@pytest.mark.parametrize(
    ("labels", "capacity", "mig"),
    [
        (
            {**A100, "nvidia.com/mig.config": "all-balanced"},
            {"nvidia.com/mig-1g.10gb": "16", "nvidia.com/mig-2g.20gb": "8"},
            {"layout": "all-balanced"},
        ),
        (
            A100,
            {"nvidia.com/gpu": "0", "nvidia.com/mig-3g.40gb": "16"},
            {"layouts": [{"devices": {"3g.40gb": 2}}]},
        ),
        (
            {**A100, "nvidia.com/mig.config": "mine"},
            {"nvidia.com/gpu": "6", "nvidia.com/mig-1g.10gb": "14"},
            {"layouts": [{"gpus": 2, "devices": {"1g.10gb": 7}}]},
        ),
        (
            {**SLICED, "nvidia.com/mig.config": "all-1g.10gb"},
            {"nvidia.com/gpu": "56"},
            {"layout": "all-1g.10gb", "strategy": "single"},
        ),
        (
            SLICED,
            {"nvidia.com/gpu": "56"},
            {"layouts": [{"devices": {"1g.10gb": 7}}], "strategy": "single"},
        ),
    ],
)
def test_slices_that_nodes_offer_are_declared(
    tmp_path: Path, labels: dict[str, str], capacity: dict[str, str], mig: dict[str, Any]
) -> None:
    found = adopted(tmp_path, node("a", labels, capacity))
    (pool,) = found["spec"]["pools"]
    assert (pool["gpu"], pool["gpusPerNode"]) == ("A100-80GB", 8)
    assert pool["sharing"] == {"mig": mig}
    compiled = compile_data(found["spec"])
    assert compiled.deployable
    assert compiled.fleet is not None
    if "layouts" in mig:
        offered = compiled.fleet.pools[0].advertised
        assert offered == {key: int(n) for key, n in capacity.items() if n != "0"}


def test_slices_that_are_not_alike_are_no_pool_of_whole_gpus(tmp_path: Path) -> None:
    """`pulumi up` of a pool of whole GPUs would take the slices away."""
    file = tmp_path / "dump.json"
    capacity = {
        "nvidia.com/gpu": "4",
        "nvidia.com/mig-1g.10gb": "14",
        "nvidia.com/mig-3g.40gb": "4",
    }
    one = node("a", {**A100, "nvidia.com/mig.config": "mine"}, capacity)
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [one]}))
    result = CliRunner().invoke(command, [str(file), "--format", "json"])
    assert result.exit_code == 1
    notes = " ".join(json.loads(result.stdout)["notes"])
    assert "a node offers 14 x 1g.10gb, 4 x 3g.40gb" in notes
    assert "add the ConfigMap of the MIG manager" in notes
