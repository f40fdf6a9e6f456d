"""Training takes whole GPUs; counts are numbers."""

from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet.platforms.compiled import compile_data

MIG = {"mig": {"layouts": [{"devices": {"1g.5gb": 7}}]}}
WHOLE_OF_MIG = {"mig": {"layouts": [{"devices": {}}]}}


def found(environment: str, sharing: dict[str, Any], **pool: Any) -> list[Finding]:
    """Findings about the training on a pool of A100-40GB."""
    one = {
        "name": "jobs",
        "instanceTypes": ["p4d.24xlarge"],
        "intent": "training",
        "nodes": {"min": 0, "max": 2},
        "sharing": sharing,
        **pool,
    }
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "eks",
            "environment": environment,
            "cluster": {"name": "ml", "region": "us-east-1"},
            "pools": [one],
        }
    )
    return [f for f in compiled.findings if f.code == "training-shared"]


@pytest.mark.parametrize(
    ("sharing", "reason"),
    [
        ({"timeSlicing": {"replicas": 4}}, "several shares"),
        ({"mps": {"replicas": 4}}, "several shares"),
        (MIG, "no NVLink"),
        ({"mig": {**MIG["mig"], "timeSlicing": {"replicas": 2}}}, "no NVLink"),
        ({"dra": {"sharing": "mps"}}, "several shares"),
    ],
)
def test_training_on_shares_is_an_error_outside_dev(sharing: dict[str, Any], reason: str) -> None:
    for environment, severity in (("prod", "error"), ("staging", "error"), ("dev", "warning")):
        (one,) = found(environment, sharing)
        assert one.severity.value == severity
        assert reason in one.message
        assert one.path == f"pools[0].sharing.{next(iter(sharing))}"


@pytest.mark.parametrize("sharing", [{"exclusive": {}}, {"dra": {}}, WHOLE_OF_MIG])
def test_whole_gpus_are_for_training(sharing: dict[str, Any]) -> None:
    assert found("prod", sharing) == []


@pytest.mark.parametrize("intent", ["batch", "inference", "interactive"])
def test_other_pools_may_be_shared(intent: str) -> None:
    assert found("prod", MIG, intent=intent) == []


VGPU = {
    "catalogue": "2026.11",
    "platform": "vsphere",
    "environment": "prod",
    "cluster": {"name": "ml"},
}


@pytest.mark.parametrize(
    ("profile", "shared"), [("grid_a100d-20c", True), ("grid_a100d-80c", False)]
)
def test_a_vgpu_is_for_training_when_it_is_the_whole_gpu(profile: str, shared: bool) -> None:
    pool = {
        "name": "jobs",
        "gpu": "A100-80GB",
        "intent": "training",
        "nodes": {"min": 1, "max": 1},
        "sharing": {"vgpu": {"profile": profile, "licenseSecret": "licence"}},
        "vsphere": {"cpus": 16, "memoryGib": 128, "template": "gpu", "attachment": "vgpu"},
    }
    compiled = compile_data({**VGPU, "pools": [pool]})
    assert compiled.fleet is not None, "the pool is judged"
    said = [f.message for f in compiled.findings if f.code == "training-shared"]
    assert len(said) == shared
    assert all("1/4 of a GPU" in text for text in said)


@pytest.mark.parametrize("field", ["min", "max", "expected"])
def test_true_is_no_number_of_nodes(field: str) -> None:
    nodes = {"min": 1, "max": 1, field: True}
    pool = {"name": "chat", "gpu": "L4", "nodes": nodes}
    cluster = {"name": "ml", "region": "us-east-1"}
    compiled = compile_data(
        {"catalogue": "2026.11", "platform": "eks", "cluster": cluster, "pools": [pool]}
    )
    (said,) = [f for f in compiled.findings if f.path == f"pools[0].nodes.{field}"]
    assert said.code == "spec-value-wrong-type"
    assert "found true: a whole number is wanted" in said.message
    # The engine hands every number over as a float.
    pool["nodes"] = {"min": 1, "max": 1, field: 1.0}
    assert compile_data(
        {"catalogue": "2026.11", "platform": "eks", "cluster": cluster, "pools": [pool]}
    ).deployable
