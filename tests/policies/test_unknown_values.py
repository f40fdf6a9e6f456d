"""Unknown values, as during a preview, never add findings."""

from dataclasses import replace

import pytest

from gpufleet.cluster import FleetFacts
from gpufleet_policies.readers.plain import SENTINELS
from gpufleet_policies.rules.registry import RULE_FAILED
from tests.examples import part
from tests.policies.cases import CASES, Case
from tests.policies.test_hostile_input import paths, with_value

NAMES = ((), ("apiVersion",), ("kind",))
NOT_KNOWN = min(SENTINELS)
DECLARED_ONE_BY_ONE = [case for case in CASES if not isinstance(case.bad.facts(), FleetFacts)]
"""GpuFleet's properties are compiled: half of them never come."""


@pytest.mark.parametrize("case", DECLARED_ONE_BY_ONE, ids=str)
def test_a_field_that_is_not_known_takes_findings_away(case: Case):
    for thing in (case.good, case.bad):
        before = {finding.code for finding in case.findings(thing, profile="strict")}
        hideable = [path for path in paths(thing.properties) if path[:1] not in NAMES]
        for path in part(hideable, DECLARED_ONE_BY_ONE.index(case)):
            hidden = replace(thing, properties=with_value(thing.properties, path, NOT_KNOWN))
            if hidden.facts() is None:
                continue
            found = {finding.code for finding in case.findings(hidden, profile="strict")}
            assert found <= before, f"{path} of the object: {found - before}"
            assert RULE_FAILED not in found
