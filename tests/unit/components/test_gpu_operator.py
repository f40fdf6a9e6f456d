from typing import Any

import pulumi
import pytest

from gpufleet import GpuOperator
from gpufleet.components_base.inputs import InvalidArgumentsError

RELEASE = "kubernetes:helm.sh/v3:Release"


def operator(**changes: Any) -> Any:
    return {"catalogue": "2026.11", **changes}


def test_the_default_is_the_vendors_chart_at_the_pinned_version(run: Any) -> None:
    release = run(lambda: GpuOperator("operator", operator())).one(RELEASE)
    assert release.name == "operator-release"
    assert release.parent == "operator"
    chosen = ("name", "chart", "version", "namespace", "repositoryOpts")
    assert {key: release.inputs[key] for key in chosen} == {
        "name": "gpu-operator",
        "chart": "gpu-operator",
        "version": "v26.7.0",
        "namespace": "gpu-operator",
        "repositoryOpts": {"repo": "https://helm.ngc.nvidia.com/nvidia"},
    }
    assert release.inputs["values"]["driver"] == {"enabled": True}
    assert release.inputs["values"]["devicePlugin"] == {"enabled": True, "config": {"default": ""}}


def test_names_of_config_maps_may_be_outputs(run: Any) -> None:
    name = pulumi.Output.from_input("made-elsewhere")
    release = run(lambda: GpuOperator("operator", operator(mig_config=name))).one(RELEASE)
    config = release.inputs["values"]["migManager"]["config"]
    assert config == {"default": "all-disabled", "name": "made-elsewhere"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"mig_strategy": "both"},
            "migStrategy: input should be 'single' or 'mixed', found 'both'",
        ),
        (
            {"settings": {"driver": {"enabled": "no thanks"}}},
            "settings.driver.enabled: true or false is wanted",
        ),
        ({"catalogue": "1999.01"}, "there is 2026.11"),
        ({"charts": {"source": {"oci": "a", "folder": "b"}}}, "found oci and folder"),
        ({"settings": {"toolkits": {}}}, "nearest: toolkit"),
    ],
)
def test_a_wrong_setting_is_named(run: Any, wrong: Any, said: str) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuOperator("operator", operator(**wrong))
        assert said in str(caught.value)
        assert str(caught.value).startswith('GpuOperator "operator": 1 error\n')

    assert run(program).resources == []
