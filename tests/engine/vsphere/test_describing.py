"""Notes, custom attributes and tags: written, followed, and other people's left alone."""

import base64
import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import vim

from tests.engine.vcenter_fixture import PASSWORD, USER, Vcenter
from tests.engine.vsphere.direct import PROVIDER, UNCLOSED, created, read, refused
from tests.vcenter.fault_proxy import Action, Rule

pytestmark = UNCLOSED
TAGGING = "/rest/com/vmware/cis/tagging"
PRODUCTION = {"category": "environment", "name": "production"}
TRIAL = {"category": "environment", "name": "trial"}


class Tags:
    """vCenter's tags, past the proxy: what an administrator does."""

    def __init__(self, cloud: Vcenter) -> None:
        self.root = f"http://{cloud.running.host}:{cloud.running.port}"
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        self.headers = {"Authorization": f"Basic {pair}", "Content-Type": "application/json"}
        token = self._ask("POST", "/rest/com/vmware/cis/session")
        self.headers = {"vmware-api-session-id": token, "Content-Type": "application/json"}
        spec = {"name": "environment", "description": "", "cardinality": "SINGLE"}
        self.category = self._ask(
            "POST", f"{TAGGING}/category", {"create_spec": {**spec, "associable_types": []}}
        )
        self.ids = {name: self._create(name) for name in ("production", "trial", "theirs")}

    def _create(self, name: str) -> str:
        spec = {"name": name, "description": "", "category_id": self.category}
        return self._ask("POST", f"{TAGGING}/tag", {"create_spec": spec})

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.root + path, data, self.headers, method=method)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            text = answer.read()
        return json.loads(text).get("value") if text.strip() else None

    def change(self, action: str, name: str, moref: str) -> None:
        path = f"{TAGGING}/tag-association/id:{self.ids[name]}?~action={action}"
        self._ask("POST", path, {"object_id": {"type": "VirtualMachine", "id": moref}})

    def of(self, moref: str) -> list[str]:
        path = f"{TAGGING}/tag-association?~action=list-attached-tags"
        body = {"object_id": {"type": "VirtualMachine", "id": moref}}
        there = self._ask("POST", path, body) or []
        return sorted(name for name, key in self.ids.items() if key in there)

    def remove(self) -> None:
        for key in self.ids.values():
            self._ask("DELETE", f"{TAGGING}/tag/id:{key}")
        self._ask("DELETE", f"{TAGGING}/category/id:{self.category}")


@pytest.fixture
def tags(cloud: Vcenter) -> Iterator[Tags]:
    made = Tags(cloud)
    yield made
    made.remove()


@pytest.fixture
def attribute(cloud: Vcenter) -> Iterator[str]:
    with cloud.service() as service:
        manager = service.RetrieveContent().customFieldsManager
        key = manager.AddCustomFieldDef("cost centre", vim.VirtualMachine).key
        yield "cost centre"
        manager.RemoveCustomFieldDef(key)


def described(cloud: Vcenter, attribute: str) -> tuple[str, str]:
    with cloud.machine("gpu-1") as machine, cloud.service() as service:
        fields = service.RetrieveContent().customFieldsManager.field
        (key,) = [field.key for field in fields if field.name == attribute]
        values = {entry.key: entry.value for entry in machine.customValue}
        return machine.config.annotation, values.get(key, "")


def changed(outs: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    assert PROVIDER.diff(outs["instanceUuid"], outs, node).changes is True
    assert PROVIDER.diff(outs["instanceUuid"], outs, node).replaces == []
    return PROVIDER.update(outs["instanceUuid"], outs, node).outs or {}


def test_a_life_of_notes_attributes_and_tags(cloud: Vcenter, tags: Tags, attribute: str) -> None:
    first = cloud.node(
        1, annotation="of the ML team", customAttributes={attribute: "4711"}, tags=[PRODUCTION]
    )
    outs = created(first)
    assert described(cloud, attribute) == ("of the ML team", "4711")
    assert tags.of(outs["moRef"]) == ["production"]
    assert outs["drifted"] == {}

    tags.change("attach", "theirs", outs["moRef"])
    cloud.proxy.reset()
    second = cloud.node(1, annotation="lent", customAttributes={attribute: "12"}, tags=[TRIAL])
    outs = changed(outs, second)
    assert described(cloud, attribute) == ("lent", "12")
    assert tags.of(outs["moRef"]) == ["theirs", "trial"]
    assert cloud.proxy.changing == {"ReconfigVM_Task": 1}, "and it runs all the time"

    cloud.proxy.reset()
    bodies: list[bytes] = []
    seen = Rule(Action.REWRITE, "ReconfigVM_Task", rewrite=lambda body: bodies.append(body) or body)
    cloud.proxy.reset([seen])
    outs = changed(outs, cloud.node(1))
    assert described(cloud, attribute)[1] == ""
    assert tags.of(outs["moRef"]) == ["theirs"]
    (body,) = bodies
    # The simulator takes an empty note for none: the call is all that can be seen of it there.
    assert b"<annotation></annotation>" in body
    cloud.proxy.reset()
    assert PROVIDER.diff(outs["instanceUuid"], outs, cloud.node(1)).changes is False


def test_what_others_did_to_them_is_drift(cloud: Vcenter, tags: Tags, attribute: str) -> None:
    node = cloud.node(1, annotation="ours", customAttributes={attribute: "1"}, tags=[PRODUCTION])
    outs = created(node)
    with cloud.machine("gpu-1") as machine, cloud.service() as service:
        tags.change("detach", "production", outs["moRef"])
        machine.ReconfigVM_Task(vim.vm.ConfigSpec(annotation="mine"))
        manager = service.RetrieveContent().customFieldsManager
        (key,) = [field.key for field in manager.field if field.name == attribute]
        manager.SetField(machine, key, "2")
    seen = read(outs)
    assert seen["drifted"] == {
        "annotation": "mine",
        "customAttributes": {attribute: "2"},
    } | {"tags": []}
    seen = changed(seen, node)
    assert seen["drifted"] == {}
    assert described(cloud, attribute) == ("ours", "1")
    assert tags.of(outs["moRef"]) == ["production"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"tags": [{**PRODUCTION, "name": "prodution"}]}, "near: production"),
        ({"tags": [{"category": "enviroment", "name": "trial"}]}, "near: environment"),
        (
            {"customAttributes": {"cost center": "1"}},
            "virtual machines have no custom attribute 'cost center'; they have cost centre",
        ),
    ],
)
def test_what_does_not_exist_is_told_before_anything(
    cloud: Vcenter, tags: Tags, attribute: str, more: dict[str, Any], expected: str
) -> None:
    assert tags.ids
    assert attribute
    assert expected in refused("vsphere-not-found", lambda: created(cloud.node(1, **more)))
    assert cloud.proxy.changing == {}
