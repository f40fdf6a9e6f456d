from typing import Any

import pulumi
import pytest

from gpufleet import DevicePlugin
from gpufleet.components_base.inputs import InvalidArgumentsError

RELEASE = "kubernetes:helm.sh/v3:Release"


def arguments(**changes: Any) -> Any:
    return {"catalogue": "2026.11", "config": "sharing", **changes}


def test_the_default_is_the_vendors_chart_at_the_pinned_version(run: Any) -> None:
    release = run(lambda: DevicePlugin("plugin", arguments())).one(RELEASE)
    chosen = ("name", "chart", "version", "namespace", "repositoryOpts")
    assert {key: release.inputs[key] for key in chosen} == {
        "name": "nvidia-device-plugin",
        "chart": "nvidia-device-plugin",
        "version": "0.20.0",
        "namespace": "nvidia-device-plugin",
        "repositoryOpts": {"repo": "https://nvidia.github.io/k8s-device-plugin"},
    }
    assert release.inputs["values"]["config"] == {"name": "sharing", "default": "default"}
    assert "affinity" not in release.inputs["values"]


def test_the_config_map_may_be_an_output_and_pools_are_selected(run: Any) -> None:
    given = arguments(config=pulumi.Output.from_input("made-elsewhere"), pools=["chat"])
    values = run(lambda: DevicePlugin("plugin", given)).one(RELEASE).inputs["values"]
    assert values["config"]["name"] == "made-elsewhere"
    required = values["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["chat"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mig_strategy": "both"}, "migStrategy: input should be 'single' or 'mixed'"),
        ({"values": {"migStrtegy": "single"}}, "values.migStrtegy"),
        ({"pool": ["a"]}, "nearest: pools"),
    ],
)
def test_a_wrong_setting_is_named(run: Any, wrong: Any, said: str) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            DevicePlugin("plugin", arguments(**wrong))
        assert said in str(caught.value)

    assert run(program).resources == []
