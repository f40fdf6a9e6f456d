"""Owner keys that the settings ask for."""

from dataclasses import replace
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import UNKNOWN, Surroundings
from gpufleet.findings import Finding, FleetError
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.policies.cases.case import Thing, manifest
from tests.policies.cases.pools import QUIET, node_group
from tests.policies.objects import DEPLOYMENT, TODAY, changed


def found(thing: Thing, owners: list[str]) -> list[Finding]:
    """Findings of the rule about a thing, with these settings."""
    subjects = thing.all_facts
    everything = (*subjects, *(fact for one in QUIET for fact in one.all_facts))
    context = RuleContext(today=TODAY, load_catalogue=load, surroundings=Surroundings(everything))
    chosen = read_settings({"profile": "strict", "ownerTags": owners})
    context = replace(context, thresholds=chosen.thresholds)
    said = [f for subject in subjects for f in validate(subject, context, chosen)]
    return [finding for finding in said if finding.code == "gpu-owner-tags-missing"]


def test_missing_keys_are_named():
    (finding,) = found(node_group({"tags": {"Owner": "me"}}), ["owner", "team"])
    assert finding.message == "lacks team; GPU capacity must have owner, team"


def test_a_label_with_an_unknown_value_is_there():
    labels = {"owner": UNKNOWN, "team": "ml"}
    thing = manifest(changed(DEPLOYMENT, {"metadata.labels": labels}))
    assert found(thing, ["owner", "team"]) == []


@pytest.mark.parametrize("owners", ["owner", [1], {"owner": "ml"}])
def test_what_is_no_list_of_keys_is_refused(owners: Any):
    with pytest.raises(FleetError, match="ownerTags"):
        read_settings({"ownerTags": owners})
