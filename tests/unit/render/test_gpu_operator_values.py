from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet.fleet import compile_data
from gpufleet.render.gpu_operator_values import (
    OperatorSettings,
    fleet_operator_settings,
    merged,
    mig_parted_files,
    operator_values,
    plugin_files,
)

UPSTREAM = Path(__file__).parents[4] / "shared/reference/charts/gpu-operator-v26.7.0.values.yaml"


def settings(**given: Any) -> OperatorSettings:
    return OperatorSettings.model_validate(given)


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
        "migManager": {"enabled": True, "config": {"default": "all-disabled"}},
        "dcgmExporter": {"enabled": True},
    }


def test_every_key_exists_in_the_chart() -> None:
    if not UPSTREAM.is_file():
        pytest.skip(f"no upstream values to compare with: {UPSTREAM}")
    full = settings(
        driverVersion="595.91.07", migManagerEnv={"WITH_REBOOT": "true"}, imagePullSecret="ngc"
    )
    upstream = yaml.safe_load(UPSTREAM.read_text())
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

    # The chart's templates read these two, its values file has no line for them.
    unlisted = {".dcgm.imagePullSecrets", ".dcgmExporter.imagePullSecrets"}
    assert set(unknown(values, upstream, "")) <= unlisted


def test_merging_is_helms_own() -> None:
    base = {"a": {"b": 1, "c": 2}, "list": [1, 2]}
    assert merged(base, {"a": {"b": 3}, "list": [9]}) == {"a": {"b": 3, "c": 2}, "list": [9]}
    assert merged(base, {"a": {"c": None}}) == {"a": {"b": 1}, "list": [1, 2]}
    assert base == {"a": {"b": 1, "c": 2}, "list": [1, 2]}


def test_what_the_image_brings_is_not_installed_again() -> None:
    wanted = fleet_operator_settings(fleet())
    assert (wanted.driver, wanted.toolkit, wanted.device_plugin) == (False, False, True)
    assert wanted.mig_manager is False
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
    assert wanted.mig_manager is True
    assert operator_values(wanted)["mig"] == {"strategy": "mixed"}
    configs = yaml.safe_load(mig_parted_files(cut).data["config.yaml"])["mig-configs"]
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
