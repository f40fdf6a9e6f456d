from typing import Any

from gpufleet.documents.writing import yaml_stream
from gpufleet.findings import Finding, Severity
from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.autoscaler_tags import (
    TEMPLATE,
    autoscaler_tags,
    node_group_labels,
)
from tests.unit.render.fleets import eks, one
from tests.unit.render.golden_files import assert_golden

TAGS = {pool.name: tags for pool in eks().pools if (tags := autoscaler_tags(pool)) is not None}


def template(tags: dict[str, str] | None, part: str) -> dict[str, str]:
    assert tags is not None
    start = f"{TEMPLATE}{part}/"
    return {key.removeprefix(start): value for key, value in tags.items() if key.startswith(start)}


def test_golden_file() -> None:
    assert list(TAGS) == ["training", "slices"]
    assert_golden("autoscaler-tags.yaml", yaml_stream(TAGS.values()))


def test_every_tag_is_of_the_template() -> None:
    for tags in TAGS.values():
        parts = {key.removeprefix(TEMPLATE).partition("/")[0] for key in tags}
        assert parts == {"autoscaling-options", "label", "resources", "taint"}


def test_shared_slices_and_no_whole_gpu() -> None:
    assert template(TAGS["slices"], "resources") == {
        "ephemeral-storage": "6556Gi",
        "nvidia.com/gpu": "0",
        "nvidia.com/mig-1g.20gb.shared": str(8 * 3 * 2),
    }


def test_efa_interfaces_of_the_machine() -> None:
    assert template(TAGS["training"], "resources") == {
        "ephemeral-storage": "24914Gi",
        "hugepages-2Mi": "10256Mi",
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
    }


def test_a_fractional_machine_has_a_gpu_after_all() -> None:
    pool = one(instanceTypes=["g6f.large"], provisioner="clusterAutoscaler", disk={"sizeGib": 64})
    assert template(autoscaler_tags(pool), "resources") == {
        "ephemeral-storage": "81Gi",
        "nvidia.com/gpu": "1",
    }


def test_taints_in_kubernetes_spelling() -> None:
    assert template(TAGS["slices"], "taint") == {
        "nvidia.com/gpu": "present:NoSchedule",
        "example.com/team": "vision:NoExecute",
    }


def test_labels_are_those_of_the_node_group() -> None:
    pool = eks().pool("slices")
    labels = node_group_labels(pool)
    assert template(TAGS["slices"], "label") == labels
    assert labels["example.com/tier"] == "shared"
    assert labels == pool.labels


def test_only_nodes_with_whole_gpus_are_waited_for() -> None:
    accelerator = "k8s.amazonaws.com/accelerator"
    labels = template(TAGS["training"], "label")
    assert labels == node_group_labels(eks().pool("training"))
    assert labels[accelerator] == "nvidia-h100-80gb"
    assert accelerator not in template(TAGS["slices"], "label")


def test_pools_nobody_scales_or_karpenter_does_have_none() -> None:
    assert autoscaler_tags(one(gpu="L4")) is None
    assert autoscaler_tags(one(gpu="L4", provisioner="karpenter")) is None


def refused(**pool: Any) -> dict[str, Finding]:
    """Errors of compile about the only pool of a fleet, by code."""
    result = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [{"name": "one", "nodes": {"min": 0, "max": 2}, "gpu": "L4", **pool}],
        }
    )
    return {one.code: one for one in result.findings if one.severity is Severity.ERROR}


def test_too_many_labels_are_refused_with_the_limit() -> None:
    labels = {f"example.com/l{i}": "x" for i in range(40)}
    found = refused(provisioner="clusterAutoscaler", labels=labels)["autoscaler-tags-too-many"]
    assert "need 49 tags; an Auto Scaling group may have 50" in found.message
    assert refused(labels=labels) == {}


def test_a_key_too_long_for_a_tag_is_refused() -> None:
    labels = {"e" * 70 + ".example.com/label": "x"}
    found = refused(provisioner="clusterAutoscaler", labels=labels)
    assert list(found) == ["autoscaler-tag-too-long"]
    assert "at most 128" in found["autoscaler-tag-too-long"].message


def test_a_tag_holds_one_effect_of_a_taint() -> None:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]
    found = refused(provisioner="clusterAutoscaler", taints=taints)
    assert found["autoscaler-taint-twice"].evidence["found"] == "a"
