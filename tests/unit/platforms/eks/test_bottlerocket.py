"""Bottlerocket shares and partitions GPUs by settings of the image; EFA nodes get huge pages."""

import tomllib
from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import node_overlay
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.user_data import user_data

TURNS = {"gpu": "L4", "sharing": {"timeSlicing": {"replicas": 4, "rename": False}}}
P4D = {"instanceTypes": ["p4d.24xlarge"]}
EFA = {"fabric": "efa", "zones": ["us-east-1a"]}


def cut(*devices: dict[str, int], **mig: Any) -> dict[str, Any]:
    return {"sharing": {"mig": {"layouts": [{"devices": one} for one in devices], **mig}}}


def compiled(pool: dict[str, Any], **fleet: Any) -> Any:
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [
                {
                    "name": "p",
                    "image": "bottlerocket-nvidia",
                    "nodes": {"min": 0, "max": 2},
                    **pool,
                }
            ],
            **fleet,
        }
    )


def settings(pool: dict[str, Any]) -> dict[str, Any]:
    """The image's settings that a managed group and a node class get; both the same."""
    (one,) = compiled(pool).fleet.pools
    text = user_data(one, eks_shape(one), one.labels, None) or ""
    managed = tomllib.loads(text)["settings"]
    managed.pop("bootstrap-commands", None)
    of_class = node_class(one, eks_shape(one), "p", {}, "n")["spec"].get("userData", "")
    assert tomllib.loads(of_class).get("settings", {}) == managed
    return managed


def errors(pool: dict[str, Any]) -> dict[str, str]:
    return {f.code: f.path for f in compiled(pool).findings if f.severity.value == "error"}


def test_time_slicing_is_a_setting_and_no_label() -> None:
    (pool,) = compiled(TURNS).fleet.pools
    assert dict(pool.advertised) == {"nvidia.com/gpu": 4}
    assert pool.labels == {"gpufleet.dev/pool": "p"}  # no file of the operator's is chosen
    plugin = settings(TURNS)["kubelet-device-plugins"]["nvidia"]
    assert plugin == {
        "device-sharing-strategy": "time-slicing",
        "time-slicing": {
            "replicas": 4,
            "rename-by-default": False,
            "fail-requests-greater-than-one": True,
        },
    }


def test_partitions_are_advertised_as_gpus() -> None:
    pool = {**P4D, **cut({"1g.5gb": 7}, timeSlicing={"replicas": 2})}
    assert dict(compiled(pool).fleet.pools[0].advertised) == {"nvidia.com/gpu.shared": 112}
    plugin = settings(pool)["kubelet-device-plugins"]["nvidia"]
    assert plugin["device-partitioning-strategy"] == "mig"
    assert plugin["device-sharing-strategy"] == "time-slicing"
    assert plugin["mig"] == {"profile": {"a100.40gb": "1g.5gb"}}


def test_nodes_with_efa_set_huge_pages_aside() -> None:
    pool = {**P4D, **EFA, "provisioner": "karpenter"}
    assert settings(pool) == {"kernel": {"sysctl": {"vm.nr_hugepages": "5128"}}}
    overlay = node_overlay(compiled(pool).fleet.pools[0])
    assert overlay is not None
    assert overlay["spec"]["capacity"] == {"hugepages-2Mi": "10256Mi"}


@pytest.mark.parametrize(
    ("pool", "code", "path"),
    [
        (
            {**P4D, **cut({"1g.5gb": 1, "3g.20gb": 1})},
            "bottlerocket-one-mig-profile",
            "pools[0].sharing.mig.layouts",
        ),
        (
            {**P4D, **cut({"1g.5gb": 6})},
            "bottlerocket-mig-not-full",
            'pools[0].sharing.mig.layouts[0].devices["1g.5gb"]',
        ),
        (
            {"instanceTypes": ["p6-b200.48xlarge"], **cut({"1g.23gb": 7})},
            "bottlerocket-mig-gpu",
            "pools[0].sharing.mig.layouts",
        ),
        (
            {**TURNS, "eks": {"releaseVersion": "1.24.1-acfd0abe"}},
            "bottlerocket-release-too-old",
            "pools[0].eks.releaseVersion",
        ),
        (
            {**P4D, **cut({"1g.5gb": 7}), "eks": {"releaseVersion": "1.33.0-acfd0abe"}},
            "bottlerocket-release-too-old",
            "pools[0].eks.releaseVersion",
        ),
        (
            {"gpu": "L4", "sharing": {"mps": {"replicas": 4}}},
            "image-plugin-shares-by-itself",
            "pools[0].sharing",
        ),
    ],
)
def test_what_its_settings_cannot_do_is_refused(pool: dict[str, Any], code: str, path: str) -> None:
    assert errors(pool) == {code: path}


@pytest.mark.parametrize("overlay", [None, False])
def test_an_existing_karpenter_must_have_the_gate_for_huge_pages(overlay: bool | None) -> None:
    addon: dict[str, Any] = {"ownership": "existing"}
    if overlay is not None:
        addon["nodeOverlay"] = overlay
    pool = {**P4D, **EFA, "provisioner": "karpenter", "image": "al2023-nvidia"}
    found = {f.code: f.path for f in compiled(pool, addons={"karpenter": addon}).findings}
    assert found["karpenter-does-not-know-huge-pages"] == "addons.karpenter.nodeOverlay"
    known = compiled(pool, addons={"karpenter": {**addon, "nodeOverlay": True}})
    assert "karpenter-does-not-know-huge-pages" not in {f.code for f in known.findings}
    assert "karpenter-does-not-know-huge-pages" not in {f.code for f in compiled(pool).findings}
