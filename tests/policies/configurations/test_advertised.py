"""Resources of a node once a configuration is in force."""
# ruff: noqa: E501  # one case, one line

import pytest

from gpufleet.catalogue import load
from gpufleet.contract.programs.node import advertise
from gpufleet_policies.configurations.kinds import validate_text

GPU = "nvidia.com/gpu"
PRODUCT = "NVIDIA-A100-SXM4-80GB"


def advertised(kind: str, text: str, **circumstances: object) -> dict:
    answer = validate_text(kind, text, **circumstances).as_dict()  # type: ignore[arg-type]
    assert answer["verdict"] != "reject", answer["findings"]
    return answer["advertises"]


def cut(gpus: list, strategy: str, gpu: str, product: str | None = None) -> dict:
    """For GPUs with this layout: None is MIG off, `{}` MIG without instances."""
    return advertise(gpus, strategy, product=product, gpu=load().gpu(gpu)).as_dict()


@pytest.mark.parametrize(
    ("strategy", "gpus", "allocatable"),
    [
        ("none", [None, None], {GPU: 2}),
        ("none", [{"1g.10gb": 7}, None], {GPU: 2}),
        ("single", [None], {GPU: 1}),
        ("single", [{"1g.10gb": 7}, {"1g.10gb": 7}], {GPU: 14}),
        ("mixed", [{"1g.10gb": 4, "3g.40gb": 1}, None], {GPU: 1, "nvidia.com/mig-1g.10gb": 4, "nvidia.com/mig-3g.40gb": 1}),
        ("mixed", [{"1g.10gb+me": 1, "1g.10gb": 6}], {"nvidia.com/mig-1g.10gb": 6, "nvidia.com/mig-1g.10gb.me": 1}),
        ("mixed", [{}], {}),
    ],
)  # fmt: skip
def test_strategies(strategy: str, gpus: list, allocatable: dict) -> None:
    found = cut(gpus, strategy, gpu="H100-80GB")
    assert found["allocatable"] == allocatable


def test_labels_of_single() -> None:
    labels = cut([{"1g.10gb": 7}], "single", gpu="A100-80GB", product=PRODUCT)["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"
    assert labels["nvidia.com/gpu.count"] == "7"
    assert labels["nvidia.com/mig.strategy"] == "single"


def test_labels_of_mixed() -> None:
    labels = cut([{"1g.10gb+me": 1}], "mixed", gpu="A100-80GB", product=PRODUCT)["labels"]
    assert labels["nvidia.com/gpu.replicas"] == "0"
    assert labels["nvidia.com/mig-1g.10gb.me.count"] == "1"
    assert labels["nvidia.com/mig-1g.10gb.me.product"].endswith("-MIG-1g.10gb.me")


@pytest.mark.parametrize(
    ("text", "allocatable", "suffix", "kind"),
    [
        ("", {GPU: 2}, "", "none"),
        ("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 4}]}}", {GPU: 8}, "-SHARED", "time-slicing"),
        ("sharing: {timeSlicing: {renameByDefault: true, resources: [{name: gpu, replicas: 4}]}}", {GPU + ".shared": 8}, "", "time-slicing"),
        ("flags: {mpsRoot: /x}\nsharing: {mps: {resources: [{name: gpu, replicas: 10}]}}", {GPU: 20}, "-SHARED", "mps"),
        ("sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}, {name: gpu, replicas: 5}]}}", {GPU: 10}, "-SHARED", "time-slicing"),
    ],
)  # fmt: skip
def test_sharing(text: str, allocatable: dict, suffix: str, kind: str) -> None:
    found = advertised("device-plugin", text, context={"gpu": "L4", "gpusPerNode": 2})
    assert found["allocatable"] == allocatable
    assert found["labels"]["nvidia.com/gpu.product"] == f"NVIDIA-L4{suffix}"
    assert found["labels"]["nvidia.com/gpu.sharing-strategy"] == kind
    assert found["labels"]["nvidia.com/mps.capable"] == ("true" if kind == "mps" else "false")


def test_slices_shared_in_time() -> None:
    text = (
        "flags: {migStrategy: mixed}\n"
        "sharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.10gb, replicas: 2}]}}"
    )
    context = {"gpu": "A100-80GB", "gpus": [{"1g.10gb": 7}, None]}
    found = advertised("device-plugin", text, context=context)
    assert found["allocatable"] == {GPU: 1, "nvidia.com/mig-1g.10gb": 14}
    assert advertised("device-plugin", text, context={"gpu": "A100-80GB", "gpusPerNode": 2}) is None


def test_mig_parted_advertises_the_selected_config() -> None:
    text = (
        "version: v1\nmig-configs:\n  a: [{devices: all, mig-enabled: false}]\n"
        "  b:\n  - {devices: [0], mig-enabled: true, mig-devices: {3g.40gb: 2}}\n"
        "  - {devices: [1], mig-enabled: false}\n"
    )
    context = {"gpu": "A100-80GB", "gpusPerNode": 2}
    found = advertised("mig-parted", text, select="b", context=context)
    assert found["allocatable"] == {GPU: 1, "nvidia.com/mig-3g.40gb": 2}
    assert advertised("mig-parted", text, select="a", context=context)["allocatable"] == {GPU: 2}
    assert advertised("mig-parted", text, select="a", gpu="A100-80GB") is None
