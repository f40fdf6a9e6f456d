from importlib.resources import files
from pathlib import Path

import pytest

from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.control_plane import COMPONENTS, ControlPlanePlan, command_line, select
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.layout import SandboxLayout
from tests.reading import yaml_documents

PORTS = {name: 4000 + n for n, name in enumerate(p for c in COMPONENTS for p in c.ports)}


def plan(only: list[str]) -> ControlPlanePlan:
    layout = SandboxLayout(Path("/s"))
    names = frozenset(component.name for component in select(only))
    return ControlPlanePlan(layout, Certificates(layout.certificates), PORTS, names)


def arguments(name: str, only: list[str]) -> tuple[str, ...]:
    component = next(component for component in COMPONENTS if component.name == name)
    return command_line(component, plan(only))


def test_a_choice_brings_what_it_needs() -> None:
    assert [c.name for c in select(["kwok"])] == ["etcd", "kube-apiserver", "kwok"]


def test_an_unknown_part_is_named_with_the_known_ones() -> None:
    with pytest.raises(SandboxError, match=r"no such part of the sandbox: kubelet; there are etcd"):
        select(["kubelet"])


def test_order_of_starting_respects_needs() -> None:
    seen: set[str] = {"custom resource definitions"}
    for component in COMPONENTS:
        assert component.needs <= seen, component.name
        seen.add(component.name)


def test_everything_listens_on_loopback_only() -> None:
    everything = [component.name for component in COMPONENTS]
    for component in COMPONENTS:
        for argument in command_line(component, plan(everything)):
            assert "=0.0.0.0" not in argument
            assert "//0.0.0.0" not in argument
    assert "--bind-address=127.0.0.1" in arguments("kube-apiserver", everything)


def test_service_accounts_are_off_without_their_controller() -> None:
    off = "--disable-admission-plugins=ServiceAccount"
    assert off in arguments("kube-apiserver", ["kube-apiserver"])
    assert off not in arguments("kube-apiserver", ["kube-controller-manager"])


def test_stages_cover_the_life_of_nodes_and_pods() -> None:
    text = (files("gpufleet_sandbox") / "kwok_stages.yaml").read_text()
    stages = {stage["metadata"]["name"]: stage for stage in yaml_documents(text)}
    assert list(stages) == [
        "node-ready",
        "node-heartbeat",
        "pod-ready",
        "pod-complete",
        "pod-delete",
    ]
    ready = stages["node-ready"]["spec"]["next"]["statusTemplate"]
    assert "{{ if not .status.allocatable }}" in ready
