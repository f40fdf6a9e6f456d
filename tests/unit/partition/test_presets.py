"""Layouts by the names of NVIDIA's default mig-parted configuration.

Expected devices: NVIDIA/mig-parted v0.15.0, deployments/systemd/config-default.yaml.
"""

import pytest
from pydantic import ValidationError

from gpufleet.catalogue import load
from gpufleet.partition.partition import cut
from gpufleet.partition.presets import resolve_presets
from gpufleet.spec.sharing import Sharing

CATALOGUE = load()


def mig(layout: str, **rest: object) -> Sharing:
    return Sharing.model_validate({"mig": {"layout": layout, **rest}})


@pytest.mark.parametrize(
    ("gpu", "preset", "devices"),
    [
        ("A100-40GB", "all-1g.10gb", {"1g.10gb": 4}),
        ("A100-80GB", "all-1g.10gb", {"1g.10gb": 7}),
        ("A100-80GB", "all-1g.10gb.me", {"1g.10gb+me": 1}),
        ("A100-80GB", "all-balanced", {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}),
        ("A30-24GB", "all-balanced", {"1g.6gb": 2, "2g.12gb": 1}),
        ("H200-141GB", "all-1g.18gb", {"1g.18gb": 7}),
        ("H200-141GB", "all-1g.35gb", {"1g.35gb": 4}),
        ("B200-180GB", "all-balanced", {"1g.23gb": 2, "2g.45gb": 1, "3g.90gb": 1}),
    ],
)
def test_a_preset_means_what_mig_parted_makes_of_it_on_that_gpu(
    gpu: str, preset: str, devices: dict[str, int]
) -> None:
    sharing, findings = resolve_presets(CATALOGUE.gpus[gpu], mig(preset), "pools[0].sharing")
    assert findings == []
    assert sharing.mig is not None
    assert [(layout.gpus, layout.devices) for layout in sharing.mig.layouts] == [("all", devices)]


def test_every_gpu_of_the_node_gets_the_preset_with_its_proof() -> None:
    partition, findings = cut(CATALOGUE.gpus["H100-80GB"], 8, mig("all-3g.40gb"), "sharing")
    assert partition is not None, findings
    assert dict(partition.advertised) == {"nvidia.com/mig-3g.40gb": 16}
    assert all(gpu.placement is not None for gpu in partition.gpus)


def test_a_claim_takes_a_preset_too() -> None:
    sharing = Sharing.model_validate({"dra": {"devices": "mig", "layout": "all-2g.20gb"}})
    partition, findings = cut(CATALOGUE.gpus["A100-80GB"], 1, sharing, "sharing")
    assert partition is not None, findings
    assert [dict(gpu.devices) for gpu in partition.gpus] == [{"2g.20gb": 3}]


@pytest.mark.parametrize(
    ("gpu", "preset", "words", "fix"),
    [
        ("A100-80GB", "all-1g.12gb", "has no configuration all-1g.12gb; it has", "`all-1g.10gb`"),
        ("A100-80GB", "all-enabled", "makes no devices", "`all-balanced`"),
        ("A30-24GB", "all-3g.20gb", "has no configuration all-3g.20gb", "`all-4g.24gb`"),
    ],
)
def test_a_preset_that_the_gpu_does_not_have_is_named_with_those_it_has(
    gpu: str, preset: str, words: str, fix: str
) -> None:
    partition, findings = cut(CATALOGUE.gpus[gpu], 1, mig(preset), "pools[0].sharing")
    assert partition is None
    (finding,) = findings
    assert (finding.code, finding.path) == ("mig-preset-unknown", "pools[0].sharing.mig.layout")
    assert words in finding.message
    assert finding.fix is not None
    assert fix in finding.fix


def test_a_gpu_without_mig_is_refused_as_for_any_layout() -> None:
    partition, findings = cut(CATALOGUE.gpus["L4"], 1, mig("all-balanced"), "sharing")
    assert partition is None
    assert [finding.code for finding in findings] == ["mig-unsupported"]


def test_single_refuses_a_preset_of_several_profiles() -> None:
    sharing = mig("all-balanced", strategy="single")
    partition, findings = cut(CATALOGUE.gpus["A100-80GB"], 1, sharing, "sharing")
    assert partition is None
    assert "mig-single-needs-one-profile" in {finding.code for finding in findings}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"mig": {}}, "exactly one of layout and layouts is needed, found none"),
        (
            {"mig": {"layout": "all-1g.10gb", "layouts": [{"devices": {"1g.10gb": 7}}]}},
            "exactly one of layout and layouts is needed, found both",
        ),
        (
            {"dra": {"layout": "all-1g.10gb", "layouts": [{"devices": {"1g.10gb": 7}}]}},
            "only one of layout and layouts",
        ),
    ],
)
def test_layout_and_layouts_exclude_each_other(declared: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Sharing.model_validate(declared)
