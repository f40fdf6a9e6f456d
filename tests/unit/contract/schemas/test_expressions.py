"""Validation expressions of definitions. The API server's own results: tests/engine."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from gpufleet.catalogue.schemas import schema_file, schema_kinds
from gpufleet.contract.programs.dra_cel_functions import functions
from gpufleet.contract.schemas.validator import schema_problems


def said(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(problem.kind.value, problem.path) for problem in schema_problems(document)]


def driver(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "NVIDIADriver", "spec": spec}


def test_a_rule_of_a_definition_is_evaluated() -> None:
    chosen = driver(default=True, nodeSelector={"a": "b"})
    (problem,) = schema_problems(chosen)
    assert (problem.kind.value, problem.path) == ("condition", "spec")
    assert problem.message.startswith("spec violates a rule of the definition: has(self.default)")
    assert said(driver(nodeSelector={"a": "b"})) == []


def test_a_rule_of_the_top_sees_the_name() -> None:
    cluster = {"apiVersion": "nvidia.com/v1alpha1", "kind": "GPUCluster", "spec": {"draDriver": {}}}
    assert said({**cluster, "metadata": {"name": "other"}})[0][0] == "condition"
    assert said({**cluster, "metadata": {"name": "gpu-cluster"}}) == []


def test_defaults_count() -> None:
    scaled = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "spec": {"resourceGroups": []},
    }
    assert said(scaled) == []


def test_a_rule_of_an_item_names_its_place() -> None:
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.k8s.aws",
                        "kind": "EC2NodeClass",
                        "name": "a",
                    },
                    "requirements": [{"key": "karpenter.sh/nodepool", "operator": "Exists"}],
                }
            }
        },
    }
    assert said(pool) == [("condition", "spec.template.spec.requirements[0].key")]


def expressions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        rules = value.get("x-kubernetes-validations")
        yield from (one["rule"] for one in rules) if isinstance(rules, list) else ()
        for one in value.values():
            yield from expressions(one)
    elif isinstance(value, list):
        for one in value:
            yield from expressions(one)


FILES = sorted({name for kinds in schema_kinds().values() for name in kinds.values()})


@pytest.mark.parametrize("name", FILES)
def test_every_expression_of_the_catalogue_can_be_evaluated(name: str) -> None:
    import cel

    known = {"has", "all", "exists", "exists_one", "filter", "size", "endsWith", "startsWith"}
    known |= {"matches", "int", "duration", "contains"}
    for rule in set(expressions(json.loads(json.dumps(schema_file(name))))):
        cel.compile(rule)
        if "oldSelf" not in rule:
            called = set(re.findall(r"([A-Za-z_]+)\(", rule))
            assert called <= known | set(functions()), rule
