"""A group makes the declared set from the machines that carry its id, whatever came before."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.identity import PENDING
from gpufleet_vcenter.session import close_all
from tests.engine.vcenter_fixture import FIXED, PASSWORD, SECRET, Vcenter
from tests.engine.vsphere.direct import (
    PROVIDER,
    UNCLOSED,
    Applied,
    Made,
    checked,
    created,
    finished,
    group_inputs,
    refused,
)
from tests.vcenter.fault_proxy import Action, Rule
from tests.vcenter.vcenter8 import DIFFERENCES, visible_while_cloned

pytestmark = UNCLOSED
GROUP_NAME = "organisation/project/stack/group"


def pending(cloud: Vcenter) -> list[str]:
    with cloud.service() as service:
        content = service.RetrieveContent()
        view = content.viewManager.CreateContainerView(
            content.rootFolder, [vim.VirtualMachine], True
        )
        return sorted(
            machine.name
            for machine in view.view
            if any(e.key == PENDING and e.value for e in machine.config.extraConfig)
        )


def names(cloud: Vcenter) -> list[str]:
    return sorted(name.rpartition(" ")[0] for name, own in cloud.machines().items() if own)


def test_more_than_four_are_cloned_at_once_and_completed(cloud: Vcenter) -> None:
    together = threading.Barrier(6)
    cloud.proxy.reset(
        [Rule(Action.BEFORE, "CloneVM_Task", nth=0, do=lambda: together.wait(50) and None)]
    )
    made = Applied()
    nodes = made.up(group_inputs(cloud, *range(6)))
    assert not together.broken, "six clones were on their way at the same time"
    assert names(cloud) == [f"gpu-{number}" for number in range(6)]
    assert pending(cloud) == []
    assert {node["powerState"] for node in nodes.values()} == {"poweredOn"}
    assert all(node["drifted"] == {} for node in nodes.values())
    assert SECRET not in str(made.outs)
    assert PASSWORD not in str(made.outs)
    cloud.proxy.reset()
    made.up(group_inputs(cloud, *range(6)))
    assert cloud.proxy.changing == {}
    made.destroy()
    assert cloud.owned() == []


def test_one_that_fails_stops_no_other_and_the_next_update_makes_it(cloud: Vcenter) -> None:
    cloud.proxy.reset([Rule(Action.FAULT, "CloneVM_Task", nth=2, fault="NoDiskSpace")])
    made = Applied()
    text = refused("vsphere-datastore-full", lambda: made.up(group_inputs(cloud, 0, 1, 2)))
    assert "cloning gpu-" in text
    assert len(cloud.owned()) == 2
    assert made.outs is not None
    assert len(made.outs["nodes"]) == 2, "the state has those that are there"
    assert len(made.up(group_inputs(cloud, 0, 1, 2))) == 3
    assert len(cloud.owned()) == 3


def test_growth_that_is_taken_back_after_a_kill_leaves_nothing(cloud: Vcenter) -> None:
    made = Applied()
    made.up(group_inputs(cloud, 0, 1))
    made.killed(group_inputs(cloud, 0, 1, 2, 3))
    assert len(cloud.owned()) == 4
    again = group_inputs(cloud, 0, 1)
    runs = "runs, and nothing declares it"
    assert made.planned(again) == {f"gpu-{n}": f"remove: gpu-{n} {runs}" for n in (2, 3)}
    made.up(again)
    assert names(cloud) == ["gpu-0", "gpu-1"]
    assert made.planned(again) == {}


def test_growth_that_was_killed_is_completed(cloud: Vcenter) -> None:
    made = Applied()
    made.up(group_inputs(cloud, 0))
    made.killed(group_inputs(cloud, 0, 1))
    cloud.proxy.reset()
    made.up(group_inputs(cloud, 0, 1))
    assert "CloneVM_Task" not in cloud.proxy.changing
    assert names(cloud) == ["gpu-0", "gpu-1"]


def replaced(cloud: Vcenter, *ordinals: int, policy: str = "replace") -> dict[str, Any]:
    """The same machines of another template."""
    found = group_inputs(cloud, *ordinals, generation="ba9876543210", updatePolicy=policy)
    for node in found["nodes"].values():
        node["place"] = {**node["place"], "template": "DC0_C0_RP0_VM0"}
    return found


def test_a_replacement_that_is_taken_back_leaves_nothing(cloud: Vcenter) -> None:
    made = Applied()
    before = made.up(group_inputs(cloud, 0, 1))
    other = group_inputs(cloud, 0, 1, generation="ba9876543210", updatePolicy="replace")
    for node in other["nodes"].values():
        node["metaData"] = {"role": "another"}
    refusing = Rule(Action.FAULT, "PowerOffVM_Task", nth=0, fault="RestrictedVersion")
    cloud.proxy.reset([refusing])
    made.killed(other)
    cloud.proxy.reset()
    assert names(cloud) == ["gpu-0", "gpu-0-next", "gpu-1", "gpu-1-next"]
    assert set(made.planned(group_inputs(cloud, 0, 1))) == {"gpu-0-next", "gpu-1-next"}
    after = made.up(group_inputs(cloud, 0, 1))
    assert names(cloud) == ["gpu-0", "gpu-1"]
    assert [node["instanceUuid"] for node in after.values()] == [
        node["instanceUuid"] for node in before.values()
    ]


def test_running_machines_are_replaced_with_a_word_alone(cloud: Vcenter) -> None:
    made = Applied()
    made.up(group_inputs(cloud, 0, 1, 2))
    cloud.proxy.reset()
    for policy in ("refuse", "restart"):
        (reason,) = made.preview(replaced(cloud, 0, 1, 2, policy=policy))
        assert reason.startswith(
            "gpu-0, gpu-1, gpu-2: place.template: 'gpu-template' cannot become 'DC0_C0_RP0_VM0' "
            "without another machine: write `updatePolicy: replace`"
        )
    assert cloud.proxy.changing == {}
    assert len(cloud.owned()) == 3


def test_another_name_of_the_same_object_touches_no_machine(cloud: Vcenter) -> None:
    made = Applied()
    before = made.up(group_inputs(cloud, 0, 1))
    for server in ("127.0.0.1", "localhost"):
        other = group_inputs(cloud, 0, 1, generation="ba9876543210")
        for node in other["nodes"].values():
            node["endpoint"] = {**node["endpoint"], "server": server}
            node["place"] = {
                "datacenter": "/DC0",
                "cluster": "/DC0/host/DC0_C0",
                "template": "/DC0/vm/gpu-template",
            }
        assert made.preview(other) == []
        cloud.proxy.reset()
        after = made.up(other)
        assert cloud.proxy.changing == {}
        assert [node["instanceUuid"] for node in after.values()] == [
            node["instanceUuid"] for node in before.values()
        ]
        assert {node["endpoint"]["server"] for node in after.values()} == {server}
    made.destroy()
    assert cloud.owned() == []


def test_another_name_of_the_stack_touches_no_machine(cloud: Vcenter) -> None:
    made = Applied()
    before = made.up(group_inputs(cloud, 0, 1))

    def renamed(*ordinals: int, **more: Any) -> dict[str, Any]:
        found = group_inputs(cloud, *ordinals, **more)
        for key, node in found["nodes"].items():
            node["owner"] = f"organisation/project/renamed/group/{key}"
        return {**found, "group": "organisation/project/renamed/group"}

    cloud.proxy.reset()
    assert made.planned(renamed(0, 1)) == {}
    made.up(renamed(0, 1))
    assert cloud.proxy.changing == {}
    after = made.up(renamed(0, 1, 2, annotation="renamed"))
    assert [after[key]["instanceUuid"] for key in before] == [
        node["instanceUuid"] for node in before.values()
    ]
    assert len(cloud.owned()) == 3
    made.up(renamed(0))
    assert len(cloud.owned()) == 1
    made.destroy()
    assert cloud.owned() == []


def test_a_change_of_a_running_machine_does_not_look_at_the_template(cloud: Vcenter) -> None:
    made = Applied()
    made.up(group_inputs(cloud, 0))
    with cloud.machine("gpu-template") as template:
        finished(template.Rename_Task("gone"))
    try:
        nodes = made.up(group_inputs(cloud, 0, annotation="changed"))
        assert nodes["0"]["annotation"] == "changed"
        close_all()  # another process: names are looked up again
        (reason,) = made.preview(group_inputs(cloud, 0, 1, annotation="changed"))
        assert "no template named 'gpu-template'" in reason
    finally:
        with cloud.machine("gone") as template:
            finished(template.Rename_Task("gpu-template"))


def test_a_machine_that_vanished_is_made_again(cloud: Vcenter) -> None:
    made = Applied()
    made.up(group_inputs(cloud, 0, 1))
    with cloud.machine("gpu-1") as machine:
        finished(machine.PowerOffVM_Task())
        finished(machine.Destroy_Task())
    made.up(group_inputs(cloud, 0, 1, annotation="x"))
    assert names(cloud) == ["gpu-0", "gpu-1"]


def reasons(cloud: Vcenter, made: Applied, news: dict[str, Any]) -> list[str]:
    cloud.proxy.reset()
    found = made.preview(news)
    assert cloud.proxy.changing == {}
    return found


def test_a_preview_says_what_prevents_it(cloud: Vcenter) -> None:
    new = Applied()
    assert reasons(cloud, new, group_inputs(cloud, *range(12))) == []
    (short,) = reasons(cloud, new, group_inputs(cloud, *range(13)))
    assert short.startswith("vsphere-gpu-capacity: the hosts cannot take 13 machines like gpu-0")
    assert "13 machines need a place, 12 fit: DC0_C0_H0 4" in short
    (full,) = reasons(cloud, new, group_inputs(cloud, 0, 1, diskGib=3000.0))
    assert "2 machines like gpu-0 need 6600 GiB" in full
    place = {**cloud.node(0)["place"], "template": "none"}
    assert "no template named 'none'" in reasons(cloud, new, group_inputs(cloud, 0, place=place))[0]
    (fixed,) = reasons(cloud, new, group_inputs(cloud, *range(4), gpu=FIXED))
    assert "4 machines need a place, 3 fit" in fixed


def test_a_preview_knows_what_is_there_and_what_leaves(cloud: Vcenter) -> None:
    place = {**cloud.node(0)["place"], "hosts": ["DC0_C0_H1"]}

    def on_one_host(*ordinals: int) -> dict[str, Any]:
        return group_inputs(cloud, *ordinals, place=place)

    made = Applied()
    made.up(on_one_host(*range(4)))
    assert reasons(cloud, Applied(), on_one_host(*range(4))) == [], "all of them are there already"
    (swapped,) = reasons(cloud, made, on_one_host(0, 1, 2, 4))
    assert swapped.startswith("gpu-3: declared no more, while gpu-4 is new: write `updatePolicy")
    excluding = {**on_one_host(0, 1, 2, 4), "excluded": ["3"]}
    assert reasons(cloud, made, excluding) == [], "one leaves and one comes"
    (full,) = reasons(cloud, made, on_one_host(*range(5)))
    assert "no host can take gpu-4: 1 machines need a place, 0 fit" in full
    assert "DC0_C0_H0 0 (not among the allowed hosts)" in full
    made.up(excluding)
    assert names(cloud) == ["gpu-0", "gpu-1", "gpu-2", "gpu-4"]


def test_a_preview_that_is_not_to_ask(cloud: Vcenter, monkeypatch: pytest.MonkeyPatch) -> None:
    new = Applied()
    later = {**group_inputs(cloud, *range(13)), "preflight": "create"}
    assert reasons(cloud, new, later) == []
    monkeypatch.delenv("VSPHERE_PASSWORD")
    assert reasons(cloud, new, group_inputs(cloud, *range(13))) == []
    assert cloud.proxy.total == 0
    monkeypatch.setenv("VSPHERE_PASSWORD", "wrong")
    (text,) = reasons(cloud, new, group_inputs(cloud, 0))
    assert text.startswith("vsphere-authentication: 127.0.0.1 refuses")
    assert cloud.proxy.calls["Login"] == 1


def test_a_stranger_with_the_name_is_reported_in_the_preview(cloud: Vcenter) -> None:
    outs = created(cloud.node(1, owner="organisation/project/other/group/1", life="b"))
    (text,) = reasons(cloud, Applied(), group_inputs(cloud, 0, 1))
    assert text.startswith("vsphere-name-taken: the folder has a machine named gpu-1")
    PROVIDER.delete(outs["instanceUuid"], outs)


def test_another_name_of_a_pool_ends_no_machine_without_the_word(cloud: Vcenter) -> None:
    """In one update the engine makes the group of the new name, and then removes the other."""
    old, new = Applied(), Applied()
    old.up(group_inputs(cloud, 0))
    other = {**group_inputs(cloud, 1), "group": "organisation/project/stack/other", "life": "b"}
    other["nodes"]["1"]["owner"] = "organisation/project/stack/other/1"
    new.up(other)
    text = refused("vsphere-replacement-impossible", old.destroy)
    assert "group is declared no more, while another group was made" in text
    assert "that would end gpu-0" in text
    assert names(cloud) == ["gpu-0", "gpu-1"]
    old.up(group_inputs(cloud, 0, updatePolicy="replace"))
    old.destroy()
    assert names(cloud) == ["gpu-1"]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_of_a_vcenter_has_a_source_and_a_test(name: str) -> None:
    row = DIFFERENCES[name]
    assert row.source
    file, function = row.played.split("::")
    assert f"def {function}(" in (Path(__file__).parent / file).read_text()


def test_a_machine_that_is_visible_while_it_is_cloned(other: Made) -> None:
    """A preview right after a kill finds the name, and no configuration: it is its own clone."""
    cloud = other(hosts=1, gpus=2, method_delay_ms={"CloneVm": 20_000, "LockHandoff": 0})
    given = group_inputs(cloud, 0)
    cloud.proxy.reset([Rule(Action.AFTER, "CloneVM_Task", do=cloud.worker.kill)])
    assert "killed" in cloud.worker.run("createGroup", news=given)
    some = next(name.rpartition(" ")[2] for name in cloud.machines() if "template" not in name)
    cloud.proxy.reset(visible_while_cloned(some))
    made = Applied()
    assert made.preview(given) == []
    assert made.planned(given) == {"gpu-0": "complete: its clone is in flight"}
    cloud.proxy.reset()
    made.up(given)
    assert names(cloud) == ["gpu-0"]
    assert "CloneVM_Task" not in cloud.proxy.changing


@pytest.mark.parametrize("then", ["destroy", "before"])
def test_a_clone_of_a_template_that_is_declared_no_more_is_waited_for(
    other: Made, then: str
) -> None:
    """A killed change of the template has a clone of the new one in flight."""
    cloud = other(hosts=1, gpus=2, method_delay_ms={"CloneVm": 8_000, "LockHandoff": 0})
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        (compute,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        location = vim.vm.RelocateSpec(pool=compute.resourcePool, host=compute.host[0])
        (template,) = [m for m in datacenter.vmFolder.childEntity if m.name == "gpu-template"]
        spec = vim.vm.CloneSpec(location=location)
        finished(template.CloneVM_Task(datacenter.vmFolder, "newer-template", spec))
    with cloud.machine("newer-template") as machine:
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(firmware="efi")))
    made = Applied()
    before = group_inputs(cloud, 0, updatePolicy="replace")
    made.up(before)
    place = {**cloud.node(0)["place"], "template": "newer-template"}
    word = {"updatePolicy": "replace", "generation": "ba9876543210"}
    news = checked(group_inputs(cloud, 0, place=place, **word), made.inputs)
    cloud.proxy.reset([Rule(Action.AFTER, "CloneVM_Task", do=cloud.worker.kill)])
    assert "killed" in cloud.worker.run("updateGroup", id="g", olds=made.outs, news=news)
    cloud.proxy.reset()
    if then == "destroy":
        made.destroy()
    else:
        assert "complete" in made.planned(before).get("gpu-0-next", "")
        made.up(before)
    time.sleep(8.0)
    assert names(cloud) == ([] if then == "destroy" else ["gpu-0"])
