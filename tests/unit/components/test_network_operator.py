from typing import Any

import pytest

from gpufleet import NetworkOperator
from gpufleet.components_base.inputs import InvalidArgumentsError

RELEASE = "kubernetes:helm.sh/v3:Release"
NAMESPACE = "kubernetes:core/v1:Namespace"
SETTINGS: dict[str, Any] = {
    "rdma": [{"name": "rail_a"}],
    "macvlan": [{"name": "storage", "ipam": {"type": "nv-ipam", "poolName": "p"}}],
    "wait": True,
}


def arguments(**changes: Any) -> Any:
    return {"catalogue": "2026.11", "settings": SETTINGS, **changes}


def custom(recording: Any) -> dict[str, Any]:
    own = [r for r in recording.resources if r.inputs.get("apiVersion") == "mellanox.com/v1alpha1"]
    return {r.inputs["kind"]: r for r in own}


def test_chart_then_policy_then_networks(run: Any) -> None:
    recording = run(lambda: NetworkOperator("net", arguments()))
    release = recording.one(RELEASE)
    assert (release.inputs["name"], release.inputs["version"]) == ("network-operator", "26.4.1")
    assert release.depends_on == ["net-namespace"]
    made = custom(recording)
    policy, network = made["NicClusterPolicy"], made["MacvlanNetwork"]
    assert "net-release" in policy.depends_on
    assert {"net-policy", "net-release"} <= set(network.depends_on)
    assert policy.inputs["metadata"]["annotations"] == {
        "pulumi.com/waitFor": "jsonpath={.status.state}=ready"
    }


def test_without_wait_nothing_is_awaited(run: Any) -> None:
    settings = {**SETTINGS, "wait": False}
    made = custom(run(lambda: NetworkOperator("net", arguments(settings=settings))))
    assert "annotations" not in made["NicClusterPolicy"].inputs["metadata"]


def test_without_settings_only_the_chart_is_made(run: Any) -> None:
    recording = run(lambda: NetworkOperator("net", {"catalogue": "2026.11"}))
    assert custom(recording) == {}
    assert recording.one(NAMESPACE).inputs["metadata"]["name"] == "nvidia-network-operator"
    assert recording.one(RELEASE).inputs["values"]["nfd"]["enabled"] is True


def test_a_namespace_that_exists_is_used(run: Any) -> None:
    recording = run(lambda: NetworkOperator("net", arguments(namespace="there")))
    assert recording.all(NAMESPACE) == []
    assert recording.one(RELEASE).inputs["namespace"] == "there"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"settings": {"rdma": [{"name": "-"}]}}, "settings.rdma[0].name"),
        ({"settings": {"policy": {"ofedDrivr": {}}}}, "settings.policy.ofedDrivr"),
        (
            {"settings": {"host_device": [{"name": "a", "resource_name": "nic0"}]}},
            "settings.hostDevice[0].resourceName",
        ),
        ({"values": {"nfd": {"enabld": True}}}, "values.nfd.enabld"),
        ({"settings": {"macvlans": []}}, "nearest: macvlan"),
        ({"catalogue": "1999.01"}, "there is 2026.11"),
    ],
)
def test_a_wrong_setting_is_named(run: Any, wrong: Any, said: str) -> None:
    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            NetworkOperator("net", arguments(**wrong))
        assert said in str(caught.value)

    assert run(program).resources == []
