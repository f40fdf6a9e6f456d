"""A preview of the engine against the plan: what only one of them replaces or deletes is named."""

from typing import Any

import pytest

from gpufleet.change.fleet_change import change_plan
from gpufleet.change.preview import read_preview, validate_preview
from tests.unit.change.edits import EKS, fleet
from tests.unit.change.fleets import compiled

GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
COMPONENT = "gpufleet:index:GpuFleet$gpufleet:index:EksGpuNodeGroup"


def step(operation: str, token: str, name: str, pool: str) -> dict[str, Any]:
    start = f"urn:pulumi:prod::ml::{COMPONENT}"
    return {
        "op": operation,
        "urn": f"{start}${token}::{name}",
        "newState": {"parent": f"{start}::ml-{pool}"},
    }


def preview(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"steps": list(steps), "changeSummary": {"same": 1}}


def codes(edit: str, *steps: dict[str, Any]) -> list[tuple[str, str]]:
    one = {edit: EKS[edit]}
    old, new = (compiled(fleet("eks", side, one)) for side in (0, 1))
    found = validate_preview(change_plan(old, new), old, new, read_preview(preview(*steps)))
    return [(finding.code, finding.message) for finding in found]


def test_what_both_replace_is_no_finding() -> None:
    group = [
        step(operation, GROUP, "ml-types-group", "types")
        for operation in ("create-replacement", "replace", "delete-replaced")
    ]
    assert codes("types", *group) == []
    assert codes("disk", step("update", TEMPLATE, "ml-disk-template", "disk")) == []


def test_a_replacement_that_the_plan_does_not_foresee() -> None:
    ((code, message),) = codes("labels", step("replace", GROUP, "ml-labels-group", "labels"))
    assert code == "preview-unforeseen"
    assert message == (
        f"the engine replaces ml-labels-group ({GROUP}) of labels, and the plan updates it"
    )
    ((code, message),) = codes("same", step("delete", GROUP, "ml-same-group", "same"))
    assert (code, message.endswith("the plan leaves it")) == ("preview-unforeseen", True)


def test_a_replacement_that_the_engine_does_not_make() -> None:
    ((code, message),) = codes("types", step("update", GROUP, "ml-types-group", "types"))
    assert code == "preview-lacks"
    assert message == "the plan replaces nodeGroup of types, and the engine updates it"


def test_a_resource_that_makes_no_nodes() -> None:
    other = step("delete", "kubernetes:core/v1:ConfigMap", "ml-addons-config", "addons")
    ((code, message),) = codes("same", other)
    assert code == "preview-replaces-other"
    assert "ml-addons-config" in message


@pytest.mark.parametrize("document", [{}, {"steps": []}, {"steps": {}, "changeSummary": {}}])
def test_anything_else_is_no_preview(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="pulumi preview --json"):
        read_preview(document)
