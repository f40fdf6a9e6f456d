"""Anything at all in the place of cloud resources, plans, previews, states and values files."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.cluster import Surroundings
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.plain import plain
from gpufleet_policies.readers.pulumi_props import facts_from_pulumi
from gpufleet_policies.readers.pulumi_types import READERS
from gpufleet_policies.rules.registry import RULE_FAILED
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.examples import examples
from tests.policies.cases import CASES
from tests.policies.cases.pools import KARPENTER, NODE_GROUP
from tests.policies.objects import STRICT, TODAY
from tests.policies.test_hostile_input import ANYTHING, paths, with_value
from tests.policies.test_plans_and_states import TF_GROUP, change, plan, step

THINGS = [case.bad for case in CASES if not case.bad.is_manifest]
THING_PATHS = [(thing, path) for thing in THINGS for path in paths(thing.properties) if path]
BESIDE = [fact for thing in THINGS for fact in thing.all_facts]
GROUP = "aws:eks/nodeGroup:NodeGroup"
DOCUMENTS: list[Any] = [
    plan(change("aws_eks_node_group", TF_GROUP, {"scaling_config": [{"min_size": True}]})),
    plan(change("helm_release", {"chart": "gpu-operator", "values": ["mig: {strategy: mixed}"]})),
    plan(change("kubernetes_manifest", {"manifest": KARPENTER})),
    {"config": {}, "steps": [step(GROUP, NODE_GROUP)], "changeSummary": {}},
    {
        "version": 3,
        "deployment": {
            "resources": [{"type": GROUP, "urn": "urn:pulumi:a::b::c::d", "inputs": NODE_GROUP}]
        },
    },
    {
        "mig": {"strategy": "mixed"},
        "migManager": {"config": {"data": {"config.yaml": "mig-configs: {}"}}},
        "devicePlugin": {"config": {"data": {"a": "version: v1\nsharing: {timeSlicing: {}}"}}},
        "driver": {"licensingConfig": {"secretName": "s"}},
        "dcgmExporter": {"enabled": True},
    },
    {"migStrategy": "none", "config": {"map": {"a": "version: v1\nflags: {migStrategy: none}"}}},
]
DOCUMENT_PATHS = [(document, path) for document in DOCUMENTS for path in paths(document) if path]


def validated(facts: tuple[Any, ...]) -> None:
    context = RuleContext(
        today=TODAY, load_catalogue=load, surroundings=Surroundings((*BESIDE, *facts))
    )
    alone = RuleContext(today=TODAY, load_catalogue=load)
    for fact in facts:
        for where in (context, alone):
            found = validate(fact, where, read_settings(STRICT))
            assert not [f.message for f in found if f.code == RULE_FAILED]
            assert all(finding.as_dict() for finding in found)


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(THING_PATHS), ANYTHING)
def test_any_value_anywhere_in_a_cloud_resource(place, value):
    thing, path = place
    validated(facts_from_pulumi(thing.type, with_value(thing.properties, path, value), "n", "u"))


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(sorted(READERS)), ANYTHING)
def test_anything_as_the_properties_of_any_type(kind, value):
    validated(facts_from_pulumi(kind, value, "n", "u"))


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(DOCUMENT_PATHS), ANYTHING)
def test_any_value_anywhere_in_a_plan_a_preview_a_state_or_values(place, value):
    document, path = place
    validated(facts_of_document(plain(with_value(document, path, value)), "values.yaml"))
