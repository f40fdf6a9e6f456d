"""Names and marks: what is found, what is ambiguous, and what is never touched."""

import pytest
from pyVmomi import vim

from gpufleet_vcenter.identity import OWNER
from tests.engine.vcenter_fixture import Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, Made, created, finished, read, refused

pytestmark = UNCLOSED


def test_an_ambiguous_name_lists_all(other: Made) -> None:
    cloud = other(hosts=1)
    with cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        folder = datacenter.vmFolder.CreateFolder("copies")
        (compute,) = [c for c in datacenter.hostFolder.childEntity if c.name == "DC0_C0"]
        location = vim.vm.RelocateSpec(pool=compute.resourcePool, host=compute.host[0])
        (template,) = [m for m in datacenter.vmFolder.childEntity if m.name == "gpu-template"]
        spec = vim.vm.CloneSpec(location=location, template=True)
        finished(template.CloneVM_Task(folder, "gpu-template", spec))
    text = refused("vsphere-ambiguous", lambda: created(cloud.node(1)))
    assert "/DC0/vm/copies/gpu-template, /DC0/vm/gpu-template" in text
    node = cloud.node(1)
    node["place"]["template"] = "/DC0/vm/gpu-template"
    assert created(node)["powerState"] == "poweredOn"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("template", "gpu-templat", "no template named 'gpu-templat'"),
        ("cluster", "DC0_C1", "near: DC0_C0"),
        ("datastore", "LocalDS_1", "near: LocalDS_0"),
        ("resourcePool", "Resource", "near: Resources"),
        ("folder", "/DC0/vm/none", "no folder at /DC0/vm/none"),
        ("network", "DC0_DVPG9", "near: DC0_DVPG0"),
    ],
)
def test_not_found_says_what_is_near(cloud: Vcenter, key: str, value: str, expected: str) -> None:
    node = cloud.node(1)
    node["place"][key] = value
    assert expected in refused("vsphere-not-found", lambda: created(node))
    assert cloud.owned() == []


def test_a_taken_name_names_its_owner(cloud: Vcenter) -> None:
    made = created(cloud.node(1))
    again = cloud.node(1, owner="organisation/project/other/group/1", life="another")
    text = refused("vsphere-name-taken", lambda: created(again))
    assert f"gpu-1 ({made['moRef']}, instance uuid {made['instanceUuid']})" in text
    assert "belongs to organisation/project/stack/group/1" in text
    assert cloud.owned() == ["organisation/project/stack/group/1"]


def test_a_machine_with_our_uuid_and_other_marks_is_never_touched(cloud: Vcenter) -> None:
    outs = created(cloud.node(1))
    with cloud.machine("gpu-1") as machine:
        mark = vim.option.OptionValue(key=OWNER, value="somebody/else")
        finished(machine.ReconfigVM_Task(vim.vm.ConfigSpec(extraConfig=[mark])))
    cloud.proxy.reset()
    for operation in (
        lambda: created(cloud.node(1)),
        lambda: read(outs),
        lambda: PROVIDER.delete(outs["instanceUuid"], outs),
    ):
        assert "belongs to somebody/else" in refused("vsphere-foreign-machine", operation)
    assert cloud.proxy.changing == {}
    assert cloud.owned() == ["somebody/else"]
