"""Numbers that the API server refuses whatever the definition says."""

from typing import Any

import pytest

from gpufleet.contract.schemas import schema_problems


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


@pytest.mark.parametrize("amount", [0, 1, "1", "1e3", "-0", "9" * 5000])
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
