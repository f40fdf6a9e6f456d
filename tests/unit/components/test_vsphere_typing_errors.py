"""27 typing errors in the declaration of three nodes that run: none is replaced without the word.

Each is made in the arguments of the program. The inputs that the component registers for it are
compared with those of before, as the group's provider does without a vCenter.
"""

from typing import Any

import pytest

from gpufleet import VsphereGpuNodeGroup
from gpufleet_vcenter.group_plan import (
    GroupInputs,
    StepKind,
    planned,
    refusals_of,
    state_of,
)
from gpufleet_vcenter.settings import normalised
from tests.unit.components.test_vsphere_group import RKE2, arguments, group_of, refused

SHAPE = {"cpus": 8, "memory_gib": 64, "template": "gpu-template"}


def shape(**more: Any) -> dict[str, Any]:
    return {"pool": {"vsphere": {**SHAPE, **more}}}


def pool(**more: Any) -> dict[str, Any]:
    return {"pool": more}


def connection(**more: Any) -> dict[str, Any]:
    return {"connection": more}


ERRORS: dict[str, dict[str, Any]] = {
    "template, a letter lacks": shape(template="gpu-templat"),
    "template, another one": shape(template="cpu-template"),
    "template, a capital": shape(template="GPU-template"),
    "pool name": pool(name="trian"),
    "pool name, plural": pool(name="trains"),
    "name prefix": {"prefix": "gpus"},
    "server": connection(server="vcentre.example.com"),
    "datacenter": connection(datacenter="DC2"),
    "cluster": connection(compute_cluster="gpus"),
    "resource pool": connection(resource_pool="prod"),
    "folder": shape(folder="gpus"),
    "datastore": shape(datastore="nvme2"),
    "memory, a digit lacks": shape(memory_gib=6),
    "memory, a digit too many": shape(memory_gib=640),
    "processors": shape(cpus=80),
    "hardware version": shape(hardware_version=19),
    "disk": pool(disk={"size_gib": 10}),
    "GPU": pool(gpu="A100-40GB"),
    "GPUs per node": pool(gpus_per_node=2),
    "label": pool(labels={"tier": "trian"}),
    "taint": pool(taints=[{"key": "tier", "value": "x", "effect": "NoSchedule"}]),
    "join method": connection(join={**RKE2, "method": "k3s", "endpoint": "https://10.0.0.10:6443"}),
    "argument of the kubelet": connection(join={**RKE2, "kubelet_arguments": {"v": "44"}}),
    "user data in place of join": connection(join=None, user_data="#cloud-config\n"),
    "vendor data": connection(vendor_data="#cloud-config\n"),
    "static addresses": shape(
        networks=[{"network": "a", "addresses": {"ranges": ["10.0.0.10-10.0.0.20"], "prefix": 24}}]
    ),
    "named machines": shape(machines=[{"name": "a"}, {"name": "b"}, {"name": "c"}]),
}


REFUSED = ("disk",)
"""Errors that are refused before anything is registered."""
NO_OTHER_MACHINE = (
    *("cluster", "resource pool", "folder", "datastore", "processors", "hardware version"),
    *("memory, a digit lacks", "memory, a digit too many", "GPU", "GPUs per node"),
)
"""Errors that need no other machine: changed in place, or refused."""


def arguments_of(wrong: dict[str, Any]) -> Any:
    given = arguments(
        {"vsphere": SHAPE, **wrong.get("pool", {})},
        **{"join": RKE2, **wrong.get("connection", {})},
    )
    if "prefix" in wrong:
        given["name_prefix"] = wrong["prefix"]
    given["connection"] = {k: v for k, v in given["connection"].items() if v is not None}
    return given


def registered(run: Any, wrong: dict[str, Any]) -> dict[str, Any]:
    given = arguments_of(wrong)
    found = group_of(run(lambda: VsphereGpuNodeGroup("pool", given)))
    return normalised({**found, "life": "0123456789ab", "boot": found["boot"]["value"]})


@pytest.mark.parametrize("error", ERRORS)
def test_a_typing_error_ends_no_machine_that_runs(run: Any, error: str) -> None:
    before = registered(run, {})
    if error in REFUSED:
        refused(run, arguments_of(ERRORS[error]))
        return
    after = registered(run, ERRORS[error])
    given, olds = GroupInputs.of(after), state_of(before)
    assert given is not None
    _, steps = planned(olds, given.nodes)
    assert steps, "it is seen"
    ends = [step for step in steps if step.kind is StepKind.REPLACE]
    gone = [step for step in steps if step.kind is StepKind.REMOVE]
    reasons = refusals_of(steps)
    for step in (*ends, *gone):
        assert any(step.name in reason for reason in reasons)
    if error not in NO_OTHER_MACHINE:
        assert len({step.key for step in (*ends, *gone)}) == 3, reasons
        assert "write `updatePolicy: replace`" in reasons[0]


def test_there_are_27() -> None:
    assert len(ERRORS) == 27
