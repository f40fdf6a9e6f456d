"""Privileges, DRS groups and anti-affinity: requirements of the place itself."""

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.drs import check_cluster
from gpufleet_vcenter.settings import NodeSettings
from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, created, finished, refused
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED


def without(*privileges: str) -> Rule:
    def taken_away(answer: bytes) -> bytes:
        for name in privileges:
            held = rb"(<privId>" + re.escape(name.encode()) + rb"</privId><isGranted>)true"
            answer = re.sub(held, rb"\1false", answer)
        return answer

    return Rule(Action.REWRITE_REPLY, "HasPrivilegeOnEntities", nth=0, rewrite=taken_away)


def test_missing_privileges_are_told_all_at_once_before_anything(cloud: Vcenter) -> None:
    lacking = ("VirtualMachine.Config.AddRemoveDevice", "Resource.AssignVMToPool")
    cloud.proxy.reset([without(*lacking)])
    text = refused("vsphere-permission", lambda: created(cloud.node(1)))
    assert "VirtualMachine.Config.AddRemoveDevice on /DC0/vm" in text
    assert "Resource.AssignVMToPool on /DC0/host/DC0_C0/Resources" in text
    assert cloud.proxy.changing == {}
    cloud.proxy.reset()
    created(cloud.node(1))
    created(cloud.node(2))
    assert cloud.proxy.calls["HasPrivilegeOnEntities"] == 1, "asked once for a place"


@pytest.fixture
def groups(cloud: Vcenter) -> Iterator[Any]:
    """A cluster with the groups `gpu` and `apart`, `gpu` bound to host 1."""
    add = vim.option.ArrayUpdateSpec.Operation.add
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        (cluster,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        (host,) = [h for h in cluster.host if h.name == "DC0_C0_H1"]
        infos = [
            vim.cluster.VmGroup(name="gpu"),
            vim.cluster.VmGroup(name="apart"),
            vim.cluster.HostGroup(name="racks", host=[host]),
        ]
        rules = [
            vim.cluster.VmHostRuleInfo(
                name=name,
                enabled=True,
                mandatory=True,
                vmGroupName=group,
                **{kind: "racks"},
            )
            for name, group, kind in (
                ("with", "gpu", "affineHostGroupName"),
                ("without", "apart", "antiAffineHostGroupName"),
            )
        ]
        spec = vim.cluster.ConfigSpecEx(
            groupSpec=[vim.cluster.GroupSpec(operation=add, info=info) for info in infos],
            rulesSpec=[vim.cluster.RuleSpec(operation=add, info=rule) for rule in rules],
        )
        finished(cluster.ReconfigureComputeResource_Task(spec, True))
        yield lambda: {
            item.name: [machine.name for machine in item.vm]
            for item in cluster.configurationEx.group
            if isinstance(item, vim.cluster.VmGroup)
        }
        remove = vim.option.ArrayUpdateSpec.Operation.remove
        keys = {rule.name: rule.key for rule in cluster.configurationEx.rule}
        spec = vim.cluster.ConfigSpecEx(
            groupSpec=[
                vim.cluster.GroupSpec(operation=remove, removeKey=info.name) for info in infos
            ],
            rulesSpec=[
                vim.cluster.RuleSpec(operation=remove, removeKey=keys[rule.name]) for rule in rules
            ],
        )
        finished(cluster.ReconfigureComputeResource_Task(spec, True))


def test_machines_follow_the_rules_of_their_group(cloud: Vcenter, groups: Any) -> None:
    outs = created(cloud.node(1, vmGroup="gpu"))
    assert outs["host"] == "DC0_C0_H1"
    assert groups() == {"gpu": ["gpu-1"], "apart": []}
    away = created(cloud.node(2, vmGroup="apart"))
    assert away["host"] != "DC0_C0_H1"
    cloud.proxy.reset()
    PROVIDER.update(outs["instanceUuid"], outs, cloud.node(1, vmGroup="gpu"))
    assert cloud.proxy.changing == {}
    moved = cloud.node(1, vmGroup="apart")
    assert PROVIDER.diff(outs["instanceUuid"], outs, moved).changes is True
    PROVIDER.update(outs["instanceUuid"], outs, moved)
    assert groups() == {"gpu": [], "apart": ["gpu-2", "gpu-1"]}


def test_a_group_that_is_full_says_whose_rule_it_is(cloud: Vcenter, groups: Any) -> None:
    node = cloud.node(1, vmGroup="gpu")
    node["place"]["denyHosts"] = ["DC0_C0_H1"]
    text = refused("vsphere-gpu-capacity", lambda: created(node))
    assert "DC0_C0_H0 0 (mandatory rules of the DRS group keep the machine away)" in text
    assert "DC0_C0_H1 0 (denied)" in text
    assert groups() == {"gpu": [], "apart": []}


def test_a_group_that_is_not_there(cloud: Vcenter, groups: Any) -> None:
    text = refused("vsphere-drs-group", lambda: created(cloud.node(1, vmGroup="gpus")))
    assert "has no DRS group of virtual machines named 'gpus'; it has apart, gpu" in text
    assert cloud.owned() == []
    assert groups()


def emptied(cloud: Vcenter) -> None:
    """Another client restores the earlier group."""
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        (cluster,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        edit = vim.option.ArrayUpdateSpec.Operation.edit
        group = vim.cluster.GroupSpec(operation=edit, info=vim.cluster.VmGroup(name="gpu"))
        spec = vim.cluster.ConfigSpecEx(groupSpec=[group])
        finished(cluster.ReconfigureComputeResource_Task(spec, True))


@pytest.mark.parametrize("how", ["undone", "refused"])
def test_somebody_who_keeps_changing_the_group(cloud: Vcenter, groups: Any, how: str) -> None:
    method = "ReconfigureComputeResource_Task"
    undone = Rule(Action.AFTER, method, nth=0, do=lambda: emptied(cloud))
    refuses = Rule(Action.FAULT, method, nth=0, fault="ConcurrentAccess")
    cloud.proxy.reset([undone if how == "undone" else refuses])
    text = refused("vsphere-conflict", lambda: created(cloud.node(1, vmGroup="gpu")))
    assert "the DRS group gpu still differs after 4 changes" in text
    assert "look at the cluster's events for who else changes it" in text
    assert cloud.proxy.calls[method] == 4
    assert cloud.owned() == []
    assert groups() == {"gpu": [], "apart": []}


def test_a_group_that_was_changed_once_meanwhile(cloud: Vcenter, groups: Any) -> None:
    once = Rule(Action.FAULT, "ReconfigureComputeResource_Task", fault="ConcurrentAccess")
    cloud.proxy.reset([once])
    created(cloud.node(1, vmGroup="gpu"))
    assert groups() == {"gpu": ["gpu-1"], "apart": []}


def test_a_standalone_host_has_no_groups(cloud: Vcenter) -> None:
    alone = SimpleNamespace(is_cluster=False)
    settings = NodeSettings.model_validate(cloud.node(1, vmGroup="gpu", separateHosts="preferred"))
    text = refused("vsphere-drs-group", lambda: check_cluster(settings, alone))
    assert "vmGroup is gpu, separateHosts is preferred, and a standalone host has no DRS" in text


def test_anti_affinity_spreads_a_group(cloud: Vcenter) -> None:
    hosts = [created(cloud.node(n, maxPerHost=1.0))["host"] for n in range(3)]
    assert sorted(hosts) == [f"DC0_C0_H{n}" for n in range(3)]
    text = refused("vsphere-gpu-capacity", lambda: created(cloud.node(3, maxPerHost=1.0)))
    assert "DC0_C0_H0 0 (has 1 machines of the group, the most per host)" in text
