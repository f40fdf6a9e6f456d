"""Objects that an API server refuses for their shape, in an audit."""

from typing import Any

import pytest

from gpufleet.cluster.fact import UNKNOWN
from gpufleet.findings import Level
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.kubernetes_objects import KIND, refused_shape
from gpufleet_policies.wrappers.judged import NotJudged
from tests.policies.cases.case import FLEET, Case, Thing
from tests.policies.cases.workloads import CONTAINER, deployment


def rules(thing: Thing) -> dict[str, Level]:
    case = Case("", thing, thing, "", alongside=(FLEET,), settings={"profile": "prod"})
    return {
        one.code: one.level
        for one in case.findings(thing)
        if one.code.startswith(("object-", "config-"))
    }


def shape(**container: Any) -> list[Any]:
    template = {"spec": {"containers": [{"name": "a", "image": "b", **container}]}}
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template}}
    return list(refused_shape(document, Locator("Deployment", "a")))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({f"{CONTAINER}.resource": {"limits": {"nvidia.com/gpu": 1}}}, "config-key-misspelt"),
        ({f"{CONTAINER}.env": [{"name": "A", "value": 1}]}, "config-wrong-type"),
        ({f"{CONTAINER}.imagePullPolicy": "Allways"}, "config-choice-unknown"),
    ],
)
def test_what_an_api_server_refuses_is_reported(changes: dict[str, Any], code: str) -> None:
    assert rules(deployment(changes)) == {code: Level.MANDATORY}
    assert rules(deployment({})) == {}


def test_what_is_missing_or_replaced_later_proves_nothing() -> None:
    assert shape() == []  # no selector: a patch
    (left,) = shape(imagePullPolicy="${POLICY}")
    assert isinstance(left, NotJudged)
    assert left.place == "spec.template.spec.containers[0].imagePullPolicy"
    for text in ("<COUNT>", "PLACEHOLDER_GPUS", "$(GPUS)", "__GPUS__", "REPLACE_ME", "NUM_GPUS"):
        (left,) = shape(resources={"limits": {"nvidia.com/gpu": text}})
        assert left.reason == "a tool or a person fills in values, which are not known", text
    assert shape(stdin="true", args=[UNKNOWN]) == []
    (config,) = shape(stdin="true")
    assert (config.kind, config.complete) == (KIND, False)


def test_a_strategic_merge_patch_is_no_object() -> None:
    document = {"apiVersion": "apps/v1", "kind": "Deployment", "$patch": "delete", "spek": {}}
    assert list(refused_shape(document, Locator("Deployment", "a"))) == []
