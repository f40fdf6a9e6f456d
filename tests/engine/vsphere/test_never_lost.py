"""Machines that run are not lost: by a mistake in a declaration, by a kill, by another stack."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gpufleet.components_base.resource_plugin import CANCELLED, NotReadyError
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.group_provider import VsphereGpuNodeGroupProvider, VsphereGpuNodeOwnerProvider
from gpufleet_vcenter.identity import LIFE, OWNER, PENDING
from tests.engine.vcenter_fixture import DYNAMIC, FIXED, Vcenter
from tests.engine.vsphere.direct import (
    PROVIDER,
    UNCLOSED,
    Applied,
    Made,
    created,
    group_inputs,
    owner_inputs,
    read,
    refused,
)
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
GROUP = "organisation/project/stack/group"
GROUP_PROVIDER = VsphereGpuNodeGroupProvider()
OWNER_PROVIDER = VsphereGpuNodeOwnerProvider()
OTHER = "ba9876543210"


def group(cloud: Vcenter, *ordinals: int, **more: Any) -> dict[str, Any]:
    """Inputs of a group; `template` goes into the place."""
    template = more.pop("template", "gpu-template")
    place = {**cloud.node(0)["place"], "template": template}
    return group_inputs(cloud, *ordinals, **{"place": place, **more})


WORD = {"updatePolicy": "replace", "generation": OTHER}
MISTAKES = [
    ({"template": "gpu-templat", **WORD}, "no template named 'gpu-templat'"),
    ({"memoryMib": 2_048_000.0, "updatePolicy": "replace"}, "machines need a place, 0 fit"),
    ({"memoryMib": 2_048_000.0, "updatePolicy": "restart"}, "machines need a place, 0 fit"),
    ({"diskGib": 5000.0, "template": "DC0_C0_RP0_VM0", **WORD}, "vsphere-"),
]


@pytest.mark.parametrize(("more", "expected"), MISTAKES)
def test_a_mistake_is_refused_before_any_machine_goes(
    cloud: Vcenter, more: dict[str, Any], expected: str
) -> None:
    made = Applied()
    made.up(group(cloud, *range(4)))
    cloud.proxy.reset()
    wrong = group(cloud, *range(4), **more)
    assert any(expected in reason for reason in made.preview(wrong)), "in the preview"
    assert made.outs is not None
    assert GROUP_PROVIDER.diff("group", made.outs, wrong).changes is True
    text = refused(
        "vsphere-replacement-impossible", lambda: GROUP_PROVIDER.update("g", made.outs or {}, wrong)
    )
    assert "4 machines cannot be changed, and none was" in text
    assert expected in text
    assert cloud.proxy.changing == {}
    assert len(cloud.owned()) == 4


TYPED: list[dict[str, Any]] = [
    *(
        {"place": place}
        for place in (
            {"datacenter": "DC1"},
            {"cluster": "DC0_C1"},
            {"template": "gpu-templat"},
            {"template": "DC0_C0_RP0_VM0"},
            {"datastore": "LocalDS_9"},
            {"storagePolicy": "fast"},
            {"resourcePool": "RP9"},
            {"folder": "gpus"},
            {"network": "VM Networ"},
            {"hosts": ["DC0_C0_H9"]},
        )
    ),
    {"name": "gpx-{}"},
    {"name": "GPU_{}"},
    {"cpus": 80.0},
    {"cpus": 0.0},
    {"coresPerSocket": 3.0},
    {"memoryMib": 64.0},
    {"memoryMib": 6_553_600.0},
    {"diskGib": 1.0},
    {"diskGib": 5_000_000.0},
    {"hardwareVersion": 12.0},
    {"firmware": "bios"},
    {"guestId": "ubuntu"},
    {"gpu": {"profile": "grid_a100-40"}},
    {"gpuMemoryGib": 8000.0},
    {"userData": "#cloud-confg\n"},
    {"metaData": {"role": "trian"}},
    {"latencySensitivity": "hihg"},
]
"""Values of three running machines as a person mistypes them: unknown names, names of others, wrong
units, too much, too little, and other text in what a guest reads once."""
UNUSED: list[dict[str, Any]] = [{"place": {"hosts": ["DC0_C0_H9"]}}, {"firmware": "bios"}]
"""Of these, what running machines do not use: hosts of new machines, and the firmware they have."""


@pytest.mark.parametrize("typed", TYPED, ids=str)
def test_a_typing_error_replaces_no_running_machine(cloud: Vcenter, typed: dict[str, Any]) -> None:
    made = Applied()
    first = group(cloud, 0, 1, 2)
    for node in first["nodes"].values():
        del node["generation"]
    before = made.up(first)
    cloud.proxy.reset()
    more = {key: value for key, value in typed.items() if key not in ("place", "name")}
    wrong = group(cloud, 0, 1, 2, **more)
    for key, node in wrong["nodes"].items():
        node["place"] = {**node["place"], **typed.get("place", {})}
        node["name"] = typed.get("name", "gpu-{}").format(key)
        del node["generation"]
    if not made.preview(wrong) and typed not in UNUSED:
        with pytest.raises((VsphereError, NotReadyError)):
            made.up(wrong)
    assert cloud.proxy.changing == {}
    assert [read(row)["powerState"] for row in before.values()] == ["poweredOn"] * 3
    assert len(cloud.owned()) == 3


def test_a_clone_that_fails_comes_before_the_old_machine_goes(cloud: Vcenter) -> None:
    made = Applied()
    made.up(group(cloud, 0, 1))
    other = group(cloud, 0, 1, metaData={"role": "other"}, **WORD)
    cloud.proxy.reset([Rule(Action.FAULT, "CloneVM_Task", nth=0, fault="NoDiskSpace")])
    text = refused("vsphere-replacement-impossible", lambda: made.up(other))
    assert "vsphere-datastore-full: cloning gpu-" in text
    assert "Destroy_Task" not in cloud.proxy.changing
    assert len(cloud.owned()) == 2


def test_a_replacement_is_cloned_first_and_takes_the_name(cloud: Vcenter) -> None:
    made = Applied()
    before = made.up(group(cloud, 0))["0"]
    seen: list[list[str]] = []

    def look() -> None:
        seen.append(sorted(name.split()[0] for name, own in cloud.machines().items() if own))

    cloud.proxy.reset([Rule(Action.BEFORE, "Destroy_Task", do=look)])
    new = made.up(group(cloud, 0, metaData={"role": "other"}, **WORD))["0"]
    assert seen == [["gpu-0", "gpu-0-next"]]
    assert cloud.proxy.calls["CloneVM_Task"] == 1
    assert new["instanceUuid"] != before["instanceUuid"]
    assert new["drifted"] == {}
    assert sorted(name.split()[0] for name, own in cloud.machines().items() if own) == ["gpu-0"]


def without_configuration(answer: bytes) -> bytes:
    """A response about a machine whose files vCenter does not reach."""
    return re.sub(rb"<propSet><name>config\..*?</propSet>", b"", answer, flags=re.DOTALL)


def test_a_machine_that_cannot_be_read_is_not_gone(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    hidden = Rule(
        Action.REWRITE_REPLY, "RetrievePropertiesEx", nth=0, rewrite=without_configuration
    )
    cloud.proxy.reset([hidden])
    for operation in (
        lambda: read(outs),
        lambda: PROVIDER.delete(outs["instanceUuid"], outs),
        lambda: PROVIDER.update(outs["instanceUuid"], outs, cloud.node(1, annotation="x")),
    ):
        assert "cannot read its configuration" in refused("vsphere-unreadable-machine", operation)
    assert len(cloud.owned()) == 1


def test_a_machine_that_is_not_shown_is_not_gone(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    unseen = Rule(
        Action.REWRITE_REPLY,
        "FindAllByUuid",
        nth=0,
        rewrite=lambda answer: re.sub(rb"<returnval.*?</returnval>", b"", answer, flags=re.DOTALL),
    )
    cloud.proxy.reset([unseen])
    for operation in (
        lambda: read(outs),
        lambda: PROVIDER.delete(outs["instanceUuid"], outs),
    ):
        text = refused("vsphere-unreadable-machine", operation)
        assert f"{outs['moRef']}, which had it, exists as gpu-1" in text
    assert len(cloud.owned()) == 1
    cloud.proxy.reset()
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert read(outs) == {}


def life(cloud: Vcenter) -> tuple[str, dict[str, Any]]:
    """An id of a stack, and the state of its resource."""
    made = OWNER_PROVIDER.create(owner_inputs(cloud))
    return str(made.id), made.outs or {}


def test_machines_of_another_backend_are_not_touched(cloud: Vcenter) -> None:
    first, _ = life(cloud)
    second, state = life(cloud)
    mine = created(cloud.node(0, life=first))
    theirs = cloud.node(0, life=second, cpus=4.0)
    refused("vsphere-name-taken", lambda: created(theirs))
    (reason,) = Applied().preview({**group(cloud, 0), "life": second})
    assert reason.startswith("vsphere-name-taken")
    OWNER_PROVIDER.delete(second, state)
    assert cloud.proxy.changing.keys() <= {"CloneVM_Task", "ReconfigVM_Task", "PowerOnMultiVM_Task"}
    assert read(mine)["drifted"] == {}
    assert read(mine)["cpus"] == 8


def test_a_replacement_does_not_take_the_name_of_another_backends_machine(cloud: Vcenter) -> None:
    """The stack has its own machine, of the same owner, that needs that name."""
    first, _ = life(cloud)
    second, _ = life(cloud)
    mine = created(cloud.node(0, life=first))
    there = Applied()
    theirs = there.up({**group(cloud, 0, name="gpu-other"), "life": second})["0"]
    after = {**group(cloud, 0, **WORD), "life": second}
    (reason,) = there.preview(after)
    assert reason.startswith("vsphere-name-taken")
    outs = there.outs or {}
    text = refused(
        "vsphere-replacement-impossible", lambda: GROUP_PROVIDER.update("group", outs, after)
    )
    assert "vsphere-name-taken" in text
    assert {name.split()[0] for name, own in cloud.machines().items() if own} == {
        "gpu-0",
        "gpu-other",
    }
    assert [read(one)["drifted"] for one in (mine, theirs)] == [{}, {}]


def test_a_machine_of_another_stack_is_taken_over_by_its_uuid(cloud: Vcenter) -> None:
    first, state = life(cloud)
    second, _ = life(cloud)
    mine = created(cloud.node(0, life=first))
    taken = created(cloud.node(0, life=second, adopt=mine["instanceUuid"]))
    assert (taken["instanceUuid"], taken["adopted"]) == (mine["instanceUuid"], True)
    OWNER_PROVIDER.delete(first, state)
    assert len(cloud.owned()) == 1, "it belongs to the second stack now"
    PROVIDER.delete(taken["instanceUuid"], taken)
    assert cloud.owned() == []


def test_an_adopted_machine_has_the_name_and_is_of_gpufleet(cloud: Vcenter) -> None:
    mine = created(cloud.node(0, life="aaaaaaaaaaaa"))
    other = cloud.node(1, life="bbbbbbbbbbbb", adopt=mine["instanceUuid"])
    text = refused("vsphere-foreign-machine", lambda: created(other))
    assert "only a machine of gpufleet named gpu-1 can become gpu-1" in text


def test_what_no_state_has_goes_with_the_group(cloud: Vcenter) -> None:
    """A run that was killed, and then a destroy: the state has the group's id and nothing else."""
    mine, state = life(cloud)
    Applied().up({**group(cloud, 0, 1), "life": mine})
    created(cloud.node(9, owner="organisation/project/stack/other/9", life="another"))
    OWNER_PROVIDER.delete(mine, state)
    assert cloud.owned() == ["organisation/project/stack/other/9"]


def test_a_declaration_that_changed_after_a_kill(cloud: Vcenter) -> None:
    """The incomplete machine of the earlier declaration is removed for the declared one."""
    made = Applied()
    cloud.proxy.reset([Rule(Action.AFTER, "ReconfigVM_Task", nth=1, do=CANCELLED.set)])
    try:
        made.killed(group(cloud, 0))
    finally:
        CANCELLED.clear()
    cloud.proxy.reset()
    assert len(cloud.owned()) == 1
    new = made.up(group(cloud, 0, generation=OTHER, metaData={"role": "other"}))["0"]
    assert new["adopted"] is False
    assert len(cloud.owned()) == 1


def test_a_late_machine_stays_and_is_waited_for_again(cloud: Vcenter) -> None:
    node = cloud.node(1, waitFor="tools", timeouts={"address": 1})
    text = refused("vsphere-timeout", lambda: created(node))
    assert "runs and stays: the next `pulumi up` waits for it again" in text
    assert len(cloud.owned()) == 1
    outs = created(cloud.node(1))
    assert outs["adopted"] is True
    assert cloud.proxy.calls["CloneVM_Task"] == 1
    with cloud.machine("gpu-1") as machine:
        keys = {entry.key: entry.value for entry in machine.config.extraConfig}
    assert not keys.get(PENDING)


def test_an_interrupted_update_stops_waiting_and_the_machine_stays(cloud: Vcenter) -> None:
    started = time.monotonic()
    stop = threading.Timer(3.0, CANCELLED.set)
    stop.start()
    try:
        node = cloud.node(1, waitFor="tools", timeouts={"address": 300})
        text = refused("vsphere-interrupted", lambda: created(node))
    finally:
        stop.join()
        CANCELLED.clear()
    assert time.monotonic() - started < 60
    assert "runs and stays" in text
    assert len(cloud.owned()) == 1


@pytest.mark.parametrize("method", ["CloneVM_Task", "ReconfigVM_Task", "PowerOnMultiVM_Task"])
def test_a_vcenter_that_is_away_for_a_while_is_waited_for(
    cloud: Vcenter, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr("gpufleet_vcenter.session.PATIENCE_SECONDS", 60.0)
    present = cloud.proxy.life

    def away() -> None:
        cloud.proxy.life = None
        threading.Timer(8.0, lambda: setattr(cloud.proxy, "life", present)).start()

    cloud.proxy.reset([Rule(Action.DROP_REQUEST, method, do=away)])
    started = time.monotonic()
    assert created(cloud.node(1))["powerState"] == "poweredOn"
    assert time.monotonic() - started > 7
    assert len(cloud.owned()) == 1


@pytest.fixture
def narrow(other: Made) -> Vcenter:
    return other(hosts=1, gpus=2)


@pytest.mark.parametrize("gpu", [{**DYNAMIC, "count": 2}, FIXED], ids=["slots", "pci ids"])
def test_two_processes_and_one_place(narrow: Vcenter, gpu: dict[str, Any]) -> None:
    """Both find it free and clone; the one that attaches its devices first gets it."""
    together = threading.Barrier(2)
    rule = Rule(Action.BEFORE, "CloneVM_Task", nth=0, do=lambda: together.wait(60) and None)
    narrow.proxy.reset([rule])
    other = narrow.node(1, gpu, life="bbbbbbbbbbbb")
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(narrow.worker.run, "create", news=other)
        here = _attempt(narrow.node(0, gpu, life="aaaaaaaaaaaa"))
        answer = there.result()
    assert not together.broken
    assert isinstance(here, VsphereError) is ("result" in answer), (here, answer)
    text = str(here) if isinstance(here, VsphereError) else answer["error"]
    assert "vsphere-gpu-capacity" in text
    assert len(narrow.owned()) == 1


def _attempt(node: dict[str, Any]) -> Any:
    try:
        return created(node)
    except VsphereError as failure:
        return failure


def test_a_latency_sensitive_machine_has_its_processors_reserved(cloud: Vcenter) -> None:
    """ESXi does not start it otherwise."""
    outs = created(cloud.node(1, latencySensitivity="high"))
    with cloud.machine("gpu-1") as machine:
        hertz = machine.resourcePool.owner.host[0].hardware.cpuInfo.hz
        assert machine.config.cpuAllocation.reservation == 8 * hertz // 1_000_000 > 0
        keys = {entry.key: entry.value for entry in machine.config.extraConfig}
    assert keys["disk.EnableUUID"] == "TRUE"
    assert outs["drifted"] == {}


def test_a_lost_change_of_disks_and_networks_is_made_again_whole(cloud: Vcenter) -> None:
    """Computing the missing resources does not change the observed state."""
    place = {**cloud.node(1)["place"], "networks": [{"network": "DC0_DVPG0"}]}
    disk = {"name": "scratch", "sizeGib": 10.0}
    node = cloud.node(1, extraDisks=[disk], diskGib=50.0, updatePolicy="restart", place=place)
    outs = created(node)
    moved = {**place, "networks": [{"network": "VM Network"}]}
    more = {"extraDisks": [{**disk, "sizeGib": 15.0}], "diskGib": 60.0, "place": moved}
    cloud.proxy.reset([Rule(Action.DROP_REQUEST, "ReconfigVM_Task", nth=1)])
    changed = PROVIDER.update(outs["instanceUuid"], outs, {**node, "cpus": 16.0, **more}).outs or {}
    assert changed["drifted"] == {}
    assert [row["sizeGib"] for row in changed["disks"]] == [15]


def test_marks_name_the_stack(cloud: Vcenter) -> None:
    created(cloud.node(1, life="aaaaaaaaaaaa"))
    with cloud.machine("gpu-1") as machine:
        keys = {entry.key: entry.value for entry in machine.config.extraConfig}
    assert (keys[OWNER], keys[LIFE]) == (f"{GROUP}/1", "aaaaaaaaaaaa")
