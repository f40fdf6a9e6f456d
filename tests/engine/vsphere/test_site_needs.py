"""Requirements of sites: processors, storage policy, addresses, rules of DRS."""

import base64
import contextlib
import gzip
import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyVmomi import vim

from gpufleet_vcenter.drs import check_cluster
from gpufleet_vcenter.group_provider import VsphereGpuNodeOwnerProvider
from gpufleet_vcenter.settings import NodeSettings, normalised
from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.direct import (
    GROUP,
    PROVIDER,
    UNCLOSED,
    Made,
    created,
    finished,
    group_inputs,
    owner_inputs,
    read,
    refused,
)
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED


def updated(outs: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    return PROVIDER.update(outs["instanceUuid"], outs, node).outs or {}


@contextlib.contextmanager
def built(cloud: Vcenter, now: vim.vm.ConfigSpec, after: vim.vm.ConfigSpec) -> Iterator[Any]:
    """Place of a node whose template is a machine that an administrator built so."""
    name = next(row.split()[0] for row in cloud.machines() if row.startswith("DC0_C0_RP0_VM"))
    now.firmware, now.version = "efi", "vmx-20"
    with cloud.machine(name) as machine:
        before = vim.vm.ConfigSpec(firmware=machine.config.firmware, version=machine.config.version)
        finished(machine.ReconfigVM_Task(now))
        try:
            yield {**cloud.node(1)["place"], "template": name}
        finally:
            finished(machine.ReconfigVM_Task(after))
            finished(machine.ReconfigVM_Task(before))


def test_processor_time_and_numa_nodes(cloud: Vcenter) -> None:
    """The simulator keeps reservation and shares; NUMA nodes it keeps as tools/vsphere makes it."""
    cores: dict[str, Any] = {"coresPerNumaNode": 4.0}
    outs = created(cloud.node(1, cpuReservationMhz=4000.0, cpuShares="high", **cores))
    assert outs["drifted"] == {}
    with cloud.machine("gpu-1") as machine:
        assert machine.config.cpuAllocation.reservation == 4000
        assert machine.config.cpuAllocation.shares.level == "high"
        assert machine.config.numaInfo.coresPerNumaNode == 4
        low = vim.SharesInfo(level="low", shares=0)
        other = vim.ResourceAllocationInfo(reservation=1, shares=low)
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(cpuAllocation=other)))
    seen = read(outs)
    assert seen["drifted"] == {"cpuReservationMhz": 1, "cpuShares": "low"}
    cloud.proxy.reset()
    changed = updated(seen, cloud.node(1, cpuReservationMhz=0.0, cpuShares="normal", **cores))
    assert cloud.proxy.changing == {"ReconfigVM_Task": 1}, "while it runs"
    assert changed["drifted"] == {}
    text = refused(
        "vsphere-needs-power-off", lambda: updated(changed, cloud.node(1, coresPerNumaNode=2.0))
    )
    assert "it must be off to change coresPerNumaNode" in text


def test_processor_time_that_no_host_has_is_refused_before_anything_is_made(cloud: Vcenter) -> None:
    """Each simulated host has 64 cores of 3591 MHz."""
    for more in ({"cpuReservationMhz": 229_825.0}, {"cpus": 65.0, "latencySensitivity": "high"}):
        (reason,) = (f.reason for f in GROUP.check({}, group_inputs(cloud, 1, **more)).failures)
        assert reason.startswith("vsphere-gpu-capacity: ")
        assert "229824 MHz unreserved, a machine reserves" in reason
    assert cloud.proxy.changing == {}
    assert created(cloud.node(1, cpuReservationMhz=229_824.0))["powerState"] == "poweredOn"
    more = group_inputs(cloud, 2, 3, 4, cpuReservationMhz=200_000.0)
    three = GROUP.check({}, {**more, "life": "another-group"})
    (reason,) = (failure.reason for failure in three.failures)
    assert "3 machines need a place, 2 fit" in reason, "the first one's host has no time left"


def test_numa_nodes_need_a_vcenter_that_has_them(other: Made) -> None:
    old = other(api_version="7.0.3.0")
    text = refused("vsphere-unsupported", lambda: created(old.node(1, coresPerNumaNode=4.0)))
    assert "coresPerNumaNode needs vSphere API 8.0.0.1" in text
    assert created(old.node(1))["drifted"] == {}, "and nothing of it is read there"


def test_hot_add_of_the_template_is_switched_off(cloud: Vcenter) -> None:
    hot, cold = (
        vim.vm.ConfigSpec(cpuHotAddEnabled=on, memoryHotAddEnabled=on) for on in (True, False)
    )
    with built(cloud, hot, cold) as place:
        outs = created(cloud.node(1, place=place))
    with cloud.machine("gpu-1") as machine:
        assert not machine.config.cpuHotAddEnabled
        assert not machine.config.memoryHotAddEnabled
    assert outs["warnings"] == []


def test_a_template_with_a_virtual_tpm_is_refused(cloud: Vcenter) -> None:
    key = vim.encryption.CryptoKeyId(
        keyId="1", providerId=vim.encryption.KeyProviderId(id="provider")
    )
    encrypt = vim.encryption.CryptoSpecEncrypt(cryptoKeyId=key)
    plain = vim.vm.ConfigSpec(crypto=vim.encryption.CryptoSpecDecrypt())
    with built(cloud, vim.vm.ConfigSpec(crypto=encrypt), plain) as place:
        text = refused("vsphere-template", lambda: created(cloud.node(1, place=place)))
    assert "it is encrypted, or has a virtual TPM" in text
    assert cloud.owned() == []


def test_static_addresses_are_bound_to_the_adapters_that_the_machine_has(cloud: Vcenter) -> None:
    """The second adapter is made with the machine: its MAC address is known only afterwards."""
    adapters = [{"network": "DC0_DVPG0"}, {"network": "VM Network", "adapter": "vmxnet3"}]
    place = {**cloud.node(1)["place"], "networks": adapters}
    static = {"adapter": 1.0, "address": "10.0.0.10/24", "gateway": "10.0.0.1"}
    outs = created(cloud.node(1, place=place, addresses=[static]))
    assert outs["drifted"] == {}
    with cloud.machine("gpu-1") as machine:
        keys = {entry.key: entry.value for entry in machine.config.extraConfig}
    data = json.loads(gzip.decompress(base64.b64decode(keys["guestinfo.metadata"])))
    first, second = (mac.lower() for mac in outs["macAddresses"])
    assert data["network"]["ethernets"] == {
        "adapter0": {"match": {"macaddress": first}, "dhcp4": True},
        "adapter1": {
            "match": {"macaddress": second},
            "dhcp4": False,
            "dhcp6": False,
            "addresses": ["10.0.0.10/24"],
            "routes": [{"to": "0.0.0.0/0", "via": "10.0.0.1"}],
        },
    }
    other = {**static, "address": "10.0.0.11/24"}
    found = PROVIDER.diff("", outs, cloud.node(1, place=place, addresses=[other]))
    assert found.replaces == ["addresses"]


POLICY = "vSAN Default Storage Policy"


def test_a_storage_policy_is_part_of_the_clone(cloud: Vcenter) -> None:
    """The simulator has policies and finds every datastore compliant; it does not keep them."""
    clones: list[bytes] = []

    def noted(body: bytes) -> bytes:
        clones.append(body)
        return body

    note = Rule(Action.REWRITE, "CloneVM_Task", nth=0, rewrite=noted)
    cloud.proxy.reset([note])
    place = {**cloud.node(1)["place"], "storagePolicy": POLICY}
    assert created(cloud.node(1, place=place))["drifted"] == {}
    (clone,) = clones
    (policy,) = re.findall(rb"<profile[^>]*><profileId>([-0-9a-f]+)</profileId>", clone)
    assert policy == b"aa6d5a82-1c88-45da-85d3-3d74b91a5bad", "govmomi's pbm/simulator/profiles.go"


def test_a_storage_policy_that_cannot_be_kept_is_refused(
    cloud: Vcenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response that a datastore does not comply is simulated here: no simulator gives it."""
    place = {**cloud.node(1)["place"], "storagePolicy": "vSAN Default Policy"}
    (reason,) = (f.reason for f in GROUP.check({}, group_inputs(cloud, 1, place=place)).failures)
    assert (
        f"no storage policy named 'vSAN Default Policy' that this user can see; near: {POLICY}"
        in (reason)
    )

    def wrong(_session: Any, _policy: str, stores: list[Any]) -> dict[str, str]:
        return {store._moId: "no flash" for store in stores}

    monkeypatch.setattr("gpufleet_vcenter.storage.not_compliant", wrong)
    place["storagePolicy"] = POLICY
    (reason,) = (f.reason for f in GROUP.check({}, group_inputs(cloud, 1, place=place)).failures)
    assert "does not comply with the storage policy: no flash" in reason
    assert cloud.proxy.changing == {}


def rules(cloud: Vcenter) -> dict[str, tuple[bool, list[str]]]:
    """Name of each anti-affinity rule -> whether it is mandatory, and its machines."""
    with cloud.service() as service:
        datacenter = service.content.rootFolder.childEntity[0]
        (cluster,) = (
            one
            for one in datacenter.hostFolder.childEntity
            if isinstance(one, vim.ClusterComputeResource)
        )
        configuration: Any = cluster.configurationEx
        return {
            rule.name: (bool(rule.mandatory), sorted(machine.name for machine in rule.vm))
            for rule in configuration.rule
        }


def test_a_rule_keeps_machines_on_different_hosts(cloud: Vcenter) -> None:
    owner = VsphereGpuNodeOwnerProvider()
    made = owner.create(owner_inputs(cloud))
    life = str(made.id)
    before = {**group_inputs(cloud, 0, 1, separateHosts="preferred"), "life": life}
    outs = GROUP.create(before).outs or {}
    ((name, rule),) = rules(cloud).items()
    assert name.startswith("gpufleet group ")
    assert rule == (False, ["gpu-0", "gpu-1"])

    after = {**group_inputs(cloud, 0, 1, 2, separateHosts="required"), "life": life}
    assert GROUP.diff("group", outs, after).changes is True
    outs = GROUP.update("group", outs, after).outs or {}
    assert rules(cloud) == {name: (True, ["gpu-0", "gpu-1", "gpu-2"])}
    outs = GROUP.update("group", outs, {**group_inputs(cloud, 0, 1, 2), "life": life}).outs or {}
    assert rules(cloud) == {}
    GROUP.update("group", outs, after)
    owner.delete(life, {**(made.outs or {}), "common": after["nodes"]["0"]})
    assert (rules(cloud), cloud.owned()) == ({}, [])


def test_machines_that_must_be_apart_have_a_host_each(cloud: Vcenter) -> None:
    four = group_inputs(cloud, 0, 1, 2, 3, separateHosts="required")
    (reason,) = (failure.reason for failure in GROUP.check({}, four).failures)
    assert "4 machines need a place, 3 fit" in reason
    settings = NodeSettings.model_validate(normalised(cloud.node(0, separateHosts="preferred")))
    host = SimpleNamespace(is_cluster=False)
    text = refused("vsphere-drs-behavior", lambda: check_cluster(settings, host))
    assert "separateHosts is preferred, and a standalone host has no DRS" in text
