"""Anything at all in the place of properties: no crash, only findings or silence."""

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.cluster import Locator, Surroundings, WorkloadFacts
from gpufleet.rules.context import RuleContext
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.fleet import fleet_from
from gpufleet_policies.readers.plain import SENTINELS
from gpufleet_policies.readers.pod_templates import KINDS
from gpufleet_policies.rules.registry import RULE_FAILED, validating
from gpufleet_policies.rules.settings import read_settings
from gpufleet_policies.rules.validate import validate
from tests.examples import examples
from tests.policies.cases import CASES
from tests.policies.objects import (
    DEPLOYMENT,
    STRICT,
    TODAY,
    findings,
    from_pulumi_props,
    summary,
    usual_fleet,
)

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=True),
    st.text(max_size=8),
    st.sampled_from(
        [*sorted(SENTINELS), "1", "-3", "0.5", "sleep infinity", "sh", "70b", "--model"]
    ),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


def paths(document, prefix=()):
    """Every path of a document."""
    yield prefix
    children = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in children:
        yield from paths(value, (*prefix, key))


def with_value(document, path, value):
    if not path:
        return value
    head, *rest = path
    if isinstance(document, list):
        return [with_value(v, rest, value) if i == head else v for i, v in enumerate(document)]
    return {k: with_value(v, rest, value) if k == head else v for k, v in document.items()}


DEPLOYMENT_PATHS = [path for path in paths(DEPLOYMENT) if path]
FLEET = summary()
FLEET_PATHS = [path for path in paths(FLEET) if path]


def validated(subject):
    found = findings(subject, settings=STRICT)
    assert "policy-rule-failed" not in [finding.code for finding in found], found[0].message
    for finding in found:
        assert finding.message
        assert finding.as_dict()


@given(st.sampled_from(DEPLOYMENT_PATHS), ANYTHING)
def test_any_value_anywhere_in_a_workload(path, value):
    document = with_value(DEPLOYMENT, path, value)
    found = from_pulumi_props("kubernetes:apps/v1:Deployment", document, "n", "u")
    assert isinstance(found, WorkloadFacts)
    validated(found)


MANIFESTS = [case.bad for case in CASES if case.bad.is_manifest]
MANIFEST_PATHS = [(thing, path) for thing in MANIFESTS for path in paths(thing.properties) if path]


@cache
def of_manifests():
    """What the rules know of all manifests."""
    return [facts for thing in MANIFESTS if (facts := thing.facts()) is not None]


@settings(max_examples=examples(400))
@given(st.sampled_from(MANIFEST_PATHS), ANYTHING)
def test_any_value_anywhere_in_any_object_of_the_case_table(place, value):
    thing, path = place
    document = with_value(thing.properties, path, value)
    everything = facts_of_document(document, "hostile.yaml", line=1)
    context = RuleContext(
        today=TODAY,
        load_catalogue=load,
        fleet=usual_fleet(),
        surroundings=Surroundings((*of_manifests(), *everything)),
    )
    for found in everything:
        if validating(type(found)):
            messages = [f.message for f in validate(found, context, read_settings(STRICT))]
            assert not [text for text in messages if RULE_FAILED in text]
    again = from_pulumi_props(thing.type, document, "n", "u")
    if again is not None and validating(type(again)):
        validated(again)


@given(st.sampled_from(sorted(KINDS)), ANYTHING)
def test_any_spec_of_any_kind(kind, value):
    token = f"kubernetes:{kind[0] or 'core'}/v1:{kind[1]}"
    found = from_pulumi_props(token, {"spec": value}, "n", "u")
    assert isinstance(found, WorkloadFacts)
    validated(found)


@given(st.sampled_from(FLEET_PATHS), ANYTHING)
def test_any_value_anywhere_in_a_fleet(path, value):
    found = fleet_from(with_value(FLEET, path, value), Locator("GpuFleet", "f"))
    if found is not None:
        validated(found)
