"""Legal neighbours of each case of rules/pairs.py: at least five correct inputs, written in another
way than the good one, for which the rule has no finding."""

import dataclasses
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.policies.cases.case import FLEET, Case, Thing, manifest
from tests.policies.cases.pairs import CASES

FORMS = {
    "Pod": "v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
}


def neighbours(case: Case) -> Iterator[tuple[str, Thing, tuple[Thing, ...]]]:
    """Name, object, and its companions."""
    beside = case.alongside
    yield "alone", case.good, ()
    others = tuple(one for one in beside if one is not FLEET)
    yield "with a fleet, or without", case.good, others if FLEET in beside else (*beside, FLEET)
    yield "reversed", case.good, beside[::-1]
    yield "beside another workload", case.good, (*beside, _other())
    if case.good.is_manifest:
        yield "annotated", _annotated(case.good), beside
    # A program may declare an object again, in another file or for another cluster.
    yield "twice", case.good, (*beside, case.good)
    own = case.good.properties
    of_batch_or_apps = own.get("kind") in ("Deployment", "Job") and "template" in own["spec"]
    for kind in FORMS if of_batch_or_apps else ():
        yield kind, _as(kind, case.good.properties), beside


def _other() -> Thing:
    """Objects without GPUs."""
    data = {"a": "b"}
    return manifest(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data}
    )


def _annotated(thing: Thing) -> Thing:
    properties = deepcopy(thing.properties)
    properties.setdefault("metadata", {}).setdefault("annotations", {})["example.com/owner"] = "ml"
    return dataclasses.replace(thing, properties=properties)


def _as(kind: str, document: dict[str, Any]) -> Thing:
    """The pods of a Deployment or Job, of another kind."""
    metadata, spec = deepcopy(document["metadata"]), deepcopy(document["spec"])
    template = spec["template"]
    if kind == "Pod":
        metadata |= {
            key: {**metadata.get(key, {}), **template.get("metadata", {}).get(key, {})}
            for key in ("labels", "annotations")
        }
        spec = template["spec"]
    elif kind == "CronJob":
        template["spec"].setdefault("restartPolicy", "Never")
        spec = {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}
    elif kind == "Job":
        template["spec"].setdefault("restartPolicy", "Never")
        spec = {"template": template, "activeDeadlineSeconds": 86400}
    return manifest({"apiVersion": FORMS[kind], "kind": kind, "metadata": metadata, "spec": spec})


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_neighbours_of_what_is_right_are_right(case: Case):
    wrong = [
        name for name, thing, beside in neighbours(case) if case.rule in _codes(case, thing, beside)
    ]
    assert wrong == []


def _codes(case: Case, thing: Thing, beside: tuple[Thing, ...]) -> set[str]:
    return {one.code for one in dataclasses.replace(case, alongside=beside).findings(thing)}


def test_each_rule_has_five_neighbours_or_more():
    counts: dict[str, int] = {}
    for case in CASES:
        counts[case.rule] = counts.get(case.rule, 0) + sum(1 for _ in neighbours(case))
    assert len(counts) >= 40
    assert min(counts.values()) >= 5
