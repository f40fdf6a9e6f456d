from pathlib import Path
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.image_sources import image_values
from gpufleet.platforms.compiled import compile_data
from gpufleet.render.device_plugin_values import (
    PluginSettings,
    plugin_release_values,
    plugin_values,
)
from gpufleet.render.gpu_operator_values import plugin_files
from gpufleet.spec.images import Images
from tests.reading import yaml_data

UPSTREAM = Path(__file__).parents[4] / (
    "shared/reference/charts/nvidia-device-plugin-0.20.0.values.yaml"
)


def fleet(**addon: Any) -> Any:
    pool = {
        "name": "chat",
        "instanceTypes": ["g6.2xlarge"],
        "nodes": {"min": 0, "max": 1},
        "sharing": {"timeSlicing": {"replicas": 4}},
        "taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}],
    }
    compiled = compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "c"},
            "pools": [pool],
            "addons": {"devicePlugin": {"enabled": True, **addon}},
        }
    )
    assert compiled.deployable, compiled.findings
    return compiled.fleet


def test_it_serves_its_pools_with_the_files_the_operator_would_read() -> None:
    made = fleet(imagePullSecret="ngc", values={"mps": {"root": "/var/mps"}})
    files = plugin_files(made)
    values = plugin_release_values(made)
    assert values["config"] == {"name": files.name, "default": "default"}
    assert made.pools[0].labels["nvidia.com/device-plugin.config"] in files.data
    required = values["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "gpufleet.dev/pool", "operator": "In", "values": ["chat"]}]}
    ]
    assert {"key": "team", "operator": "Exists", "effect": "NoSchedule"} in values["tolerations"]
    assert values["imagePullSecrets"] == [{"name": "ngc"}]
    assert values["mps"] == {"root": "/var/mps"}


def test_switches_are_written_out() -> None:
    settings = PluginSettings.model_validate({"gpuFeatureDiscovery": False})
    assert plugin_values(settings) == {
        "devicePlugin": {"enabled": True},
        "gfd": {"enabled": False},
        "nfd": {"enabled": True},
        "migStrategy": "none",
        "config": {"default": "default"},
    }


def test_every_key_exists_in_the_chart() -> None:
    if not UPSTREAM.is_file():
        pytest.skip(f"no upstream values to compare with: {UPSTREAM}")
    upstream = yaml_data(UPSTREAM.read_text())
    given = {"pools": ["a"], "imagePullSecret": "ngc", "migStrategy": "mixed"}
    settings = PluginSettings.model_validate(
        {**given, "tolerations": [{"key": "a", "effect": "NoSchedule"}]}
    )
    images = Images.model_validate({"registry": "registry.example.com"})
    mirror = image_values(load("2026.11").chart("nvidia-device-plugin"), images)
    values = merged(mirror, plugin_values(settings))
    assert set(values) <= set(upstream)
    assert values["image"]["repository"] == "registry.example.com/nvidia/k8s-device-plugin"
    # The sub-chart's own keys and its condition are not in the values of this chart.
    assert set(values["nfd"]) - {"enabled", "image"} <= set(upstream["nfd"])
