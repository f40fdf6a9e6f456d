import pytest

from gpufleet.documents.writing import yaml_stream
from gpufleet.platforms.eks.karpenter_objects import node_overlay
from tests.unit.render.fleets import eks, one
from tests.unit.render.golden_files import assert_golden
from tests.unit.render.upstream_definitions import assert_accepted

NOT_OURS = {
    *("cpu", "memory", "ephemeral-storage", "pods"),
    *("vpc.amazonaws.com/pod-eni", "vpc.amazonaws.com/efa"),
    *("aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "habana.ai/gaudi"),
}
"""Resources that the definition of NodeOverlay refuses, and those that Karpenter's provider for AWS
counts itself (karpenter-provider-aws v1.14.1 `pkg/apis/crds`, `concepts/nodeoverlays`)."""
OVERLAYS = {
    pool.name: overlay for pool in eks().pools if (overlay := node_overlay(pool)) is not None
}


def requirements(name: str) -> dict[str, list[str]]:
    return {entry["key"]: entry["values"] for entry in OVERLAYS[name]["spec"]["requirements"]}


def test_golden_file() -> None:
    assert_golden("node-overlays.yaml", yaml_stream(OVERLAYS.values()))


@pytest.mark.parametrize("name", list(OVERLAYS))
def test_karpenters_definition_accepts_it(name: str) -> None:
    assert_accepted("karpenter.sh_nodeoverlays.yaml", OVERLAYS[name])


def test_only_pools_karpenter_would_get_wrong_have_one() -> None:
    assert list(OVERLAYS) == ["chat", "large", "fortygig", "eighth"]


def test_renamed_shares_replace_the_gpus_karpenter_counts() -> None:
    assert OVERLAYS["chat"]["spec"]["capacity"] == {
        "nvidia.com/gpu": "0",
        "nvidia.com/gpu.shared": "4",
    }


def test_slices_stand_beside_the_gpu_left_whole() -> None:
    assert OVERLAYS["large"]["spec"]["capacity"] == {
        "nvidia.com/gpu": "1",
        "nvidia.com/mig-1g.10gb": "28",
        "nvidia.com/mig-2g.20gb": "6",
        "nvidia.com/mig-3g.40gb": "3",
    }


def test_a_part_of_a_gpu_counts_as_one_where_ec2_counts_none() -> None:
    assert OVERLAYS["eighth"]["spec"]["capacity"] == {"nvidia.com/gpu": "1"}


def test_shares_that_keep_the_name_change_the_amount() -> None:
    sharing = {"timeSlicing": {"replicas": 5, "rename": False}}
    overlay = node_overlay(one(gpu="L4", provisioner="karpenter", sharing=sharing))
    assert overlay is not None
    assert overlay["spec"]["capacity"] == {"nvidia.com/gpu": "5"}


def test_the_two_a100_sizes_never_meet() -> None:
    types = "node.kubernetes.io/instance-type"
    assert requirements("large")[types] == ["p4de.24xlarge"]
    assert requirements("fortygig")[types] == ["p4d.24xlarge"]


def test_overlays_of_two_pools_never_hold_for_one_node() -> None:
    pools = [requirements(name)["gpufleet.dev/pool"] for name in OVERLAYS]
    assert pools == [[name] for name in OVERLAYS]
    assert {overlay["spec"]["weight"] for overlay in OVERLAYS.values()} == {100}


def test_no_overlay_names_a_resource_it_may_not() -> None:
    for overlay in OVERLAYS.values():
        assert not NOT_OURS & set(overlay["spec"]["capacity"])


def test_efa_interfaces_are_left_to_karpenter_and_huge_pages_are_not() -> None:
    efa = {"provisioner": "karpenter", "fabric": "efa", "zones": ["us-east-1a"]}
    overlay = node_overlay(one(instanceTypes=["p5.48xlarge"], **efa))
    assert overlay is not None
    assert overlay["spec"]["capacity"] == {"hugepages-2Mi": "10256Mi"}
    neuron = node_overlay(one(instanceTypes=["trn1.32xlarge"], **efa))
    assert neuron is not None
    assert neuron["spec"]["capacity"] == {"hugepages-2Mi": "10256Mi"}
    cut = {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}
    both = node_overlay(one(instanceTypes=["p5.48xlarge"], sharing=cut, **efa))
    assert both is not None
    assert set(both["spec"]["capacity"]) == {
        "hugepages-2Mi",
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.10gb",
    }
    ubuntu = {"image": "ubuntu-eks", "eks": {"amiId": "ami-0123456789abcdef0"}}
    assert node_overlay(one(instanceTypes=["p5.48xlarge"], **efa, **ubuntu)) is None


def test_other_provisioners_have_none() -> None:
    assert node_overlay(one(gpu="L4", sharing={"timeSlicing": {"replicas": 2}})) is None
