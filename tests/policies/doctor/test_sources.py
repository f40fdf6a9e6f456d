"""Sources of a dump: a must-gather folder, unreadable files, a large cluster."""

import copy
import json
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from gpufleet_policies.commands.doctor import command
from gpufleet_policies.doctor.diagnosis import diagnose
from gpufleet_policies.doctor.dump import read_folder
from gpufleet_policies.doctor.pending import proofs
from gpufleet_policies.doctor.snapshot import cluster_of
from tests.policies.doctor.clusters import World
from tests.policies.doctor.steps import broken

DESCRIBED = """\
Name:               gpu-0
Roles:              <none>
Labels:             kubernetes.io/hostname=gpu-0
                    nvidia.com/gpu.present=true
                    nvidia.com/gpu.count=8
Annotations:        node.alpha.kubernetes.io/ttl: 0
CreationTimestamp:  Wed, 25 Nov 2026 08:00:00 +0000
Taints:             nvidia.com/gpu=present:NoSchedule
                    node.kubernetes.io/unreachable:NoExecute
Unschedulable:      false
Conditions:
  Type             Status    LastHeartbeatTime                 LastTransitionTime                Reason             Message
  ----             ------    -----------------                 ------------------                ------             -------
  Ready            Unknown   Sat, 28 Nov 2026 11:00:00 +0000   Sat, 28 Nov 2026 11:05:00 +0000   NodeStatusUnknown  Kubelet stopped posting node status.
Capacity:
  cpu:             96
  nvidia.com/gpu:  8
Allocatable:
  cpu:             95
  nvidia.com/gpu:  8
System Info:
  OS Image:        Ubuntu 24.04.1 LTS
  Kubelet Version: v1.36.1
Non-terminated Pods:  (0 in total)
"""  # noqa: E501


def test_the_folder_of_a_must_gather(tmp_path: Path) -> None:
    """Names of files: NVIDIA/gpu-operator `hack/must-gather.sh`."""
    log = {"log": "gpu-operator/nvidia-device-plugin-daemonset-gpu-1"}
    world = broken("whole", [log | {"text": "No devices found. Waiting indefinitely."}])
    (tmp_path / "gpu_nodes.descr").write_text(DESCRIBED)
    dump = json.loads(json.dumps(world.dump()))
    pods = [one for one in dump if one["kind"] == "Pod"]
    (tmp_path / "gpu_operand_pods.yaml").write_text(yaml.safe_dump({"kind": "List", "items": pods}))
    nodes = [one for one in dump if one["kind"] == "Node"]
    others = [one for one in nodes if one["metadata"]["name"] != "gpu-0"]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "NodeList", "items": others}))
    for name, text in world.logs.items():
        (tmp_path / f"gpu_operand_pod_{name}.log").write_text(text)
    (tmp_path / "torn.yaml").write_text("a: [")
    cluster, unread = read_folder(tmp_path)
    assert sorted(cluster.nodes) == ["cpu-0", "gpu-0", "gpu-1"]
    assert cluster.nodes["gpu-0"].devices == {"nvidia.com/gpu": 8}
    assert {one.cause.code: one.found.at for one in diagnose(cluster)} == {
        "node-not-ready": "Node/gpu-0",
        "plugin-finds-no-gpu": "Node/gpu-1",
    }
    assert [one.split(":")[0] for one in unread] == ["torn.yaml"]
    called = CliRunner().invoke(command, [str(tmp_path)])
    assert "torn.yaml" in called.stderr
    assert called.exit_code == 1


def large(nodes: int, pods: int) -> list[dict[str, object]]:
    """A cluster of the size, half of whose pods wait, in sixteen shapes."""
    dump = World("whole").dump()
    (node,) = [one for one in dump if one["kind"] == "Node" and one["metadata"]["name"] == "gpu-0"]
    mine = [one for one in dump if one["kind"] == "Pod" and one["spec"].get("nodeName") == "gpu-0"]
    made = [one for one in dump if one["kind"] not in {"Node", "Pod"}]
    for number in range(nodes):
        for one in (node, *mine):
            two = copy.deepcopy(one)
            two["metadata"]["name"] += f"-{number}"
            if one is not node:
                two["spec"]["nodeName"] = f"gpu-0-{number}"
            made.append(two)
    for number in range(pods - nodes * len(mine)):
        limits = {"nvidia.com/gpu": str(2 ** (number // 2 % 4)), "cpu": str(1 + number // 8 % 4)}
        container = {"name": "c", "image": "a", "resources": {"limits": limits}}
        pod = {"kind": "Pod", "metadata": {"name": f"p-{number}", "namespace": "ml"}}
        pod["spec"] = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
        if number % 2:
            pod["spec"]["nodeName"] = f"gpu-0-{number % nodes}"
        made.append(pod | {"status": {"phase": "Running" if number % 2 else "Pending"}})
    return made


@pytest.mark.nightly
def test_five_thousand_pods_on_five_hundred_nodes_take_ten_seconds() -> None:
    made = large(500, 5000)
    assert sum(one["kind"] == "Pod" for one in made) == 5000
    text = json.dumps(made)
    began = time.process_time()
    cluster = cluster_of(json.loads(text))
    waiting = proofs(cluster)
    assert diagnose(cluster) == ()  # GPUs are free for the waiting pods
    assert time.process_time() - began < 10
    assert len(waiting) == 16


@pytest.mark.nightly
def test_five_thousand_workloads_and_claims_of_a_hundred_nodes_take_five_seconds() -> None:
    queued = broken("queued", [])
    for number in range(5000):
        state = {"admitted": "h100"} if number % 2 else {"reason": "Pending", "message": "x"}
        asks = {"nvidia.com/gpu": 1 + number % 8}
        queued.do({"workload": f"ml/w{number}", "queue": "team", "asks": asks, **state})
    claimed = broken("none", [])
    for number in range(100):
        node, user = f"n{number}", f"ml/user{number}"
        claimed.do({"node": node, "gpu": "NVIDIA-H100-80GB-HBM3", "count": 0})
        claimed.do({"slice": node, "count": 8})
        held = {"claim": f"ml/held{number}", "class": "gpu.nvidia.com", "count": 8}
        claimed.do({**held, "allocated": node, "for": user})
        claimed.do({"pod": user, "claims": {"gpu": f"held{number}"}, "node": node})
        claimed.do({"claim": f"ml/one{number}", "class": "gpu.nvidia.com"})
        claimed.do({"pod": f"ml/p{number}", "claims": {"gpu": f"one{number}"}})
    for world, code in ((queued, "queue-full"), (claimed, "claim-devices-taken")):
        dump = world.dump()
        began = time.process_time()
        assert {one.cause.code for one in diagnose(cluster_of(dump))} == {code}
        assert time.process_time() - began < 5
