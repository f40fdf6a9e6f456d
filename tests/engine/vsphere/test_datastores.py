"""Datastore clusters and datastores that take nothing, what DRS may do, and vendor data."""

import base64
import gzip
import json
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpufleet_vcenter.drs import check_cluster
from gpufleet_vcenter.guest_data import USER_DATA_KEYS
from gpufleet_vcenter.settings import NodeSettings
from tests.engine.vcenter_fixture import Vcenter, inventory, simulated
from tests.engine.vsphere.direct import (
    GROUP,
    PROVIDER,
    UNCLOSED,
    created,
    finished,
    group_inputs,
    read,
    refused,
)
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
VENDOR = "#cloud-config\nbootcmd: [proxy-password-0123456789]\n"


@pytest.fixture(scope="module")
def shared() -> Iterator[Vcenter]:
    """A vCenter with two datastores more, both in the cluster `pod`; one of them only host 1
    mounts."""
    with tempfile.TemporaryDirectory() as folder, simulated(inventory(hosts=2, gpus=4)) as found:
        with found.service() as service:
            (datacenter,) = service.RetrieveContent().rootFolder.childEntity
            (cluster,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
            pod = datacenter.datastoreFolder.CreateStoragePod("pod")
            datacenter.datastoreFolder.CreateStoragePod("empty")
            for name, hosts in (("one", cluster.host), ("two", cluster.host[1:])):
                Path(folder, name).mkdir()
                for host in hosts:
                    system = host.configManager.datastoreSystem
                    # The simulator's response has no reference where another host has it already.
                    with suppress(KeyError):
                        system.CreateLocalDatastore(name, f"{folder}/{name}")
            stores = [store for store in datacenter.datastore if store.name in ("one", "two")]
            finished(pod.MoveIntoFolder_Task(stores))
        yield found


def in_pod(cloud: Vcenter, number: int, **more: Any) -> dict[str, Any]:
    node = cloud.node(number, **more)
    return {**node, "place": {**node["place"], "datastoreCluster": "pod"}}


def stores_of(cloud: Vcenter, name: str) -> set[str]:
    with cloud.machine(name) as machine:
        return {store.name for store in machine.datastore}


def said(path: str, value: str) -> Rule:
    """vCenter returns this for every datastore in a query."""

    def rewrite(answer: bytes) -> bytes:
        text = answer.decode()
        begin = f"<name>{path}</name><val"
        parts = text.split(begin)
        return begin.join([parts[0], *(_with(part, value) for part in parts[1:])]).encode()

    return Rule(Action.REWRITE_REPLY, "RetrievePropertiesEx", nth=0, rewrite=rewrite)


def _with(part: str, value: str) -> str:
    head, _, rest = part.partition(">")
    _, _, after = rest.partition("</val>")
    return f"{head}>{value}</val>{after}"


def test_machines_go_to_a_datastore_that_their_host_mounts(cloud: Vcenter) -> None:
    nodes = [in_pod(cloud, number) for number in range(2)]
    for node, host in zip(nodes, ("DC0_C0_H0", "DC0_C0_H1"), strict=True):
        node["place"]["hosts"] = [host]
    made = [created(node) for node in nodes]
    assert [outs["host"] for outs in made] == ["DC0_C0_H0", "DC0_C0_H1"]
    assert [outs["drifted"] for outs in made] == [{}, {}]
    assert stores_of(cloud, "gpu-0") == {"one"}
    assert made[0]["datastore"] == "one"
    assert stores_of(cloud, "gpu-1") <= {"one", "two"}
    node, outs = nodes[1], made[1]
    assert PROVIDER.diff("", outs, node).changes is False
    moved = cloud.node(1)
    moved["place"] |= {"hosts": ["DC0_C0_H1"], "datastore": "one"}
    (failure, *_) = PROVIDER.check(node, moved).failures
    assert failure.property == "place.datastore"
    assert "disks move by an administrator" in failure.reason


def test_a_further_disk_on_a_datastore_of_its_own(cloud: Vcenter) -> None:
    disk = {"name": "scratch", "sizeGib": 10.0, "datastore": "two"}
    outs = created(cloud.node(1, extraDisks=[disk]))
    assert outs["host"] == "DC0_C0_H1", "the only host that mounts it"
    assert outs["disks"][0]["file"].startswith("[two] ")
    node = cloud.node(2, extraDisks=[disk])
    node["place"]["hosts"] = ["DC0_C0_H0"]
    text = refused("vsphere-gpu-capacity", lambda: created(node))
    assert "DC0_C0_H0 0 (does not mount 1 of the 2 datastores)" in text
    PROVIDER.delete(outs["instanceUuid"], outs)
    assert cloud.owned() == []


def test_a_cluster_of_datastores_that_cannot_be_used(cloud: Vcenter) -> None:
    node = in_pod(cloud, 1)
    cloud.proxy.reset([said("summary.maintenanceMode", "inMaintenance")])
    text = refused("vsphere-datastore-full", lambda: created(node))
    assert "datastore cluster pod has room for 0 of 1 machines like gpu-1" in text
    assert "one is in maintenance mode, two is in maintenance mode" in text
    cloud.proxy.reset()
    node["place"]["datastoreCluster"] = "empty"
    assert "it has no datastore" in refused("vsphere-datastore-full", lambda: created(node))
    node["place"]["datastoreCluster"] = "pot"
    text = refused("vsphere-not-found", lambda: created(node))
    assert "no datastore cluster named 'pot' that this user can see; near: pod" in text
    assert cloud.proxy.changing == {}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("summary.maintenanceMode", "enteringMaintenance", "LocalDS_0 is in maintenance mode"),
        ("summary.accessible", "false", "datastore LocalDS_0 is not accessible"),
    ],
)
def test_a_datastore_that_takes_nothing(
    cloud: Vcenter, path: str, value: str, expected: str
) -> None:
    cloud.proxy.reset([said(path, value)])
    text = refused("vsphere-datastore-state", lambda: created(cloud.node(1)))
    assert expected in text
    (failure,) = GROUP.check({}, group_inputs(cloud, 1)).failures
    assert expected in failure.reason, "told in the preview, too"
    assert cloud.proxy.changing == {}


def behaviors(cloud: Vcenter) -> dict[str, tuple[bool, str | None]]:
    """Overrides of the cluster, by machine."""
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        (cluster,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        machines = {item._moId: item.name for item in datacenter.vmFolder.childEntity}
        rows: list[Any] = cluster.configurationEx.drsVmConfig or []
        return {
            machines[row.key._moId]: (bool(row.enabled), row.behavior)
            for row in rows
            if row.key._moId in machines
        }


def test_what_drs_may_do_with_a_machine(cloud: Vcenter) -> None:
    outs = created(cloud.node(1, drsBehavior="manual"))
    assert behaviors(cloud) == {"gpu-1": (True, "manual")}
    cloud.proxy.reset()
    same = cloud.node(1, drsBehavior="manual", diskGib=20.0)
    outs = PROVIDER.update(outs["instanceUuid"], outs, same).outs or {}
    assert cloud.proxy.changing == {"ReconfigVM_Task": 1}
    lost = Rule(Action.DROP_REPLY, "ReconfigureComputeResource_Task")
    busy = Rule(Action.FAULT, "ReconfigureComputeResource_Task", fault="ConcurrentAccess")
    for behavior, expected, rule in (
        ("disabled", (False, None), lost),
        ("fullyAutomated", (True, "fullyAutomated"), busy),
    ):
        cloud.proxy.reset([rule])
        node = cloud.node(1, drsBehavior=behavior, diskGib=20.0)
        outs = PROVIDER.update(outs["instanceUuid"], outs, node).outs or {}
        assert behaviors(cloud)["gpu-1"][0] is expected[0]
        assert expected[1] in (None, behaviors(cloud)["gpu-1"][1])
    cloud.proxy.reset([replace(busy, nth=0)])
    node = cloud.node(1, drsBehavior="manual", diskGib=20.0)
    text = refused("vsphere-conflict", lambda: PROVIDER.update(outs["instanceUuid"], outs, node))
    assert "what DRS may do with gpu-1 still differs after 4 changes" in text
    assert cloud.proxy.calls["ReconfigureComputeResource_Task"] == 4


def test_a_standalone_host_has_no_drs(cloud: Vcenter) -> None:
    alone = SimpleNamespace(is_cluster=False)
    settings = NodeSettings.model_validate(cloud.node(1, drsBehavior="manual"))
    text = refused("vsphere-drs-behavior", lambda: check_cluster(settings, alone))
    assert "drsBehavior is manual, and a standalone host has no DRS" in text


def test_vendor_data_reaches_the_guest_and_nobody_else(cloud: Vcenter) -> None:
    node = cloud.node(1, vendorData=VENDOR)
    outs = created(node)
    with cloud.machine("gpu-1") as machine:
        config = {entry.key: entry.value for entry in machine.config.extraConfig}
    assert gzip.decompress(base64.b64decode(config["guestinfo.vendordata"])).decode() == VENDOR
    assert config["guestinfo.vendordata.encoding"] == "gzip+base64"
    assert set(config) & set(USER_DATA_KEYS) == {
        f"guestinfo.{name}{end}" for name in ("userdata", "vendordata") for end in ("", ".encoding")
    }
    assert "proxy-password" not in json.dumps([outs, read(outs)])
    assert PROVIDER.diff("", outs, node).changes is False
    other = PROVIDER.diff("", outs, {**node, "vendorData": "#cloud-config\n"})
    assert other.replaces == ["vendorDataSha256"]
    ignoring = {**node, "vendorData": "#cloud-config\n", "ignoreUserDataChanges": True}
    assert PROVIDER.diff("", outs, ignoring).replaces == []
    ignition = {**node, "userDataFormat": "ignition"}
    (failure,) = PROVIDER.check({}, ignition).failures
    assert "vendorData is cloud-init's, and the first-boot data is Ignition" in failure.reason
    too_long = {**node, "vendorData": "".join(map(str, range(60_000)))}
    (failure,) = PROVIDER.check({}, too_long).failures
    assert "vendorData is" in failure.reason
    assert "bytes compressed, more than the 65536 that guestinfo holds" in failure.reason


def test_a_group_keeps_no_vendor_data(cloud: Vcenter) -> None:
    given = group_inputs(cloud, 1)
    given["boot"]["1"]["vendorData"] = VENDOR
    outs = GROUP.create(given).outs or {}
    assert "proxy-password" not in json.dumps(outs)
    assert "vendorData" not in outs["nodes"]["1"]
    GROUP.delete("", outs)
    assert cloud.owned() == []


def test_a_datastore_of_two_names_needs_room_for_the_disks_of_both(cloud: Vcenter) -> None:
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        free = next(d.summary.freeSpace for d in datacenter.datastore if d.name == "LocalDS_0")
    each = (free >> 30) * 6 // 10
    names = ("LocalDS_0", "/DC0/datastore/LocalDS_0")
    disks = [{"name": f"d{len(n)}", "sizeGib": float(each), "datastore": n} for n in names]
    text = refused("vsphere-datastore-full", lambda: created(cloud.node(1, extraDisks=disks)))
    assert "datastore LocalDS_0 has" in text
    assert cloud.proxy.changing == {}
