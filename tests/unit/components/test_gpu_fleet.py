import copy
import json
from typing import Any

import pulumi
import pytest

from gpufleet import GpuFleet
from gpufleet.components_base.inputs import InvalidArgumentsError

SPEC: dict[str, Any] = {
    "catalogue": "2026.11",
    "platform": "sandbox",
    "cluster": {"name": "lab"},
    "pools": [
        {
            "name": "chat",
            "gpu": "L4",
            "nodes": {"min": 2, "max": 4},
            "sharing": {"timeSlicing": {"replicas": 4}},
        },
        {
            "name": "notebooks",
            "instanceTypes": ["p4de.24xlarge"],
            "nodes": {"min": 1, "max": 1},
            "intent": "interactive",
            "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}},
        },
        {"name": "old", "gpu": "T4", "nodes": {"min": 1, "max": 1}, "ownership": "existing"},
    ],
}
FLEET = "gpufleet:index:GpuFleet"
POOL = "gpufleet:index:SimulatedGpuNodePool"
NODE = "kubernetes:core/v1:Node"


def spec(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(SPEC), **changes}


def test_a_fleet_is_add_ons_and_a_component_per_managed_pool(run: Any) -> None:
    recording = run(lambda: GpuFleet("fleet", {"spec": spec()}))
    assert recording.one("gpufleet:index:GpuAddons").parent == "fleet"
    assert [pool.name for pool in recording.all(POOL)] == ["fleet-chat", "fleet-notebooks"]
    assert {pool.parent for pool in recording.all(POOL)} == {"fleet"}
    assert [node.name for node in recording.all(NODE)] == [
        "fleet-chat-0",
        "fleet-chat-1",
        "fleet-notebooks-0",
    ]


def test_policies_see_the_whole_fleet_on_the_component_itself(run: Any) -> None:
    recording = run(lambda: GpuFleet("fleet", {"spec": spec()}))
    inputs = recording.one(FLEET).inputs
    assert set(inputs) == {"fleet", "findings"}
    assert [pool["name"] for pool in inputs["fleet"]["pools"]] == ["chat", "notebooks", "old"]
    first = recording.resources.index(recording.one(FLEET))
    children = [r for r in recording.resources if r.parent]
    assert all(recording.resources.index(child) > first for child in children)


def test_exceptions_reach_the_policies_under_the_names_of_their_rules(run: Any) -> None:
    exceptions = {"gpu-pool-fixed-size": "demo week; until=2026-12-04"}
    recording = run(lambda: GpuFleet("fleet", {"spec": spec(), "policy_exceptions": exceptions}))
    assert recording.one(FLEET).inputs["policyExceptions"] == exceptions


def test_nodes_wait_for_what_their_labels_name(run: Any) -> None:
    recording = run(lambda: GpuFleet("fleet", {"spec": spec()}))
    for pool in recording.all(POOL):
        assert "fleet-addons-gpu-operator-release" in pool.depends_on
        assert "fleet-addons-mig-parted" in pool.depends_on
        assert "fleet-addons-device-plugin" in pool.depends_on


def test_the_providers_reach_every_child(run: Any) -> None:
    def program() -> None:
        import pulumi_kubernetes as kubernetes

        cluster = kubernetes.Provider("cluster")
        GpuFleet("fleet", {"spec": spec()}, pulumi.ResourceOptions(providers=[cluster]))

    recording = run(program)
    made = [r for r in recording.resources if r.type.startswith("kubernetes:")]
    assert len(made) == 7
    assert {r.provider for r in made} == {"cluster"}


def test_outputs_say_what_nodes_advertise_and_what_the_fleet_costs(run: Any) -> None:
    seen: dict[str, Any] = {}

    def program() -> Any:
        fleet = GpuFleet("fleet", {"spec": spec()})
        return pulumi.Output.all(
            advertised=fleet.advertised,
            low=fleet.minimum_usd_per_hour,
            expected=fleet.expected_usd_per_hour,
            high=fleet.maximum_usd_per_hour,
            why=fleet.unbounded_spend,
            cluster=fleet.cluster_name,
        ).apply(seen.update)

    run(program)
    assert seen["advertised"] == {
        "chat": {"nvidia.com/gpu.shared": 4},
        "notebooks": {"nvidia.com/mig-1g.10gb": 56},
        "old": {"nvidia.com/gpu": 1},
    }
    assert float(seen["low"]) <= float(seen["expected"]) <= float(seen["high"])
    assert seen["why"] == []
    assert seen["cluster"] == "lab"


def test_a_pool_hands_its_declaration_on(run: Any) -> None:
    found: dict[str, Any] = {}

    def program() -> None:
        fleet = GpuFleet("fleet", {"spec": spec()})
        found.update(chat=fleet.pool("chat"), old=fleet.pool("old"))
        with pytest.raises(KeyError, match="no pool 'chats'; the pools are chat, notebooks, old"):
            fleet.pool("chats")

    run(program)
    assert found["chat"].spec == {
        "name": "chat",
        "gpu": "L4",
        "nodes": {"min": 2, "max": 4},
        "sharing": {"time_slicing": {"replicas": 4}},
    }
    assert found["chat"].nodes is not None
    assert found["old"].nodes is None


def test_the_connection_is_wired_through(run: Any) -> None:
    name = pulumi.Output.from_input("made-elsewhere")
    recording = run(
        lambda: GpuFleet("fleet", {"spec": spec(), "connection": {"cluster_name": name}})
    )
    for node in recording.all(NODE):
        assert node.inputs["metadata"]["annotations"]["gpufleet.dev/cluster"] == "made-elsewhere"


def test_warnings_are_shown_and_errors_are_not_needed(run: Any) -> None:
    wanting = spec()
    wanting["pools"][1]["sharing"]["mig"]["layouts"] = [{"devices": {"2g.20gb": 2}}]
    recording = run(lambda: GpuFleet("fleet", {"spec": wanting}))
    assert len(recording.warnings) == 1
    assert recording.warnings[0].startswith(
        "mig-layout-unfinished: pools[1].sharing.mig.layouts[0]"
    )
    codes = [finding["code"] for finding in recording.one(FLEET).inputs["findings"]]
    assert codes == ["mig-layout-unfinished"]


def test_all_errors_come_at_once_and_nothing_is_registered(run: Any) -> None:
    broken = spec()
    broken["pools"][0]["nodes"] = {"min": 5, "max": 4}
    broken["pools"][1]["sharing"]["mig"]["layouts"][0]["devices"] = {"3g.40gb": 2, "1g.10gb": 1}
    broken["colour"] = "green"
    registered: list[Any] = []

    def program() -> None:
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuFleet("fleet", {"spec": broken})
        registered.append(str(caught.value))
        assert isinstance(caught.value, pulumi.InputPropertiesError)
        assert isinstance(caught.value, pulumi.RunError)
        assert len(caught.value.errors or []) == 3

    recording = run(program)
    assert recording.resources == []
    text = registered[0]
    assert text.startswith('GpuFleet "fleet": 3 errors\n')
    assert "pools[0].nodes: min 5 is greater than max 4" in text
    assert "pools[1].sharing.mig.layouts[0].devices" in text
    assert "`colour` is not a key here" in text


def test_an_output_in_the_spec_is_one_clear_error(run: Any) -> None:
    def program() -> None:
        wired = spec(cluster={"name": pulumi.Output.from_input("later")})
        with pytest.raises(InvalidArgumentsError) as caught:
            GpuFleet("fleet", {"spec": wired})
        assert "1 error\n" in str(caught.value)
        assert "cluster.name: the value is a Pulumi Output" in str(caught.value)
        assert "`connection`" in str(caught.value)

    assert run(program).resources == []


def test_a_misspelt_argument_is_named_with_the_nearest(run: Any) -> None:
    def program() -> None:
        arguments: Any = {"spec": spec(), "conection": {}}
        with pytest.raises(InvalidArgumentsError, match="nearest: connection"):
            GpuFleet("fleet", arguments)

    assert run(program).resources == []


def test_whole_numbers_may_arrive_as_floats(run: Any) -> None:
    """A component host delivers every number as a float."""
    floats = json.loads(json.dumps(SPEC), parse_int=float)
    recording = run(lambda: GpuFleet("fleet", {"spec": floats}))
    plain = run(lambda: GpuFleet("fleet", {"spec": spec()}))
    assert recording.one(FLEET).inputs == plain.one(FLEET).inputs


def test_children_keep_their_names(run: Any) -> None:
    """A renamed child is replaced in every stack that has it: needs aliases and a release note."""
    recording = run(lambda: GpuFleet("fleet", {"spec": spec()}))
    assert sorted((r.type, r.name, r.parent) for r in recording.resources) == [
        ("gpufleet:index:GpuAddons", "fleet-addons", "fleet"),
        (FLEET, "fleet", ""),
        ("gpufleet:index:GpuOperator", "fleet-addons-gpu-operator", "fleet-addons"),
        (POOL, "fleet-chat", "fleet"),
        (POOL, "fleet-notebooks", "fleet"),
        ("kubernetes:core/v1:ConfigMap", "fleet-addons-device-plugin", "fleet-addons"),
        ("kubernetes:core/v1:ConfigMap", "fleet-addons-mig-parted", "fleet-addons"),
        ("kubernetes:core/v1:Namespace", "fleet-addons-namespace", "fleet-addons"),
        (NODE, "fleet-chat-0", "fleet-chat"),
        (NODE, "fleet-chat-1", "fleet-chat"),
        (NODE, "fleet-notebooks-0", "fleet-notebooks"),
        (
            "kubernetes:helm.sh/v3:Release",
            "fleet-addons-gpu-operator-release",
            "fleet-addons-gpu-operator",
        ),
    ]
