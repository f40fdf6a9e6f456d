"""Many machines made together: at once, each on its own, and handed over."""

import threading
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet.platforms.vsphere.vcenter.errors import Code
from gpufleet.platforms.vsphere.vcenter.identity import PENDING
from tests.engine.vcenter_fixture import FIXED, PASSWORD, SECRET, Vcenter
from tests.engine.vsphere.direct import (
    BATCH,
    PROVIDER,
    UNCLOSED,
    batch_inputs,
    created,
    finished,
    refused,
)
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED


def made(cloud: Vcenter, *ordinals: int, **more: Any) -> dict[str, Any]:
    return BATCH.create(batch_inputs(cloud, *ordinals, **more)).outs or {}


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


def test_more_than_four_are_cloned_at_once_and_handed_over(cloud: Vcenter) -> None:
    together = threading.Barrier(6)
    cloud.proxy.reset(
        [Rule(Action.BEFORE, "CloneVM_Task", nth=0, do=lambda: together.wait(50) and None)]
    )
    outs = made(cloud, *range(6))
    assert not together.broken, "six clones were on their way at the same time"
    assert len(cloud.owned()) == 6
    assert pending(cloud) == [f"gpu-{n}" for n in range(6)]
    assert SECRET not in str(outs)
    assert PASSWORD not in str(outs)

    cloud.proxy.reset()
    for ordinal in range(6):
        node = created(cloud.node(ordinal))
        assert node["adopted"] is True
        assert node["drifted"] == {}
    assert cloud.proxy.changing == {"ReconfigVM_Task": 6}, "only the mark is taken away"
    assert pending(cloud) == []
    BATCH.delete("group", outs)
    assert len(cloud.owned()) == 6, "what was taken over is its resource's"


def test_one_that_fails_stops_no_other_and_its_resource_says_why(cloud: Vcenter) -> None:
    stranger = created(cloud.node(1, owner="organisation/project/other/group/1"))
    made(cloud, 0, 1, 2)
    assert pending(cloud) == ["gpu-0", "gpu-2"]
    text = refused(Code.NAME_TAKEN, lambda: created(cloud.node(1)))
    assert stranger["instanceUuid"] in text


def test_what_no_resource_took_over_goes_with_the_batch(cloud: Vcenter) -> None:
    outs = made(cloud, 0, 1, 2)
    created(cloud.node(0))
    fewer = BATCH.update("group", outs, batch_inputs(cloud, 0, 1)).outs or {}
    assert cloud.owned() == [f"organisation/project/stack/group/{n}" for n in range(2)]
    BATCH.delete("group", fewer)
    assert cloud.owned() == ["organisation/project/stack/group/0"]
    BATCH.delete("group", fewer)


def test_only_what_is_new_is_made(cloud: Vcenter) -> None:
    outs = made(cloud, 0)
    node = created(cloud.node(0))
    cloud.remove_owned()
    more = BATCH.update("group", outs, batch_inputs(cloud, 0, 1)).outs or {}
    assert pending(cloud) == ["gpu-1"], "what vanished is its own resource's to make again"
    cloud.proxy.reset()
    same = BATCH.update("group", more, batch_inputs(cloud, 0, 1, cpus=16.0))
    assert cloud.proxy.total == 0
    assert node["name"] == "gpu-0"
    assert BATCH.diff("group", same.outs or {}, batch_inputs(cloud, 0, 1)).changes is False
    assert BATCH.diff("group", same.outs or {}, batch_inputs(cloud, 0)).changes is True


def test_a_machine_that_was_taken_over_is_not_touched_by_a_second_batch(cloud: Vcenter) -> None:
    created(cloud.node(0))
    with cloud.machine("gpu-0") as machine:
        finished(machine.PowerOffVM_Task())
    cloud.proxy.reset()
    made(cloud, 0)
    assert cloud.proxy.changing == {}


def reasons(cloud: Vcenter, olds: dict[str, Any], news: dict[str, Any]) -> list[str]:
    cloud.proxy.reset()
    failures = BATCH.check(olds, news).failures
    assert cloud.proxy.changing == {}
    return [failure.reason for failure in failures]


def test_a_preview_says_what_stands_in_the_way(cloud: Vcenter) -> None:
    assert reasons(cloud, {}, batch_inputs(cloud, *range(12))) == []
    (short,) = reasons(cloud, {}, batch_inputs(cloud, *range(13)))
    assert short.startswith("vsphere-gpu-capacity: the hosts cannot take 13 machines like gpu-0")
    assert "13 machines need a place, 12 fit: DC0_C0_H0 4" in short
    (full,) = reasons(cloud, {}, batch_inputs(cloud, 0, 1, diskGib=3000.0))
    assert "2 machines like gpu-0 need 6600 GiB" in full
    missing = batch_inputs(cloud, 0)
    missing["common"]["place"] = {**missing["common"]["place"], "template": "none"}
    assert "no template named 'none'" in reasons(cloud, {}, missing)[0]
    (fixed,) = reasons(cloud, {}, batch_inputs(cloud, *range(4), gpu=FIXED))
    assert "4 machines need a place, 3 fit" in fixed


def test_a_preview_knows_what_is_there_and_what_leaves(cloud: Vcenter) -> None:
    place = {**cloud.node(0)["place"], "hosts": ["DC0_C0_H1"]}

    def on_one_host(*ordinals: int) -> dict[str, Any]:
        return batch_inputs(cloud, *ordinals, place=place)

    before = on_one_host(*range(4))
    BATCH.create(before)
    assert reasons(cloud, {}, before) == [], "all of them are there already"
    assert reasons(cloud, before, on_one_host(0, 1, 2, 4)) == [], "one leaves and one comes"
    (full,) = reasons(cloud, before, on_one_host(*range(5)))
    assert "no host can take gpu-4: 1 machines need a place, 0 fit" in full
    assert "DC0_C0_H0 0 (not among the allowed hosts)" in full
    assert reasons(cloud, before, before) == []
    assert cloud.proxy.total == 0, "nothing is new, so no one is asked"


def test_a_preview_that_is_not_to_ask(cloud: Vcenter, monkeypatch: pytest.MonkeyPatch) -> None:
    later = {**batch_inputs(cloud, *range(13)), "preflight": "create"}
    assert reasons(cloud, {}, later) == []
    monkeypatch.delenv("VSPHERE_PASSWORD")
    assert reasons(cloud, {}, batch_inputs(cloud, *range(13))) == []
    assert cloud.proxy.total == 0
    monkeypatch.setenv("VSPHERE_PASSWORD", "wrong")
    (text,) = reasons(cloud, {}, batch_inputs(cloud, 0))
    assert text.startswith("vsphere-authentication: 127.0.0.1 refuses")
    assert cloud.proxy.calls["Login"] == 1
    with pytest.raises(Exception, match="refuses the user name"):
        made(cloud, *range(8))
    assert cloud.proxy.calls["Login"] == 1, "not once for each machine, nor for each call"


def test_a_stranger_with_the_name_is_told_in_the_preview(cloud: Vcenter) -> None:
    outs = created(cloud.node(1, owner="organisation/project/other/group/1"))
    (text,) = reasons(cloud, {}, batch_inputs(cloud, 0, 1))
    assert text.startswith("vsphere-name-taken: the folder has a machine named gpu-1")
    PROVIDER.delete(outs["instanceUuid"], outs)
