"""Larger machine types of a pool's list: named, and dropped where the pool stays."""

from dataclasses import replace
from typing import Any

import pytest

from gpufleet.findings import Finding
from tests.policies.cases.case import Thing
from tests.policies.cases.pool_hardware import SERVER, TYPES
from tests.policies.cases.pools import QUIET, karpenter, node_group
from tests.policies.test_patches import found as all_found
from tests.policies.test_remediation import applied

RULE = "cheaper-instance-same-gpu"
LEAST = "spec.template.spec.requirements[0].minValues"
WAYS = "spec.template.spec.requirements[1].values"
ON_DEMAND = {WAYS: ["on-demand"]}


def found(thing: Thing, *alongside: Thing) -> list[Finding]:
    return all_found(thing, RULE, *(alongside or (*QUIET, SERVER)))


def test_types_that_a_smaller_one_of_the_list_stands_for_are_dropped():
    thing = karpenter({**ON_DEMAND, TYPES: ["g6.4xlarge", "g6.xlarge", "g6.2xlarge"]})
    (finding,) = found(thing)
    assert finding.message.startswith("g6.4xlarge, g6.2xlarge next to g6.xlarge")
    assert finding.fix == "drop g6.4xlarge, g6.2xlarge"
    properties = applied(thing.properties, finding.remediation)
    kept = properties["spec"]["template"]["spec"]["requirements"]
    assert kept[0]["values"] == ["g6.xlarge"]
    assert kept[1] == thing.properties["spec"]["template"]["spec"]["requirements"][1]
    assert found(replace(thing, properties=properties)) == []


def test_a_node_group_is_told_and_not_changed_since_that_replaces_it():
    (finding,) = found(node_group({"instanceTypes": ["g6.2xlarge", "g6.xlarge"]}))
    assert finding.path.endswith("instanceTypes")
    assert finding.fix == "drop g6.2xlarge"
    assert finding.remediation == ()


def test_each_larger_type_has_one_that_keeps_what_it_is_chosen_for():
    """g6.8xlarge has EFA and represents g6.16xlarge; g6.xlarge, which has none, for g6.2xlarge."""
    types = ["g6.xlarge", "g6.2xlarge", "g6.8xlarge", "g6.16xlarge"]
    (finding,) = found(karpenter({**ON_DEMAND, TYPES: types}))
    assert finding.message.startswith("g6.2xlarge, g6.16xlarge next to g6.xlarge, g6.8xlarge")
    assert "; g6.8xlarge has the same GPUs at " in finding.message
    assert "g6.16xlarge costs" in finding.message


@pytest.mark.parametrize(
    "changes",
    [
        {TYPES: ["g6.xlarge", "g6.2xlarge"], WAYS: ["spot", "on-demand"]},
        {TYPES: ["g6.xlarge", "g6.2xlarge"], WAYS: ["spot"]},
        {**ON_DEMAND, TYPES: ["g6.xlarge"]},
        {**ON_DEMAND, TYPES: ["g6.xlarge", "g6.12xlarge"]},  # four GPUs
        {**ON_DEMAND, TYPES: ["g6.xlarge", "g5.2xlarge"]},  # another GPU
        {**ON_DEMAND, TYPES: ["g6.xlarge", "g9.2xlarge"]},  # its price is unknown
        {**ON_DEMAND, TYPES: ["g6.xlarge", "g6.2xlarge"], LEAST: 2},  # refused with fewer
    ],
    ids=["spot-too", "spot", "one", "counts", "gpus", "unpriced", "minimum"],
)
def test_lists_that_are_a_choice_are_left(changes: dict[str, Any]):
    assert found(karpenter(changes)) == []


def test_where_no_pod_says_what_it_needs_nothing_is_too_large():
    thing = karpenter({**ON_DEMAND, TYPES: ["g6.2xlarge", "g6.xlarge"]})
    assert found(thing, *QUIET) == []
