from typing import Any

from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.artefacts import vgpu_device_config
from gpufleet.render.manifests import gpu_operator_release_values


def fleet(*profiles: str) -> Fleet:
    pools: list[dict[str, Any]] = [
        {
            "name": f"guest-{i}",
            "gpu": "A100-80GB",
            "nodes": {"min": 1, "max": 1},
            "sharing": {"vgpu": {"profile": profile, "licenseSecret": "nls"}},
        }
        for i, profile in enumerate(profiles)
    ]
    pools.append({"name": "plain", "gpu": "L4", "nodes": {"min": 1, "max": 1}})
    cluster = {"name": "c"}
    spec = {"catalogue": "2026.11", "platform": "sandbox", "cluster": cluster, "pools": pools}
    found = compile_data(spec).fleet
    assert found is not None
    return found


def operator_values_of(fleet: Fleet) -> dict[str, Any]:
    return gpu_operator_release_values(fleet)


def test_every_type_fills_the_gpus_of_its_hosts() -> None:
    one = fleet("grid_a100d-3-40c", "a100d-20c")
    assert vgpu_device_config(one) == {
        "version": "v1",
        "vgpu-configs": {
            "a100d-20c": [{"devices": "all", "vgpu-devices": {"A100D-20C": 4}}],
            "a100d-3-40c": [{"devices": "all", "vgpu-devices": {"A100D-3-40C": 2}}],
        },
    }


def test_nothing_without_guests() -> None:
    assert vgpu_device_config(fleet()) == {}
    assert "licensingConfig" not in operator_values_of(fleet())["driver"]


def test_the_licence_is_named_and_its_kind_written_out() -> None:
    # The chart's default of nlsEnabled is true; the operator reads an absent value as false.
    driver = operator_values_of(fleet("a100d-40c"))["driver"]
    assert driver["licensingConfig"] == {"secretName": "nls", "nlsEnabled": True}


def test_no_operand_cuts_a_guest() -> None:
    labels = fleet("a100d-3-40c").pools[0].labels
    assert labels["nvidia.com/gpu.deploy.mig-manager"] == "false"
    assert "nvidia.com/mig.config" not in labels
    assert labels["nvidia.com/device-plugin.config"] == "default"
