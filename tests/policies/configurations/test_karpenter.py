"""`gpufleet check --as karpenter`: what we render passes, keys are upstream's, texts are whole."""

import json
from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.contract.programs.karpenter_machines import machines
from gpufleet.platforms.eks.karpenter_node_class import node_class
from gpufleet.platforms.eks.karpenter_objects import karpenter_name, node_overlay, node_pool
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.rules.rule import Verdict
from gpufleet_policies.configurations.kinds import validate_text
from tests.policies.configurations.karpenter_cases import pool, text
from tests.unit.render.fleets import eks, one

GATE = {"featureGates": {"NodeOverlay": True}}


def rendered(compiled: Any) -> str:
    """The objects of a pool, wired as the component would."""
    made = node_class(compiled, eks_shape(compiled), "ml", {}, karpenter_name(compiled))
    made["spec"] |= {
        "role": "nodes",
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
    }
    overlay = node_overlay(compiled)
    objects = [node_pool(compiled, eks_shape(compiled)), made, *([overlay] if overlay else [])]
    return "\n---\n".join(json.dumps(document) for document in objects)


OURS = {
    **{p.name: p for p in eks().pools if p.provisioner.value == "karpenter"},
    "efa": one(
        instanceTypes=["p5.48xlarge"], provisioner="karpenter", fabric="efa", zones=["us-east-1a"]
    ),
    "reserved": one(
        instanceTypes=["p4d.24xlarge"],
        provisioner="karpenter",
        capacity=[{"reserved": {"id": "cr-0123456789abcdef0", "zone": "us-east-1a"}}],
    ),
    "arm": one(instanceTypes=["g5g.xlarge"], provisioner="karpenter"),
}


@pytest.mark.parametrize("name", OURS)
def test_what_we_render_is_never_rejected(name: str) -> None:
    context = {**GATE, "environment": "dev"}
    validated = validate_text("karpenter", rendered(OURS[name]), context=context)
    codes = {finding.code for finding in validated.findings}
    assert validated.verdict is not Verdict.REJECT, [str(f) for f in validated.findings]
    assert codes <= {"karpenter-latest"}  # these pools name no release


def test_every_document_of_a_stream_and_every_item_of_a_list_is_judged() -> None:
    wrong = pool(limits=8)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [pool(), wrong]})
    paths = [
        [f.path for f in validate_text("karpenter", content).findings]
        for content in (text(wrong), text(pool(), wrong), listed)
    ]
    assert paths == [["spec.limits"], ["documents[1].spec.limits"], ["items[1].spec.limits"]]


@pytest.mark.parametrize(
    "content", ["", "[]", "1", "a: [", "spec: {}", "kind: NodePool\napiVersion: karpenter.sh/v1"]
)
def test_odd_texts_are_answered_and_never_accepted_in_silence(content: str) -> None:
    if content == "a: [":
        from gpufleet.documents.limits import UnreadableDocumentError

        with pytest.raises(UnreadableDocumentError):
            validate_text("karpenter", content)
        return
    assert validate_text("karpenter", content).verdict is Verdict.REJECT


def test_values_of_the_wrong_type_end_in_no_exception() -> None:
    for value in (None, 1, "text", [], {}, [None], [1], {"a": 1}):
        for key in ("limits", "disruption", "template", "weight"):
            validate_text("karpenter", text(pool(**{key: value})))
        requirement = {"key": "a", "operator": value, "values": value}
        assert validate_text("karpenter", text(pool(requirement))).verdict is Verdict.REJECT
        for key in ("requirements", "nodeClassRef"):
            broken = pool()
            broken["spec"]["template"]["spec"][key] = value
            validate_text("karpenter", text(broken))


def test_a_wrong_context_is_said() -> None:
    validated = validate_text("karpenter", text(pool()), context={"kubernetesVersion": "new"})
    assert [f.code for f in validated.findings] == ["context-value-invalid"]


NOT_IN_KARPENTER = {"p6e-gb300.36xlarge"}
"""Machine types that Karpenter's generated tables of 2026-07-11 do not have."""


def test_every_gpu_of_a_machine_of_aws_has_karpenters_name() -> None:
    for row in machines():
        gpu = load().gpu(row.accelerator.gpu)
        if row.name in NOT_IN_KARPENTER:
            continue
        assert gpu.karpenter_name, gpu.key
        assert "karpenter-aws-types" in {gpu.source.key, *gpu.source.also}, gpu.key
