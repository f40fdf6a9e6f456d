"""The kind of a document follows from its group and kind, or its keys."""

import pytest

from gpufleet.documents.reading import read_go_stream
from gpufleet_policies.configurations.kinds import KINDS, validate_objects
from gpufleet_policies.configurations.recognition import OBJECTS, kind_of
from tests.policies.configurations.case_rows import FINE
from tests.policies.configurations.karpenter_cases import node_class, pool


@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if not kind.endswith("-values") and kind != "kubernetes-object"],
)
def test_a_document_of_each_kind_is_recognised(kind: str) -> None:
    kinds = {kind_of(one.data) for one in read_go_stream(FINE[kind]) if isinstance(one.data, dict)}
    assert kinds - {None} == {kind}
    assert set(OBJECTS.values()) <= set(KINDS)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"version": "v1", "flags": {"beta": True}},
        {"version": "v1", "resources": {"cpu": 1}},
        {"sharing": {"enabled": True}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "sharing: nothing"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "{{ mig-configs"}},
        {"apiVersion": "example.com/v1", "kind": "ClusterPolicy"},
    ],
    ids=str,
)
def test_what_only_looks_like_one_is_left_alone(document: dict) -> None:
    assert kind_of(document) is None


def test_a_config_map_is_of_the_kind_of_its_value() -> None:
    texts = {"readme": "nothing", "config.yaml": "version: v1\nmig-configs: {}\n"}
    assert kind_of({"apiVersion": "v1", "kind": "ConfigMap", "data": texts}) == "mig-parted"


def test_objects_of_several_files_are_validated_together() -> None:
    efa = [
        {"networkCardIndex": card, "deviceIndex": card, "interfaceType": kind}
        for card, kind in enumerate(("interface", "efa-only"))
    ]
    of_class, of_pool = validate_objects("karpenter", [node_class(networkInterfaces=efa), pool()])
    assert [one.code for one in of_class] == []
    assert {one.code: one.path for one in of_pool} == {
        "karpenter-zones-with-efa": "spec.template.spec.requirements",
        "karpenter-too-many-efa": "spec.template.spec.requirements",
    }
