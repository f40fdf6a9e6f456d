"""vGPU guests and whole GPUs in one cluster: an NVIDIADriver for each pool."""

import itertools
from typing import Any

from gpufleet import GpuAddons
from gpufleet.documents.writing import yaml_stream
from gpufleet.findings import Finding, Severity
from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import artefacts
from gpufleet.render.nvidia_drivers import nvidia_drivers
from gpufleet_policies.configurations.kinds import validate_text

GUESTS = {
    "name": "guests",
    "gpu": "A100-80GB",
    "nodes": {"min": 1, "max": 1},
    "sharing": {"vgpu": {"profile": "grid_a100d-20c", "licenseSecret": "nls"}},
    "vsphere": {"attachment": "vgpu", "cpus": 16, "memoryGib": 64, "template": "ubuntu"},
}
WHOLE = {
    "name": "whole",
    "gpu": "L40S",
    "nodes": {"min": 1, "max": 1},
    "vsphere": {"cpus": 16, "memoryGib": 64, "template": "ubuntu"},
    "taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}],
}
GUEST_DRIVER = {
    "repository": "registry.example.com/nvidia",
    "image": "vgpu-guest-driver",
    "version": "580.95.05",
}
OWN = {"dataCenter": {"version": "595.91.07"}}


def compiled(*pools: dict[str, Any], **driver: Any) -> tuple[Fleet, list[Finding]]:
    operator = {"driver": {**GUEST_DRIVER, **driver}, "imagePullSecret": "private"}
    spec = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "cluster": {"name": "c"},
        "addons": {"gpuOperator": operator},
        "pools": list(pools),
    }
    result = compile_data(spec)
    assert result.fleet is not None, result.findings
    return result.fleet, [f for f in result.findings if f.severity is Severity.ERROR]


def test_each_pool_gets_a_driver_of_its_kind() -> None:
    fleet, errors = compiled(GUESTS, WHOLE, **OWN)
    assert errors == []
    guests, whole = nvidia_drivers(fleet)
    assert guests["spec"] == {
        "driverType": "vgpu",
        **GUEST_DRIVER,
        "licensingConfig": {"secretName": "nls", "nlsEnabled": True},
        "imagePullSecrets": ["private"],
        "nodeSelector": {"gpufleet.dev/pool": "guests"},
        "tolerations": guests["spec"]["tolerations"],
    }
    assert whole["spec"] == {
        "driverType": "gpu",
        "repository": "nvcr.io/nvidia",
        "image": "driver",
        "version": "595.91.07",
        "imagePullSecrets": ["private"],
        "nodeSelector": {"gpufleet.dev/pool": "whole"},
        "tolerations": whole["spec"]["tolerations"],
    }
    tolerated = [one["key"] for one in whole["spec"]["tolerations"]]
    assert tolerated == ["nvidia.com/gpu", "team"]
    for one, other in itertools.combinations(fleet.pools, 2):
        assert one.labels["gpufleet.dev/pool"] != other.labels["gpufleet.dev/pool"]


def test_the_driver_manager_pauses_the_dra_driver_where_it_serves_the_nodes() -> None:
    """The operator gives `manager.env` to the init container of each object's driver (its
    definition, NVIDIA/gpu-operator v26.7.0 `nvidia.com_nvidiadrivers.yaml`); the variable is that
    of NVIDIA's page on the DRA driver with the GPU Operator, known issues."""
    fleet, errors = compiled(GUESTS, {**WHOLE, "sharing": {"dra": {}}}, **OWN)
    assert errors == []
    guests, whole = nvidia_drivers(fleet)
    assert "manager" not in guests["spec"]
    expected = [{"name": "NODE_LABEL_FOR_GPU_POD_EVICTION", "value": "gpufleet.dev/dra"}]
    assert whole["spec"]["manager"] == {"env": expected}
    report = validate_text("gpu-operator-values", yaml_stream([guests, whole]))
    assert [one for one in report.findings if one.severity is Severity.ERROR] == []


def test_the_definition_of_the_operator_takes_them() -> None:
    """`gpufleet check` has the definition, and the rule that two objects must not share a node."""
    fleet, _ = compiled(GUESTS, WHOLE, **OWN)
    report = validate_text("gpu-operator-values", yaml_stream(nvidia_drivers(fleet)))
    assert [one for one in report.findings if one.severity is Severity.ERROR] == []


def test_the_chart_then_makes_none_by_itself() -> None:
    fleet, _ = compiled(GUESTS, WHOLE, **OWN)
    texts = {one.path: one.text for one in artefacts(fleet)}
    assert "manifests/gpu-operator/nvidia-drivers.yaml" in texts
    assert "deployDefaultCR: false" in texts["values/gpu-operator.yaml"]
    for pools in ((GUESTS,), (WHOLE,)):
        one, _ = compiled(*pools, **OWN)
        texts = {artefact.path: artefact.text for artefact in artefacts(one)}
        assert "manifests/gpu-operator/nvidia-drivers.yaml" not in texts
        assert "nvidiaDriverCRD" not in texts["values/gpu-operator.yaml"]


def test_without_the_second_driver_it_is_refused_with_the_fix() -> None:
    _, errors = compiled(GUESTS, WHOLE)
    assert [one.code for one in errors] == ["vgpu-and-passthrough-drivers"]
    assert "addons.gpuOperator.driver.dataCenter" in (errors[0].fix or "")


def test_the_component_makes_them_after_the_operator(run: Any) -> None:
    def snake(pool: dict[str, Any]) -> dict[str, Any]:
        machine = {**pool["vsphere"], "memory_gib": 64}
        del machine["memoryGib"]
        pool = {**pool, "vsphere": machine}
        if "sharing" in pool:
            vgpu = {"profile": "grid_a100d-20c", "license_secret": "nls"}
            pool["sharing"] = {"vgpu": vgpu}
        return pool

    addons = {
        "gpu_operator": {
            "driver": {**GUEST_DRIVER, "data_center": {"version": "595.91.07"}},
            "image_pull_secret": "private",
        }
    }
    arguments: Any = {
        "catalogue": "2026.11",
        "platform": "vsphere",
        "pools": [snake(GUESTS), snake(WHOLE)],
        "addons": addons,
    }
    recording = run(lambda: GpuAddons("addons", arguments))
    made = recording.all("kubernetes:nvidia.com/v1alpha1:NVIDIADriver")
    assert [one.inputs["spec"]["driverType"] for one in made] == ["vgpu", "gpu"]
    assert all("addons-gpu-operator" in str(one.depends_on) for one in made)
