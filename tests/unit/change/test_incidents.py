"""The plan warns of public upgrade incidents, with the reason that the threads found."""

import pytest

from gpufleet.change.fleet_change import change_plan
from tests.unit.change.fleets import compiled
from tests.unit.change.incidents import SEEN, UNSEEN, Incident


@pytest.mark.parametrize("incident", [*SEEN, *UNSEEN], ids=lambda one: one.thread)
def test_it_is_warned_of(incident: Incident) -> None:
    plan = change_plan(compiled(incident.old), compiled(incident.new))
    assert incident.codes & {finding.code for finding in plan.findings}
    text = " ".join(f"{finding.message} {finding.fix}" for finding in plan.findings)
    for words in incident.words:
        assert words in text
