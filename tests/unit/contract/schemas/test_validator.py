"""Messages of the validator about an object, without any secret."""
# ruff: noqa: E501  # one case, one line

from typing import Any

import pytest

from gpufleet.catalogue.schemas import schema_kinds, schema_source
from gpufleet.contract.schemas.validator import has_schema, known_fields, schema_problems


def pod(**container: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "a", "image": "b", **container}]},
    }


def overlay(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay", "spec": spec}


def said(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one.kind.value, one.path) for one in schema_problems(document)]


@pytest.mark.parametrize(
    "container",
    [
        {},
        {"env": None},  # Kubernetes 1.36: null in a mapping is an absent field
        {"resources": {"limits": {"cpu": 0.5, "memory": "1Gi", "nvidia.com/gpu": 1}}},
        {"imagePullPolicy": ""},
        {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
        {"livenessProbe": {"httpGet": {"port": "http"}}},
    ],
)
def test_what_the_server_accepts_has_no_problem(container: dict[str, Any]) -> None:
    assert said(pod(**container)) == []


@pytest.mark.parametrize(
    ("container", "problem"),
    [
        ({"resource": {}}, ("unknown", "spec.containers[0].resource")),
        ({"livenessProbe": {"exec": {}, "periodSecond": 5}}, ("unknown", "spec.containers[0].livenessProbe.periodSecond")),
        ({"imagePullPolicy": "Allways"}, ("choice", "spec.containers[0].imagePullPolicy")),
        ({"env": [{"name": "A", "value": 1}]}, ("type", "spec.containers[0].env[0].value")),
        ({"resources": {"limits": {"cpu": "1Gib"}}}, ("pattern", "spec.containers[0].resources.limits.cpu")),
        ({"stdin": "true"}, ("type", "spec.containers[0].stdin")),
        ({"ports": [{"containerPort": 1 << 31}]}, ("bound", "spec.containers[0].ports[0].containerPort")),
        ({"ports": [{}]}, ("required", "spec.containers[0].ports[0].containerPort")),
    ],
)  # fmt: skip
def test_what_the_server_refuses_is_a_problem(
    container: dict[str, Any], problem: tuple[str, str]
) -> None:
    assert said(pod(**container)) == [problem]


def test_metadata_and_the_top_are_validated_too() -> None:
    wrong = {**pod(), "metadata": {"name": "a", "lables": {}}, "sepc": {}}
    assert said(wrong) == [("unknown", "metadata.lables"), ("unknown", "sepc")]
    labels, spec = schema_problems(wrong)
    assert labels.fix == "write `labels`"
    assert spec.fix == "write `spec`"


def test_a_key_of_digits_is_no_index() -> None:
    limits = {"limits": {"0": False}}
    pod = {"containers": [{"name": "main", "image": "app:1.0", "resources": limits}]}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"}, "spec": pod}
    (problem,) = schema_problems(document)
    assert problem.path == 'spec.containers[0].resources.limits["0"]'


def test_fields_of_an_object_that_has_none_are_named() -> None:
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "spec": {
            "mlPolicy": {"torch": {"numProcPerNode": "auto", "a": 1}},
            "template": {"spec": {}},
        },
    }
    assert said(runtime) == [
        ("unknown", "spec.mlPolicy.torch.a"),
        ("unknown", "spec.mlPolicy.torch.numProcPerNode"),
    ]


def test_a_condition_of_lists_of_custom_resources_is_validated() -> None:
    policy = {
        "apiVersion": "sriovnetwork.openshift.io/v1",
        "kind": "SriovNetworkPoolConfig",
        "spec": {"maxUnavailable": True},
    }
    assert said(policy) == [("type", "spec.maxUnavailable")]


@pytest.mark.parametrize(
    "document",
    [
        {"apiVersion": "v1", "kind": "Secret", "data": {"a": "s3cr3t!"}},
        {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": 271828}},
        pod(env=[{"name": "HF_TOKEN", "value": 271828}]),
        pod(imagePullPolicy="hf_abcdefghijklmnopqrstuvwxyz"),
    ],
)
def test_no_message_repeats_what_may_be_a_secret(document: dict[str, Any]) -> None:
    (problem,) = schema_problems(document)
    text = f"{problem.message} {problem.fix} {problem.value}"
    for secret in ("s3cr3t", "271828", "hf_abc"):
        assert secret not in text


def test_every_kind_compiles_and_has_a_source() -> None:
    for version, kinds in schema_kinds().items():
        for kind in kinds:
            assert has_schema(version, kind)
            source = schema_source(version, kind)
            assert source is not None
            assert source.release
            assert source.date
            schema_problems({"apiVersion": version, "kind": kind})
    assert not has_schema("apps/v1beta1", "Deployment")
    assert "driver" in known_fields("nvidia.com/v1", "ClusterPolicy", "spec")


def test_odd_values_end_in_no_exception() -> None:
    for value in (None, 1, 1.5, 1 << 70, -(1 << 70), "text", [], {}, [None], {"a": None}, True):
        schema_problems(overlay(weight=value, requirements=[value], capacity={"a": value}))
