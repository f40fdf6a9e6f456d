"""Owner keys that the settings give values for are added where they are missing."""

from dataclasses import replace
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import UNKNOWN, Surroundings
from gpufleet.findings import Finding, FleetError
from gpufleet.rules.context import RuleContext
from gpufleet_policies.resolve.json_patch import patched
from gpufleet_policies.rules.owners import tag_patch
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.pools import QUIET, gke_pool, karpenter, node_group
from tests.policies.objects import DEPLOYMENT, REMOVE, TODAY, changed
from tests.policies.test_remediation import applied

RULE = "gpu-owner-tags-missing"
OWNERS = {"owner": "ML.Platform", "team": "ml-platform"}


def found(thing: Thing, owners: Any = OWNERS) -> list[Finding]:
    """Findings of the rule about a thing, with these settings."""
    subjects = thing.all_facts()
    everything = (*subjects, *(fact for one in QUIET for fact in one.all_facts()))
    context = RuleContext(today=TODAY, load_catalogue=load, surroundings=Surroundings(everything))
    chosen = read_settings({"profile": "strict", "ownerTags": owners})
    context = replace(context, thresholds=chosen.thresholds)
    said = [f for subject in subjects for f in validate(subject, context, chosen)]
    return [finding for finding in said if finding.code == RULE]


def remediated(thing: Thing, owners: Any = OWNERS) -> dict[str, Any]:
    """The thing's properties with the patch of its one finding, which is gone then."""
    (finding,) = found(thing, owners)
    assert finding.remediation
    properties = applied(thing.properties, finding.remediation)
    assert found(replace(thing, properties=properties), owners) == []
    return properties


def test_a_node_group_keeps_its_tags_and_gets_those_it_lacks():
    tags = remediated(node_group({"tags": {"Owner": "me", "x": "y"}}))["tags"]
    assert tags == {"Owner": "me", "x": "y", "team": "ml-platform"}


def test_a_node_group_without_tags_gets_them_all():
    assert remediated(node_group({"tags": REMOVE}))["tags"] == OWNERS


TAG = {"key": "x", "value": "y", "propagateAtLaunch": False}


@pytest.mark.parametrize("tags", [None, [TAG]])
def test_an_auto_scaling_group_hands_its_new_tags_to_its_machines(tags: Any):
    group = {
        "minSize": 0,
        "maxSize": 4,
        "mixedInstancesPolicy": {
            "launchTemplate": {
                "launchTemplateSpecification": {"launchTemplateId": "lt-1"},
                "overrides": [{"instanceType": "g6.xlarge"}],
            }
        },
        **({} if tags is None else {"tags": tags}),
    }
    (pool,) = Thing("aws:autoscaling/group:Group", group, "gpu").all_facts()
    operations = tag_patch(pool, ["team"], OWNERS)
    new = {"key": "team", "value": "ml-platform", "propagateAtLaunch": True}
    assert patched(group, operations)["tags"] == [*(tags or []), new]


def test_a_gke_pool_is_labelled_in_lower_case():
    thing = gke_pool({"nodeConfig.resourceLabels": {"x": "y"}})
    owners = {"example.com/Team": "ML-Platform"}
    assert remediated(thing, owners)["nodeConfig"]["resourceLabels"] == {
        "x": "y",
        "team": "ml-platform",
    }


def test_a_value_that_no_label_can_hold_is_left_to_a_person():
    for thing in (gke_pool({"nodeConfig.resourceLabels": {}}), karpenter({"metadata.labels": {}})):
        (finding,) = found(thing, {"team": "Ada & Co."})
        assert finding.remediation == ()


def test_a_karpenter_pool_is_labelled_itself_and_its_nodes_stay():
    before = karpenter({"metadata.labels": REMOVE})
    after = remediated(before)
    assert after["metadata"]["labels"] == OWNERS
    assert after["spec"] == before.properties["spec"]


@pytest.mark.parametrize("labels", [{}, {"app": "chat"}])
def test_a_workload_is_labelled_itself_and_its_pods_stay(labels: Any):
    before = manifest(changed(DEPLOYMENT, {"metadata.labels": labels} if labels else {}))
    after = remediated(before)
    assert after["metadata"]["labels"] == {**labels, **OWNERS}
    assert after["spec"] == before.properties["spec"]


def test_keys_without_a_value_and_lists_of_keys_are_asked_for_and_left():
    bare = node_group({"tags": {"x": "y"}})
    for owners in (["owner"], {"owner": None}):
        (finding,) = found(bare, owners)
        assert (finding.message, finding.remediation) == (
            "lacks owner; GPU capacity must have owner",
            (),
        )
    (finding,) = found(bare, {"owner": None, "team": "ml"})
    assert finding.remediation == ({"op": "add", "path": "/tags/team", "value": "ml"},)


def test_a_label_with_an_unknown_value_is_there():
    labels = {"owner": UNKNOWN, "team": "ml"}
    assert found(manifest(changed(DEPLOYMENT, {"metadata.labels": labels}))) == []


@pytest.mark.parametrize("owners", ["owner", [1], {"owner": 4711}, {"": "x"}])
def test_what_is_neither_keys_nor_keys_with_texts_is_refused(owners: Any):
    with pytest.raises(FleetError, match="ownerTags"):
        read_settings({"ownerTags": owners})


def test_a_patch_of_an_object_that_others_write_is_not_offered():
    thing = node_group({"tags": {}})
    (pool,) = thing.all_facts()
    planned = replace(pool, locator=replace(pool.locator, file="plan.json"))
    assert tag_patch(pool, ["team"], OWNERS) != ()
    assert tag_patch(planned, ["team"], OWNERS) == ()
