"""Which field deletes a finished object. That of a RayJob only delays the end of its cluster."""

from typing import Any

import pytest

from gpufleet.findings import Level
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.jobs import JOB_SET, KEEPS, RAY_JOB
from tests.policies.cases.workloads import JOB


@pytest.mark.parametrize(
    ("document", "places"),
    [
        (JOB, ["spec.ttlSecondsAfterFinished"]),
        (JOB_SET, ["spec.ttlSecondsAfterFinished"]),
        (RAY_JOB, []),
    ],
    ids=["Job", "JobSet", "RayJob"],
)
def test_a_finished_object_is_deleted_by_its_field(document: dict[str, Any], places: list[str]):
    thing = manifest(document)
    case = Case(KEEPS, thing, thing, "", alongside=(), settings={"rules": {KEEPS: Level.ADVISORY}})
    assert [f.path for f in case.findings(thing) if f.code == KEEPS] == places
