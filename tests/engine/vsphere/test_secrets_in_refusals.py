"""No refusal shows a secret: neither the result of Check over the engine's protocol, nor the
engine's own text. The engine prints the value of a property that a failure names."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import struct_pb2
from pulumi.provider import Provider
from pulumi.runtime.proto import provider_pb2
from pyVmomi import vim

import gpufleet
from gpufleet.components_base.resource_plugin import SECRET as SECRET_MARK
from gpufleet.components_base.resource_plugin import SIGNATURE, ResourceServicer
from gpufleet.platforms.registry import platform_resource
from gpufleet_vcenter.outputs import SECRETS
from gpufleet_vcenter.properties import (
    PROPERTIES,
)
from gpufleet_vcenter.settings import NodeSettings
from tests.engine.conftest import Project
from tests.engine.vcenter_fixture import PASSWORD, SECRET, USER, Vcenter
from tests.engine.vsphere.direct import UNCLOSED, created, finished, group_inputs, owner_inputs
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
GROUP, OWNER = "gpufleet:vsphere:MachineGroup", "gpufleet:vsphere:MachineOwner"


def secret(value: Any) -> dict[str, Any]:
    return {SIGNATURE: SECRET_MARK, "value": value}


def struct(given: dict[str, Any]) -> struct_pb2.Struct:
    found = struct_pb2.Struct()
    found.update(given)
    return found


def failures(
    kind: str, news: dict[str, Any], olds: dict[str, Any] | None = None
) -> list[provider_pb2.CheckFailure]:
    """Result for the engine; no property is named, and no reason has the token."""
    servicer = ResourceServicer(Provider("0.1.0"), [], "", platform_resource)
    request = provider_pb2.CheckRequest(
        urn=f"urn:pulumi:stack::project::{kind}::m", olds=struct(olds or {}), news=struct(news)
    )
    answer: Any = asyncio.run(servicer.Check(request, None))
    for failure in answer.failures:
        assert failure.property == ""
        assert SECRET not in failure.reason
        assert PASSWORD not in failure.reason
        assert failure.reason
    return list(answer.failures)


def placed(given: dict[str, Any], **place: Any) -> dict[str, Any]:
    for node in given["nodes"].values():
        node["place"] = {**node["place"], **place}
    return given


def addressed(given: dict[str, Any], **endpoint: Any) -> dict[str, Any]:
    for node in given["nodes"].values():
        node["endpoint"] = {**node["endpoint"], **endpoint}
    return given


REFUSED: dict[str, Callable[[Vcenter], dict[str, Any]]] = {
    "no room": lambda cloud: group_inputs(cloud, *range(99)),
    "no memory": lambda cloud: group_inputs(cloud, 0, memoryMib=2_048_000.0),
    "datastore full": lambda cloud: group_inputs(cloud, 0, diskGib=5000.0),
    "no template": lambda cloud: placed(group_inputs(cloud, 0), template="none"),
    "two templates": lambda cloud: placed(group_inputs(cloud, 0), template="twice"),
    "no datacenter": lambda cloud: placed(group_inputs(cloud, 0), datacenter="none"),
    "no cluster": lambda cloud: placed(group_inputs(cloud, 0), cluster="none"),
    "no network": lambda cloud: placed(group_inputs(cloud, 0), network="none"),
    "no datastore": lambda cloud: placed(group_inputs(cloud, 0), datastore="none"),
    "no folder": lambda cloud: placed(group_inputs(cloud, 0), folder="none"),
    "no pool": lambda cloud: placed(group_inputs(cloud, 0), resourcePool="none"),
    "no policy": lambda cloud: placed(group_inputs(cloud, 0), storagePolicy="none"),
    "no DRS group": lambda cloud: group_inputs(cloud, 0, vmGroup="none"),
    "no attribute": lambda cloud: group_inputs(cloud, 0, customAttributes={"none": SECRET}),
    "no such guest": lambda cloud: group_inputs(cloud, 0, guestId="none"),
    "old hardware": lambda cloud: group_inputs(cloud, 0, hardwareVersion=17.0),
    "name taken": lambda cloud: {**group_inputs(cloud, 7), "life": "another"},
    "wrong certificate": lambda cloud: addressed(group_inputs(cloud, 0), plainHttp=False),
    "no vCenter": lambda cloud: addressed(group_inputs(cloud, 0), port=1.0),
}


@pytest.fixture
def crowded(cloud: Vcenter) -> Vcenter:
    """With a machine whose name is taken, and two objects named `twice`."""
    created(cloud.node(7))
    with cloud.machine("gpu-7") as machine, cloud.service() as service:
        (datacenter,) = service.RetrieveContent().rootFolder.childEntity
        marks = [vim.option.OptionValue(key="gpufleet.owner", value="test/of/a/copy/0")]
        for folder in ("one", "two"):
            target = next(
                (f for f in datacenter.vmFolder.childEntity if f.name == folder), None
            ) or datacenter.vmFolder.CreateFolder(folder)
            spec = vim.vm.CloneSpec(
                location=vim.vm.RelocateSpec(pool=machine.resourcePool),
                config=vim.vm.ConfigSpec(extraConfig=marks),
            )
            finished(machine.CloneVM_Task(target, "twice", spec))
    return cloud


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_preview_shows_no_secret(
    crowded: Vcenter, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    given = REFUSED[case](crowded)
    assert SECRET in json.dumps(given["boot"])
    found = failures(GROUP, {**given, "boot": secret(given["boot"])})
    assert found, "it is refused"
    plain = failures(GROUP, given)
    assert [row.reason for row in plain] == [row.reason for row in found]
    assert SECRET not in "".join(capfd.readouterr())


def test_a_missing_privilege_and_a_wrong_password_show_no_secret(
    cloud: Vcenter, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = re.compile(rb"<isGranted>true</isGranted>")
    cloud.proxy.reset(
        [
            Rule(
                Action.REWRITE_REPLY,
                "HasPrivilegeOnEntities",
                nth=0,
                rewrite=lambda body: taken.sub(b"<isGranted>false</isGranted>", body),
            )
        ]
    )
    (missing,) = failures(GROUP, group_inputs(cloud, 0))
    assert missing.reason.startswith("vsphere-permission: ")
    cloud.proxy.reset()
    monkeypatch.setenv("VSPHERE_PASSWORD", "wrong-" + SECRET)
    (refused,) = failures(GROUP, group_inputs(cloud, 0))
    assert refused.reason.startswith("vsphere-authentication: ")


KEYS = [str(field.alias) for field in NodeSettings.model_fields.values()]


@pytest.mark.parametrize("key", [key for key in KEYS if key != "life"])
def test_a_wrong_input_of_a_machine_shows_no_secret(cloud: Vcenter, key: str) -> None:
    """Each input that there is, as a text, a list and a mapping that has the token."""
    given = {**group_inputs(cloud, 1), "preflight": "create"}
    refused = 0
    for value in (SECRET, [SECRET], {"token": SECRET}, {"mode": SECRET}, [{"name": SECRET}]):
        for one in (value, secret(value)):
            part = "boot" if key in SECRETS else "nodes"
            wrong = {**given[part]["1"], key: one}
            refused += len(failures(GROUP, {**given, part: {"1": wrong}}))
    assert refused


@pytest.mark.parametrize("key", sorted({path.split(".")[0] for path in PROPERTIES}))
def test_a_refused_change_of_a_machine_shows_no_secret(cloud: Vcenter, key: str) -> None:
    """With `updatePolicy` refuse and, for what can hold one, the token before and after."""
    given = {**group_inputs(cloud, 1, updatePolicy="refuse"), "preflight": "create"}
    before, after = f"{SECRET}-before", f"{SECRET}-after"
    values: dict[str, tuple[Any, Any]] = {
        "extraConfig": ({"site.key": before}, {"site.key": after}),
        "customAttributes": ({"a": before}, {"a": after}),
        "metaData": ({"a": before}, {"a": after}),
        "cpus": (8.0, 16.0),
        "memoryMib": (65_536.0, 131_072.0),
    }
    old, new = values.get(key, (before, after))
    node = given["nodes"]["1"]
    olds = {**given, "nodes": {"1": {**node, key: old}}}
    found = failures(GROUP, {**given, "nodes": {"1": {**node, key: new}}}, olds)
    if key == "extraConfig":
        (failure,) = found
        assert failure.reason.startswith("gpu-1: extraConfig: site.key changes only while")
    if key == "cpus":
        (failure,) = found
        assert failure.reason.startswith("gpu-1: cpus: 8 becomes 16 only while the machine is off")


def test_a_group_refuses_nothing_by_itself(cloud: Vcenter) -> None:
    inputs = owner_inputs(cloud)
    assert failures(OWNER, {**inputs, "common": secret(inputs["common"])}) == []


def test_one_place_makes_failures() -> None:
    """In all services of this package, one function makes the engine's result, and it takes no
    property."""
    made = re.compile(r"provider_pb2\.CheckFailure\((?!reason=)|InputPropertyErrorDetails")
    calls = re.compile(r"provider_pb2\.CheckFailure\(")
    texts = {file: file.read_text() for file in Path(gpufleet.__file__).parent.rglob("*.py")}
    assert not [file.name for file, text in texts.items() if made.search(text)]
    assert [file.name for file, text in texts.items() for _ in calls.finditer(text)] == [
        "resource_plugin.py"
    ]


PROGRAM = """
import json
from pathlib import Path

import pulumi
from gpufleet import VsphereGpuNodeGroup
from pulumi.dynamic import CreateResult, Resource, ResourceProvider

given = json.loads(Path("given.json").read_text())


class TokenProvider(ResourceProvider):
    def create(self, props):
        return CreateResult("token", {"value": props["made_of"] + "abcdef.0123456789abcdef"})


class Token(Resource):
    value: pulumi.Output[str]

    def __init__(self, name, hidden):
        secrets = ["value"] if hidden else None
        options = pulumi.ResourceOptions(additional_secret_outputs=secrets)
        inputs = {"made_of": "kubeadm-token-", "value": None}
        super().__init__(TokenProvider(), name, inputs, options)


token = Token("token", given["hidden"])
if given["pool"]:
    VsphereGpuNodeGroup(
        "pool",
        {
            "catalogue": "2026.11",
            "pool": given["pool"],
            "connection": {
                "server": "127.0.0.1",
                "port": given["port"],
                "plain_http": True,
                "datacenter": "DC0",
                "compute_cluster": "DC0_C0",
                "join": {
                    "method": "rke2",
                    "endpoint": "https://10.0.0.10:9345",
                    "token": token.value,
                },
            },
        },
    )
"""
"""The token is the output of another resource: the engine's own filter does not know it."""


@pytest.mark.parametrize("hidden", [True, False], ids=["secret output", "plain output"])
def test_what_the_engine_makes_of_a_refusal_has_no_token(
    project: Callable[..., Project], cloud: Vcenter, hidden: bool
) -> None:
    made = project({"__main__.py": PROGRAM})
    made.engine.env.update({"VSPHERE_USER": USER, "VSPHERE_PASSWORD": PASSWORD})

    def declare(template: str | None, nodes: int = 2) -> None:
        machine = {"cpus": 8, "memory_gib": 64, "template": template}
        pool = {"name": "train", "gpu": "A100-80GB", "nodes": {"min": nodes, "max": nodes}}
        known = {"hidden": hidden, "port": cloud.proxy.port}
        known["pool"] = {**pool, "vsphere": machine} if template else None
        made.write({"given.json": json.dumps(known)})

    declare(None)
    made.run("up")
    for template, nodes, reason in (
        ("gpu-template", 13, "vsphere-gpu-capacity"),
        ("none", 2, "no template named"),
    ):
        declare(template, nodes)
        for options in ((), ("--json",), ("--diff",), ("--logtostderr", "--verbose=3")):
            result = made.run("preview", *options, check=False)
            assert result.status != 0
            assert any(reason in error for error in result.errors), result.errors
            for text in (result.output, *result.errors, *result.warnings):
                assert SECRET not in text, options
                assert "cloud-config" not in text, options
            assert max(map(len, result.errors)) < 5_000, options
