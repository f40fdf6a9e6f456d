"""The admission policy generated from a schema."""

import json
from copy import deepcopy
from typing import Any

import pytest

from gpufleet_sandbox.crds.strictness import admission, is_strict, opened

STRING = {"type": "string"}
SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": STRING,
        "labels": {"type": "object", "additionalProperties": STRING},
        "env": {"type": "array", "items": {"type": "object", "properties": {"name": STRING}}},
        "byKey": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"value": STRING}},
        },
        "deep": {"type": "object", "properties": {"er": {"type": "object", "properties": {}}}},
    },
}


def definition(*specs: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {"name": "things.example.com", "labels": {"gpufleet.dev/strict": "true"}},
        "spec": {
            "group": "example.com",
            "names": {"plural": "things"},
            "versions": [
                {"name": f"v{n}", "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}}
                for n, spec in enumerate(specs, 1)
            ],
        },
    }


def test_only_labelled_definitions_are_strict() -> None:
    assert is_strict(definition(SPEC))
    assert not is_strict({"metadata": {"name": "x"}})


def test_the_policy_names_every_object_of_the_schema() -> None:
    policy, binding = admission(definition(SPEC, SPEC))
    rules = {r["message"].split(" has ")[0]: r for r in policy["spec"]["validations"]}
    assert set(rules) == {"spec", "spec.env[]", "spec.byKey.*", "spec.deep"}
    assert rules["spec"]["expression"] == (
        "object.spec.all(k, k in ['name', 'labels', 'env', 'byKey', 'deep'])"
    )
    assert rules["spec.env[]"]["expression"] == (
        "!('env' in object.spec) || (object.spec['env'].all(item0, item0.all(k, k in ['name'])))"
    )
    assert rules["spec.byKey.*"]["expression"] == (
        "!('byKey' in object.spec) || (object.spec['byKey'].all(key0, "
        "object.spec['byKey'][key0].all(k, k in ['value'])))"
    )
    (resources,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert resources["apiVersions"] == ["v1", "v2"]
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]


def test_opening_leaves_the_original_and_the_maps_alone() -> None:
    before = definition(SPEC)
    copy = deepcopy(before)
    after = opened(before)
    assert before == copy
    text = json.dumps(after)
    assert text.count("x-kubernetes-preserve-unknown-fields") == 4


def test_versions_that_differ_need_a_policy_each() -> None:
    with pytest.raises(ValueError, match="versions have different schemas"):
        admission(definition(SPEC, {"type": "object", "properties": {}}))
