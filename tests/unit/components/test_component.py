"""The frame that every component shares, and what a fleet hands to its children."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pulumi
import pytest

import gpufleet
from gpufleet import GpuFleet, KarpenterGpuNodePool
from gpufleet.components_base.component import ComponentPlan, GpuComponent
from gpufleet.components_base.inputs import InvalidArgumentsError
from tests.unit.components.conftest import Run

EKS = {
    "catalogue": "2026.11",
    "platform": "eks",
    "cluster": {"name": "ml", "region": "us-east-1"},
    "pools": [
        {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": 2}},
        {"name": "train", "gpu": "L4", "nodes": {"min": 0, "max": 2}},
    ],
}
GKE = {**EKS, "platform": "gke", "cluster": {"name": "ml", "region": "us-central1"}}
CONNECTION = {
    "node_role_arn": "arn:aws:iam::123456789012:role/nodes",
    "subnet_ids_by_zone": {"us-east-1a": "subnet-0a"},
}


class Greeting(GpuComponent[ComponentPlan]):
    """A component that makes nothing."""

    said: pulumi.Output[str]
    made_of: pulumi.Output[str]

    def __init__(self, name: str, args: Mapping[str, Any]) -> None:
        self._construct(name, ComponentPlan(warnings=(args["warning"],)), None)

    def _make(self, name: str, plan: ComponentPlan) -> Mapping[str, object]:
        return {"said": f"hello {name}", "made_of": pulumi.Output.from_input("plan")}


def test_arguments_and_a_plan_make_the_same_component(run: Run) -> None:
    def program() -> None:
        Greeting("one", {"warning": "mind the gap"})
        two = Greeting.from_plan("two", ComponentPlan())
        pulumi.Output.all(two.said, two.made_of).apply(found.extend)

    found: list[str] = []
    recording = run(program)
    assert [(made.type, made.name) for made in recording.resources] == [
        ("gpufleet:index:Greeting", "one"),
        ("gpufleet:index:Greeting", "two"),
    ]
    assert recording.warnings == ["mind the gap"]
    assert found == ["hello two", "plan"]


def test_every_public_component_has_the_frame_and_pulumis_signature() -> None:
    kinds = [getattr(gpufleet, name) for name in gpufleet.__all__]
    components = [kind for kind in kinds if issubclass(kind, pulumi.ComponentResource)]
    assert len(components) > 20
    for kind in components:
        if kind.__name__ != "AdmissionPolicies":
            assert issubclass(kind, GpuComponent), kind
        names = list(kind.__init__.__code__.co_varnames)[: kind.__init__.__code__.co_argcount]
        assert names == ["self", "name", "args", "opts"], kind
        assert kind.__init__.__code__.co_kwonlyargcount == 0, kind


@pytest.mark.parametrize(
    ("spec", "connection", "module", "renderer"),
    [
        (EKS, CONNECTION, "gpufleet.platforms.eks.pool_plans", "node_group"),
        (EKS, CONNECTION, "gpufleet.platforms.eks.pool_plans", "launch_template"),
        (EKS, CONNECTION, "gpufleet.platforms.eks.argument_rules", "validate_node_group"),
        (GKE, {}, "gpufleet.platforms.gke.node_pool", "node_pools"),
        (GKE, {}, "gpufleet.platforms.gke.platform", "validate_node_pools"),
        (GKE, {}, "gpufleet.platforms.gke.node_pool", "validate_import"),
    ],
)
def test_a_fleet_renders_and_validates_each_pool_once(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    spec: dict[str, Any],
    connection: dict[str, Any],
    module: str,
    renderer: str,
) -> None:
    home, calls = import_module(module), list[int]()
    original = getattr(home, renderer)

    def counted(*args: Any) -> Any:
        calls.append(1)
        return original(*args)

    monkeypatch.setattr(home, renderer, counted)
    run(lambda: GpuFleet("fleet", {"spec": spec, "connection": connection}))  # type: ignore[typeddict-item]
    assert len(calls) == len(spec["pools"])


def test_all_that_is_wrong_comes_at_once() -> None:
    arguments: Any = {
        **CONNECTION,
        "catalogue": "2026.11",
        "region": "us-east-1",
        "cluster_name": "ml",
        "pool": {
            "name": "chat",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 2},
            "zones": ["us-east-1b"],
            "sharing": {"time_slicing": {"replicas": 4}},
        },
        "configurations": ["default"],
        "node_role_arn": "nodes",
    }
    with pytest.raises(InvalidArgumentsError) as refused:
        KarpenterGpuNodePool("chat", arguments)
    assert {finding.code for finding in refused.value.findings} >= {
        "zone-without-subnet",
        "connection-no-role-arn",
        "connection-missing",
        "configuration-not-declared",
    }


def test_a_fleet_says_all_that_its_pools_lack() -> None:
    """Children refuse nothing that the fleet could have refused."""
    spec = {**EKS, "tags": {"aws:owner": "ml"}}
    connection: Any = {**CONNECTION, "node_role_arn": "nodes"}
    with pytest.raises(InvalidArgumentsError, match=r'^GpuFleet "fleet"') as refused:
        GpuFleet("fleet", {"spec": spec, "connection": connection})
    codes = [finding.code for finding in refused.value.findings]
    assert codes.count("connection-no-role-arn") == 1
