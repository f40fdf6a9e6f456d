"""Manifests as people publish them: no crash, and always the same findings."""

import json

from gpufleet.catalogue import load
from gpufleet.cluster import FleetFacts, Surroundings
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.rules.registry import RULE_FAILED, validating
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.examples import examples
from tests.policies.manifests import MAKERS, manifests
from tests.policies.objects import STRICT, TODAY, usual_fleet

COUNT = examples(1_200)


def _messages(documents, fleet: FleetFacts | None) -> list[str]:
    facts = [
        fact
        for index, document in enumerate(documents)
        for fact in facts_of_document(document, f"{index}.yaml", line=1)
    ]
    settings = read_settings(STRICT)
    context = RuleContext(
        today=TODAY, load_catalogue=load, fleet=fleet, surroundings=Surroundings(tuple(facts))
    )
    return [
        finding.text
        for fact in facts
        if validating(type(fact))
        for finding in validate(fact, context, settings)
    ]


def test_no_rule_breaks_on_any_of_them_and_the_outcome_is_the_same_twice():
    documents = list(manifests(COUNT))
    assert len({document["kind"] for document in documents}) == len(MAKERS)
    found = _messages(documents, usual_fleet())
    assert not [message for message in found if RULE_FAILED in message]
    again = _messages(json.loads(json.dumps(documents)), usual_fleet())
    assert again == found
    rules = {message[1 : message.index("]")] for message in found}
    assert len(rules) > 20, sorted(rules)


def test_without_a_fleet_fewer_things_are_known_and_nothing_breaks():
    found = _messages(manifests(COUNT), None)
    assert found
    assert not [message for message in found if RULE_FAILED in message]
