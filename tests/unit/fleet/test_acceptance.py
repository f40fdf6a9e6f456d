from typing import Any

import pytest

from gpufleet.findings import Severity
from gpufleet.fleet import Fleet
from gpufleet.fleet.acceptance import acceptance_of
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.cluster_autoscaler_values import cluster_autoscaler_values
from gpufleet.render import acceptance
from gpufleet.render.artefacts import artefacts
from gpufleet.spec.addons import ClusterAutoscaler

TRAIN = {
    "name": "train",
    "instanceTypes": ["p5.48xlarge"],
    "nodes": {"min": 2, "max": 4},
    "intent": "training",
    "fabric": "efa",
}
CHAT = {"name": "chat", "gpu": "L4", "nodes": {"min": 1, "max": 4}}
SLICES = {
    "name": "slices",
    "instanceTypes": ["p4de.24xlarge"],
    "nodes": {"min": 1, "max": 1},
    "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
}


def fleet(*pools: dict[str, Any], platform: str = "eks", **more: Any) -> Fleet:
    region = {"eks": {"region": "us-east-1"}, "gke": {"region": "us-central1"}}.get(platform, {})
    found = compile_data(
        {
            "catalogue": "2026.11",
            "platform": platform,
            "cluster": {"name": "ml", **region},
            "pools": list(pools),
            "acceptance": {},
            **more,
        }
    )
    assert found.fleet is not None
    return found.fleet


def test_expected_figures_follow_from_the_machine_type() -> None:
    """p5.48xlarge has 900 GB/s of NVLink in both directions and 3200 Gbit/s of EFA; NVIDIA requires
    300 GB/s between such nodes (NVIDIA/aicr, nccl-all-reduce-bw)."""
    tests = acceptance_of(fleet(TRAIN).pools[0])
    assert tests is not None
    assert (tests.gpus, tests.within_gbs, tests.between_gbs) == (8, 337.5, 300.0)
    assert tests.nvlink
    assert tests.nccl
    assert tests.between
    assert tests.diagnostics == 3
    assert tests.memory_mib == int(81559 * 0.9)


def test_a_gpu_without_nvlink_has_no_expected_bandwidth() -> None:
    """g6.12xlarge joins its four L4 by PCIe."""
    four = {**CHAT, "instanceTypes": ["g6.12xlarge"]}
    del four["gpu"]
    made = fleet(four)
    tests = acceptance_of(made.pools[0])
    assert tests is not None
    assert (tests.nccl, tests.nvlink, tests.within_gbs) == (True, False, None)
    (found,) = [f for f in made.findings if f.code == "acceptance-only-reported"]
    assert found.severity is Severity.INFO
    assert "NCCL within a node of chat" in found.message


def test_cut_gpus_get_the_tests_that_run_on_them() -> None:
    tests = acceptance_of(fleet(SLICES).pools[0])
    assert tests is not None
    assert (tests.diagnostics, tests.nccl, tests.nvlink) == (None, False, False)
    assert dict(tests.advertised) == {"nvidia.com/mig-1g.10gb": 56}


def test_work_does_not_tolerate_the_taint_and_operands_do() -> None:
    made = fleet(CHAT)
    (pool,) = made.pools
    assert [one.key for one in pool.taints] == ["nvidia.com/gpu", "gpufleet.dev/not-accepted"]
    files = {file.path: file.text for file in artefacts(made)}
    assert "not-accepted" not in files["pods/chat.yaml"]
    assert "gpufleet.dev/not-accepted" in files["values/gpu-operator.yaml"]
    assert "kind: DaemonSet" in files["manifests/acceptance/chat.yaml"]


def test_karpenter_and_the_cluster_autoscaler_know_that_the_taint_goes() -> None:
    made = fleet({**CHAT, "provisioner": "karpenter", "nodes": {"min": 0, "max": 4}})
    text = next(f.text for f in artefacts(made) if "kind: NodePool" in f.text)
    _, _, starting = text.partition("startupTaints:")
    assert "gpufleet.dev/not-accepted" in starting
    assert text.count("not-accepted") == 1
    scaled = {**CHAT, "provisioner": "clusterAutoscaler", "nodes": {"min": 0, "max": 4}}
    pools = fleet(scaled).pools
    autoscaler = ClusterAutoscaler()
    values = cluster_autoscaler_values(
        autoscaler, pools, "ml", "us-east-1", "1.36", provisioning_requests=False
    )
    assert values["extraArgs"]["startup-taint"] == "gpufleet.dev/not-accepted"


def test_a_pool_of_gke_from_zero_would_never_get_its_first_node() -> None:
    zero = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 4}}
    made = fleet(zero, platform="gke")
    (found,) = [f for f in made.findings if f.code == "acceptance-from-zero"]
    assert found.path == "pools[0].nodes.min"
    assert found.severity is Severity.ERROR
    one = fleet({**zero, "nodes": {"min": 1, "max": 4}}, platform="gke")
    assert not [f for f in one.findings if f.code == "acceptance-from-zero"]


def test_a_taint_that_nothing_removes_is_refused() -> None:
    taint = {"taints": [{"key": "gpufleet.dev/not-accepted"}]}
    made = fleet({**CHAT, **taint}, acceptance=None)
    (found,) = [f for f in made.findings if f.code == "taint-never-removed"]
    assert found.path == "pools[0].taints[0]"
    assert "no program that removes the taint" in found.message
    assert "gives nodes of chat the taint" in "".join(
        f.message for f in fleet({**CHAT, **taint}).findings if f.code == "taint-never-removed"
    )


def test_other_makers_are_refused() -> None:
    neuron = {"name": "inf", "instanceTypes": ["inf2.xlarge"], "nodes": {"min": 1, "max": 2}}
    assert "acceptance-vendor" in {f.code for f in fleet(neuron).findings}


@pytest.mark.parametrize(
    ("changed", "more"),
    [
        ({"sharing": {"timeSlicing": {"replicas": 4}}}, {}),
        ({"acceptance": {"rerun": "2"}}, {}),
        ({"acceptance": {"diagnostics": 3}}, {}),
        ({"gpu": "L40S"}, {}),
    ],
)
def test_what_the_tests_rest_on_changes_their_key(
    changed: dict[str, Any], more: dict[str, Any]
) -> None:
    def key(*pools: dict[str, Any]) -> str:
        made = fleet(*pools, **more)
        ((_, tests),) = acceptance.tested(made)
        return acceptance.key_of(made, tests)

    assert key(CHAT) == key({**CHAT, "labels": {"a": "b"}})
    assert key(CHAT) != key({**CHAT, **changed})
