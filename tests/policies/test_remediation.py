"""A finding's patch fixes exactly that finding, and is applied at once."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from gpufleet.findings.remediation import add, pointer, remove
from gpufleet.findings.remediation import replace as change
from tests.policies.cases import CASES, Case

PATCHED = {
    "fraction-with-whole-gpu",
    "gpu-count-exceeds-parallelism",
    "gpu-cronjob-overlaps",
    "gpu-job-without-deadline",
    "gpu-on-control-process",
    "gpu-request-differs-from-limit",
    "gpu-request-without-limit",
    "dra-claim-unused",
    "non-gpu-pod-on-gpu-pool",
    "pod-strands-node-gpus",
    "rayjob-cluster-outlives-job",
    "shared-gpu-request-over-one",
    "training-without-queue-or-gang",
}
"""Workload rules whose fix needs no person."""

WITH_PATCH = [case for case in CASES if case.rule in PATCHED]


def applied(document: dict[str, Any], patch: tuple[Any, ...]) -> dict[str, Any]:
    """RFC 6902, as far as patches of rules go; a wrong path raises."""
    result = copy.deepcopy(document)
    for operation in patch:
        steps = [
            step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]
        ]
        here: Any = result
        for step in steps[:-1]:
            here = here[int(step)] if isinstance(here, list) else here[step]
        last: Any = int(steps[-1]) if isinstance(here, list) else steps[-1]
        if operation["op"] in ("remove", "replace"):
            here[last]
        if operation["op"] == "remove":
            del here[last]
        else:
            here[last] = operation["value"]
    return result


def test_every_workload_rule_with_a_patch_is_listed():
    from gpufleet.cluster import WorkloadFacts

    patched = {
        case.rule
        for case in CASES
        if isinstance(case.bad.facts(), WorkloadFacts)
        and any(finding.remediation for finding in case.of_the_bad)
    }
    assert patched == PATCHED


@pytest.mark.parametrize("case", WITH_PATCH, ids=str)
def test_the_patch_mends_the_finding(case: Case):
    found = next(f for f in case.of_the_bad if f.code == case.rule)
    assert found.remediation
    remediated = replace(case.bad, properties=applied(case.bad.properties, found.remediation))
    left = [finding.code for finding in case.findings(remediated)]
    # A pod that no longer requests a GPU may be something else's business, never this rule's.
    assert case.rule not in left


def test_pointers_escape_what_rfc_6901_wants():
    assert pointer("spec.containers[0]", "limits", "nvidia.com/gpu") == (
        "/spec/containers/0/limits/nvidia.com~1gpu"
    )
    assert pointer("metadata", "a~b") == "/metadata/a~0b"
    assert add(1, "spec.x") == {"op": "add", "path": "/spec/x", "value": 1}
    assert change(1, "spec", "y") == {"op": "replace", "path": "/spec/y", "value": 1}
    assert remove("spec.list[3]") == {"op": "remove", "path": "/spec/list/3"}
