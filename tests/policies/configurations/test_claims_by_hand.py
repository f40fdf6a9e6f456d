"""`check` of hand-written claims, templates and classes: the API server's result for each.

tests/engine/test_claims_by_hand.py sends the same objects to a real one.
"""

import json

import pytest

from gpufleet.findings import Severity
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import validate_text
from tests.policies.configurations.claims_by_hand import ACCEPTED, Written
from tests.policies.configurations.refused_claims import BY_HAND

GATES = ("TimeSlicingSettings", "MPSSupport", "PassthroughSupport")
PLACE = {"kubernetesVersion": "1.36", "featureGates": dict.fromkeys(GATES, True)}


def test_there_are_more_than_36() -> None:
    assert len({one.name for one in BY_HAND}) == len(BY_HAND) >= 36
    assert len(ACCEPTED) >= 16


@pytest.mark.parametrize("written", BY_HAND, ids=str)
def test_check_says_what_the_server_says(written: Written) -> None:
    found = validate_text("dra-config", json.dumps(written.manifest), context=PLACE)
    errors = [one.path for one in found.findings if one.severity is Severity.ERROR]
    if written.refused is None:
        assert found.verdict is Verdict.ACCEPT, found.findings
    else:
        assert any(path.startswith(written.refused) for path in errors), found.findings


def test_the_context_may_name_gates_of_the_cluster() -> None:
    """As the finding about a gate that is off advises; of no driver they are gates."""
    manifest = next(one.manifest for one in ACCEPTED if one.name == "a-taint-that-is-borne")
    place = {"kubernetesVersion": "1.35"}
    off = validate_text("dra-config", json.dumps(manifest), context=place).findings
    assert [one.code for one in off] == ["dra-kubernetes-gate-off"]
    on = {**place, "featureGates": {"DRADeviceTaints": True}}
    assert validate_text("dra-config", json.dumps(manifest), context=on).findings == ()
    wrong = {**place, "featureGates": {"DRADeviceTaints": True, "DeviceTaints": True}}
    found = validate_text("dra-config", json.dumps(manifest), context=wrong).findings
    assert [one.code for one in found] == ["dra-gate-unknown"]
