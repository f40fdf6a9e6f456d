"""Numbers that the API server refuses under any definition."""

from typing import Any

import pytest

from gpufleet.contract.schemas.validator import has_schema, schema_problems
from gpufleet.spec.parse import parse


def pod(amount: Any) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": amount}}
    container = {"name": "c", "image": "x", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [container]},
    }


@pytest.mark.parametrize("amount", [-1, "-1", -0.5, "-500m"])
def test_amounts_that_no_api_server_takes(amount: object) -> None:
    (problem,) = schema_problems(pod(amount))
    assert problem.path == 'spec.containers[0].resources.limits["nvidia.com/gpu"]'


LARGEST = 2**63 - 1
"""Magnitude of quantities: k8s.io/apimachinery v0.36.3 pkg/api/resource/quantity.go."""
LONG = "1" * 5000
QUANTITIES = [
    ("v1 ResourceQuota", "spec.hard.requests.nvidia.com/gpu"),
    ("v1 LimitRange", "spec.limits.0.max.nvidia.com/gpu"),
    ("karpenter.sh/v1 NodePool", "spec.limits.nvidia.com/gpu"),
]


@pytest.mark.parametrize(
    "amount",
    [LONG, "9" * 5000, "1e19", "1e999999999", "8Ei", "9e" + "9" * 5000, 2**63, 10**5000],
    ids=range(8),
)
def test_amounts_above_the_largest_quantity(amount: object) -> None:
    (problem,) = schema_problems(pod(amount))
    assert problem.path == 'spec.containers[0].resources.limits["nvidia.com/gpu"]'
    assert problem.limit == LARGEST
    assert problem.message.endswith(f"above the largest quantity: {LARGEST}")
    assert len(problem.message) < 160
    assert problem.fix == f"write at most {LARGEST}"


@pytest.mark.parametrize(
    "amount", [LARGEST, str(LARGEST), "7Ei", "0" * 5000 + "1", "1." + "0" * 5000, "0e" + "9" * 5000]
)
def test_long_amounts_that_are_no_large_ones(amount: object) -> None:
    assert schema_problems(pod(amount)) == ()


@pytest.mark.parametrize(("kind", "path"), QUANTITIES)
def test_every_place_of_an_amount_of_gpus(kind: str, path: str) -> None:
    version, name = kind.split()
    assert has_schema(version, name)
    document = {"apiVersion": version, "kind": name, "metadata": {"name": "a"}}
    inner: Any = LONG
    steps = path.replace("requests.nvidia.com", "requests|nvidia|com").replace(
        "nvidia.com", "n|com"
    )
    for step in reversed(steps.split(".")):
        inner = [inner] if step == "0" else {step.replace("|", "."): inner}
    found = [one for one in schema_problems({**document, **inner}) if one.limit == LARGEST]
    assert len(found) == 1


@pytest.mark.parametrize("amount", [0, 1, "1", "1e3", "-0"])
def test_amounts_that_it_takes(amount: object) -> None:
    assert schema_problems(pod(amount)) == ()


def test_a_negative_number_elsewhere_is_of_the_definition_alone() -> None:
    thing = pod(1)
    thing["spec"]["priority"] = -10
    assert schema_problems(thing) == ()


def test_the_template_of_a_deployment_is_read_too() -> None:
    labels = {"a": "b"}
    thing = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod(-1)["spec"]},
        },
    }
    (problem,) = schema_problems(thing)
    assert problem.path.startswith("spec.template.spec.containers[0]")


def test_a_declaration_with_a_long_number_is_one_short_error() -> None:
    pool = {"name": "chat", "gpu": "L4", "nodes": {"min": 0, "max": LONG}}
    (found,) = [one for one in parse({"pools": [pool]}).findings if one.path.endswith("max")]
    assert (found.code, found.path) == ("spec-value-out-of-range", "pools[0].nodes.max")
    assert found.message == "a number of 5000 digits is found, and at most 19 are allowed"
    assert found.fix == "write a smaller number"
