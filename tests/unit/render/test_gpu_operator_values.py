from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from gpufleet.catalogue import load
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.gpu_operator_chart import OperatorSettings, operator_values
from gpufleet.fleet.image_sources import image_values
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.gpu_operator_values import (
    fleet_operator_settings,
    mig_parted_files,
    plugin_files,
)
from gpufleet.spec.gpu_operator import GpuOperatorSettings
from gpufleet.spec.gpu_operator_keys import CHART_KEYS
from tests.reading import yaml_data

UPSTREAM = Path(__file__).parents[4] / "shared/reference/charts/gpu-operator-v26.7.0.values.yaml"


BESIDE = ("migStrategy", "devicePluginDefault", "tolerations", "images")


def settings(**given: Any) -> OperatorSettings:
    alongside = {key: given.pop(key) for key in BESIDE if key in given}
    return OperatorSettings.model_validate({"settings": given, **alongside})


def fleet(**changes: Any) -> Any:
    data: dict[str, Any] = {
        "catalogue": "2026.11",
        "platform": "sandbox",
        "cluster": {"name": "c"},
        "pools": [{"name": "p", "gpu": "L4", "nodes": {"min": 0, "max": 1}}],
    }
    compiled = compile_data({**data, **changes})
    assert compiled.fleet is not None
    return compiled.fleet


def test_every_switch_is_written_out() -> None:
    assert operator_values(settings()) == {
        "nfd": {"enabled": True},
        "mig": {"strategy": "none"},
        "driver": {"enabled": True},
        "toolkit": {"enabled": True},
        "devicePlugin": {"enabled": True, "config": {"default": ""}},
        "gfd": {"enabled": True},
        "migManager": {"enabled": True, "config": {"default": "all-disabled"}},
        "dcgm": {"enabled": False},
        "dcgmExporter": {"enabled": True},
        "cdi": {"enabled": True},
        "gds": {"enabled": False},
        "gdrcopy": {"enabled": False},
    }


FULL: dict[str, Any] = {
    "driver": {
        "version": "595.91.07",
        "repository": "registry.example.com/nvidia",
        "image": "vgpu-guest-driver",
        "kernelModuleType": "open",
        "precompiled": False,
        "upgradePolicy": {
            "autoUpgrade": True,
            "maxParallelUpgrades": 2,
            "maxUnavailable": "3",
            "waitForCompletionSeconds": 600,
            "waitForPods": "app=training",
            "podDeletion": {"force": True, "timeoutSeconds": 60, "deleteEmptyDir": True},
            "drain": {"enabled": True, "timeoutSeconds": 90, "podSelector": "app=x"},
        },
        "rdma": {"enabled": True, "useHostMofed": True},
        "licensing": {"secret": "licence", "service": "dls", "featureType": "compute"},
        "env": {"A": "b"},
        "repoConfig": "repos",
        "certConfig": "certs",
        "kernelModuleConfig": "module",
        "virtualTopology": "topology",
        "secretEnv": "environment",
    },
    "toolkit": {"installDir": "/opt/nvidia", "env": {"RUNTIME_CONFIG_SOURCE": "file"}},
    "migManager": {"env": {"WITH_REBOOT": "true"}, "gpuClients": "clients"},
    "cdi": {"enabled": True, "nri": True},
    "dcgm": {"enabled": True},
    "dcgmExporter": {
        "metrics": "counters",
        "podLabels": True,
        "serviceMonitor": {
            "enabled": True,
            "interval": "30s",
            "scrapeTimeout": "20s",
            "honorLabels": True,
            "additionalLabels": {"release": "prometheus"},
        },
    },
    "gds": {"enabled": True},
    "gdrcopy": {"enabled": True},
    "imagePullSecret": "ngc",
    "migStrategy": "mixed",
    "devicePluginDefault": "default",
    "tolerations": [{"key": "team", "effect": "NoExecute"}],
    "images": {
        "registry": "registry.example.com/mirror",
        "proxy": {"https": "http://proxy.example.com:3128", "exclude": ["10.0.0.0/8", ".svc"]},
    },
}
"""Every typed setting at once."""


def test_typed_settings_reach_their_keys() -> None:
    values = operator_values(settings(**FULL))
    driver = values["driver"]
    assert driver["upgradePolicy"] == {
        "autoUpgrade": True,
        "maxParallelUpgrades": 2,
        "maxUnavailable": 3,
        "waitForCompletion": {"timeoutSeconds": 600, "podSelector": "app=training"},
        "gpuPodDeletion": {"force": True, "timeoutSeconds": 60, "deleteEmptyDir": True},
        "drain": {"enable": True, "timeoutSeconds": 90, "podSelector": "app=x"},
    }
    assert driver["kernelModuleType"] == "open"
    assert driver["licensingConfig"] == {"secretName": "licence", "nlsEnabled": True}
    assert driver["rdma"] == {"enabled": True, "useHostMofed": True}
    assert values["cdi"] == {"enabled": True, "nriPluginEnabled": True}
    assert values["dcgmExporter"]["serviceMonitor"]["additionalLabels"] == {"release": "prometheus"}


def test_nothing_else_is_written_than_switches_and_what_was_declared() -> None:
    values = operator_values(settings(driver={"upgradePolicy": {"maxParallelUpgrades": 4}}))
    assert values["driver"] == {"enabled": True, "upgradePolicy": {"maxParallelUpgrades": 4}}


def test_a_mirror_serves_every_image_but_the_one_that_was_named() -> None:
    asked = settings(**FULL)
    mirror = image_values(load("2026.11").chart("gpu-operator"), asked.images)
    values = merged(mirror, operator_values(asked))
    assert values["driver"]["repository"] == "registry.example.com/nvidia"
    assert values["driver"]["manager"]["repository"] == (
        "registry.example.com/mirror/nvidia/cloud-native"
    )
    assert values["operator"]["repository"] == "registry.example.com/mirror/nvidia"
    assert values["node-feature-discovery"]["image"]["repository"] == (
        "registry.example.com/mirror/nfd/node-feature-discovery"
    )


def test_a_proxy_is_environment_of_the_driver_in_both_spellings() -> None:
    environment = operator_values(settings(**FULL))["driver"]["env"]
    assert {entry["name"]: entry["value"] for entry in environment} == {
        "A": "b",
        "HTTPS_PROXY": "http://proxy.example.com:3128",
        "https_proxy": "http://proxy.example.com:3128",
        "NO_PROXY": "10.0.0.0/8,.svc",
        "no_proxy": "10.0.0.0/8,.svc",
    }


def test_a_proxy_with_credentials_is_refused() -> None:
    with pytest.raises(ValueError, match="should match pattern"):
        settings(images={"proxy": {"http": "http://user:word@proxy.example.com:3128"}})


def test_every_setting_has_a_key_of_the_chart() -> None:
    """A typed setting that nothing renders would be silently without effect."""
    elsewhere = {
        "driver.licensing.service",
        "driver.licensing.feature_type",
        "driver.host_version",
        # The NVIDIADriver of pools with whole GPUs beside vGPU guests (render/nvidia_drivers.py).
        "driver.data_center.image",
        "driver.data_center.repository",
        "driver.data_center.version",
        "image_pull_secret",
    }

    def fields(model: Any, path: str = "") -> set[str]:
        found: set[str] = set()
        for name, field in model.model_fields.items():
            inner = [
                part
                for part in (field.annotation, *getattr(field.annotation, "__args__", ()))
                if isinstance(part, type) and issubclass(part, BaseModel)
            ]
            found |= fields(inner[0], f"{path}{name}.") if inner else {f"{path}{name}"}
        return found

    assert fields(GpuOperatorSettings) - elsewhere == set(CHART_KEYS)


def test_every_key_exists_in_the_chart() -> None:
    if not UPSTREAM.is_file():
        pytest.skip(f"no upstream values to compare with: {UPSTREAM}")
    full = settings(**FULL)
    upstream = yaml_data(UPSTREAM.read_text())
    values = merged(
        operator_values(full),
        {"devicePlugin": {"config": {"name": "a"}}, "migManager": {"config": {"name": "b"}}},
    )

    def unknown(ours: Any, theirs: Any, path: str) -> list[str]:
        if not isinstance(ours, dict):
            return []
        return [
            found
            for key, value in ours.items()
            for found in (
                unknown(value, theirs[key], f"{path}.{key}") if key in theirs else [f"{path}.{key}"]
            )
        ]

    # The chart's templates read these, its values file has no line for them.
    unlisted = {
        ".dcgm.imagePullSecrets",
        ".dcgmExporter.imagePullSecrets",
        ".dcgmExporter.config",
        ".node-feature-discovery.image",
        ".dcgmExporter.serviceMonitor.additionalLabels.release",
    }
    assert set(unknown(values, upstream, "")) <= unlisted


def test_merging_is_helms_own() -> None:
    base = {"a": {"b": 1, "c": 2}, "list": [1, 2]}
    assert merged(base, {"a": {"b": 3}, "list": [9]}) == {"a": {"b": 3, "c": 2}, "list": [9]}
    assert merged(base, {"a": {"c": None}}) == {"a": {"b": 1}, "list": [1, 2]}
    assert base == {"a": {"b": 1, "c": 2}, "list": [1, 2]}


def test_what_the_image_brings_is_not_installed_again() -> None:
    wanted = fleet_operator_settings(fleet())
    runs = wanted.settings
    parts = (runs.driver, runs.toolkit, runs.device_plugin, runs.mig_manager)
    assert [part.enabled for part in parts] == [False, False, True, False]
    assert wanted.mig_strategy is None
    assert wanted.device_plugin_default == "default"


def test_a_cut_pool_switches_mig_on() -> None:
    pool = {
        "name": "p",
        "instanceTypes": ["p4de.24xlarge"],
        "nodes": {"min": 0, "max": 1},
        "sharing": {"mig": {"layouts": [{"devices": {"7g.80gb": 1}}]}},
    }
    cut = fleet(pools=[pool])
    wanted = fleet_operator_settings(cut)
    assert wanted.settings.mig_manager.enabled is True
    assert operator_values(wanted)["mig"] == {"strategy": "mixed"}
    configs = yaml_data(mig_parted_files(cut).data["config.yaml"])["mig-configs"]
    label = cut.pools[0].labels["nvidia.com/mig.config"]
    assert configs[label] == [
        {"devices": list(range(8)), "mig-enabled": True, "mig-devices": {"7g.80gb": 1}}
    ]


def test_every_label_of_a_pool_names_a_configuration_that_exists() -> None:
    pools = [
        {
            "name": "a",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 1},
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {"name": "b", "gpu": "L4", "nodes": {"min": 0, "max": 1}},
    ]
    shared = fleet(pools=pools)
    keys = plugin_files(shared).data
    labels = [pool.labels["nvidia.com/device-plugin.config"] for pool in shared.pools]
    assert set(labels) == set(keys)


@pytest.mark.parametrize(("image", "manager"), [("ubuntu-gke", True), (None, False)])
def test_the_driver_manager_stops_the_dra_driver_before_it_unloads_modules(
    image: str | None, manager: bool
) -> None:
    pool = {
        "name": "p",
        "gpu": "L4",
        "nodes": {"min": 1, "max": 1},
        "gke": {"driver": "gpuOperator"},
        "sharing": {"dra": {"namespaces": ["research"]}},
        **({"image": image} if image else {}),
    }
    cluster = {"name": "c", "region": "us-central1", "kubernetesVersion": "1.34"}
    driver = operator_values(
        fleet_operator_settings(fleet(platform="gke", cluster=cluster, pools=[pool]))
    )["driver"]
    assert driver["enabled"] is manager
    # NVIDIA's page on the DRA driver with the GPU Operator, known issues.
    expected = [{"name": "NODE_LABEL_FOR_GPU_POD_EVICTION", "value": "gpufleet.dev/dra"}]
    assert driver.get("manager", {}).get("env") == (expected if manager else None)
