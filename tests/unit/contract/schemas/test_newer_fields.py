"""Fields by minor version, as `types.go` of k8s.io/api v0.31.14 to v0.36.3 has them: read field by
field, not from the catalogue."""

from typing import Any

import pytest

from gpufleet.contract.schemas.newer_fields import newer_fields, newer_problems


def pod(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def container(**fields: Any) -> list[dict[str, Any]]:
    return [{"name": "a", "image": "b", **fields}]


def deployment(document: dict[str, Any]) -> dict[str, Any]:
    template = {"metadata": {}, "spec": document["spec"]}
    spec = {"selector": {"matchLabels": {}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


CLAIM = {
    "apiVersion": "resource.k8s.io/v1beta1",
    "kind": "ResourceClaim",
    "metadata": {"name": "a"},
    "spec": {"devices": {"requests": [{"name": "gpu", "firstAvailable": []}]}},
}


@pytest.mark.parametrize(
    ("document", "path", "since"),
    [
        (pod(resources={"limits": {"cpu": 1}}), "spec.resources", (1, 32)),
        (
            pod(containers=container(lifecycle={"stopSignal": "SIGUSR1"})),
            "spec.containers[0].lifecycle.stopSignal",
            (1, 33),
        ),
        (pod(hostnameOverride="a"), "spec.hostnameOverride", (1, 34)),
        (
            pod(containers=container(restartPolicyRules=[])),
            "spec.containers[0].restartPolicyRules",
            (1, 34),
        ),
        (
            pod(initContainers=container(restartPolicy="Never")),
            "spec.initContainers[0].restartPolicy",
            (1, 34),
        ),
        (
            pod(tolerations=[{"key": "a", "operator": "Gt"}]),
            "spec.tolerations[0].operator",
            (1, 35),
        ),
        (CLAIM, "spec.devices.requests[0].firstAvailable", (1, 33)),
    ],
)
def test_the_version_that_a_field_came_with(
    document: dict[str, Any], path: str, since: tuple[int, int]
) -> None:
    older = (since[0], since[1] - 1)
    assert [one.path for one in newer_problems(document, older)] == [path]
    assert list(newer_problems(document, since)) == []
    if document["kind"] == "Pod":
        (found,) = newer_problems(deployment(document), older)
        assert found.path == f"spec.template.{path}"
        assert f"came with Kubernetes {since[0]}.{since[1]}" in found.message


@pytest.mark.parametrize(
    "document",
    [
        pod(initContainers=container(restartPolicy="Always")),  # before 1.31
        pod(resourceClaims=[{"name": "a", "resourceClaimName": "b"}]),
        pod(resources=None),
        {**CLAIM, "apiVersion": "example.com/v1"},
        "text",
    ],
)
def test_older_fields_and_other_kinds_are_not_reported(document: Any) -> None:
    assert newer_fields(document) == ()
