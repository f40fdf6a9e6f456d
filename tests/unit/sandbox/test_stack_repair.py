"""Repair of pending operations of a killed engine in the state."""

from typing import Any

import pytest

from gpufleet_sandbox.stack_repair import kubernetes_id, settled

URN = "urn:pulumi:dev::demo::kubernetes:core/v1:ConfigMap::settings"


def entry(urn: str = URN, **changes: Any) -> dict[str, Any]:
    inputs = {"metadata": {"name": "settings-1a2b", "namespace": "gpu"}}
    return {"urn": urn, "type": urn.split("::")[2], "custom": True, "inputs": inputs, **changes}


def state(operation: str, pending: dict[str, Any], *resources: dict[str, Any]) -> dict[str, Any]:
    return {
        "manifest": {"version": "v3"},
        "resources": list(resources),
        "pending_operations": [{"type": operation, "resource": pending}],
    }


def test_a_creation_becomes_a_resource_with_the_id_its_metadata_gives() -> None:
    result, told = settled(state("creating", entry()))
    assert result["pending_operations"] == []
    assert result["manifest"] == {"version": "v3"}
    (resource,) = result["resources"]
    assert resource["id"] == "gpu/settings-1a2b"
    assert resource["outputs"] == resource["inputs"]
    assert "delete" not in resource
    assert told == ["settings was being created as gpu/settings-1a2b; looking whether it exists"]


def test_an_id_the_provider_gave_already_wins() -> None:
    result, _ = settled(state("creating", entry(id="gpu/given", outputs={"a": 1})))
    assert result["resources"][0]["id"] == "gpu/given"
    assert result["resources"][0]["outputs"] == {"a": 1}


def test_a_second_object_of_one_resource_is_entered_for_deletion() -> None:
    recorded = entry(id="gpu/settings-9z9z")
    result, _ = settled(state("creating", entry(), recorded))
    assert [(r["id"], r.get("delete", False)) for r in result["resources"]] == [
        ("gpu/settings-9z9z", False),
        ("gpu/settings-1a2b", True),
    ]


def test_an_object_that_is_recorded_already_is_not_entered_again() -> None:
    recorded = entry(id="gpu/settings-1a2b")
    result, told = settled(state("creating", entry(), recorded))
    assert result["resources"] == [recorded]
    assert told == []


@pytest.mark.parametrize("operation", ["updating", "deleting", "reading", "importing"])
def test_other_operations_are_left_to_the_refresh(operation: str) -> None:
    recorded = entry(id="gpu/settings-1a2b")
    assert settled(state(operation, recorded, recorded))[0]["resources"] == [recorded]


def test_a_creation_without_a_known_id_is_told() -> None:
    urn = "urn:pulumi:dev::demo::aws:ec2/vpc:Vpc::network"
    result, told = settled(state("creating", entry(urn)))
    assert result["resources"] == []
    assert told == ["network may exist without being recorded; its provider gave no id yet"]


@pytest.mark.parametrize(
    ("kind", "inputs", "identity"),
    [
        ("kubernetes:core/v1:ConfigMap", {"metadata": {"name": "a", "namespace": "n"}}, "n/a"),
        ("kubernetes:core/v1:Node", {"metadata": {"name": "gpu-0"}}, "gpu-0"),
        ("kubernetes:helm.sh/v3:Release", {"name": "op", "namespace": "gpu"}, "gpu/op"),
        ("kubernetes:core/v1:ConfigMap", {"metadata": {"generateName": "a-"}}, None),
        ("kubernetes:core/v1:Secret", {"metadata": {"name": {"4dab": "secret"}}}, None),
        ("aws:ec2/vpc:Vpc", {"metadata": {"name": "a"}}, None),
    ],
)
def test_the_id_of_a_kubernetes_object(
    kind: str, inputs: dict[str, Any], identity: str | None
) -> None:
    assert kubernetes_id({"type": kind, "inputs": inputs}) == identity
