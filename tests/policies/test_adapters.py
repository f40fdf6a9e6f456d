"""Values as facts: unknown ones, quantities, intent, node labels."""

from decimal import Decimal

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import UNKNOWN, Provenance, WorkloadFacts
from gpufleet_policies.readers.plain import SENTINELS, plain
from gpufleet_policies.readers.reading import amount
from gpufleet_policies.rules.model_memory import memory_need
from tests.policies.objects import (
    CONTAINER,
    changed,
    deployment,
    findings,
    from_pulumi_props,
    workload,
)
from tests.policies.objects import DEPLOYMENT as GOOD


@pytest.mark.parametrize("sentinel", sorted(SENTINELS))
def test_unknown_values_are_read_as_such(sentinel):
    document = {"a": {"b": [1.0, sentinel, {"c": sentinel}]}, "d": 2.5, "e": True}
    expected = {"a": {"b": [1, UNKNOWN, {"c": UNKNOWN}]}, "d": 2.5, "e": True}
    assert plain(document) == expected


def test_depth_is_bounded_and_cycles_end():
    loop: dict = {}
    loop["self"] = loop
    found = plain(loop)
    for _ in range(64):
        found = found["self"]
    assert found is UNKNOWN


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1", "1"),
        (1, "1"),
        (1.5, "1.5"),
        ("500m", "0.5"),
        ("1Gi", str(2**30)),
        ("1e3", "1000"),
        ("2k", "2000"),
        (" 3 ", "3"),
        (".5", "0.5"),
        ("1E", str(10**18)),
        ("+2", "2"),
    ],
)
def test_quantities(written, number):
    found = amount(written)
    assert found is not None
    assert found.number == Decimal(number)


@pytest.mark.parametrize("written", ["", "one", "1 Gi", "1gi", "$(N)", "1.2.3", True, None, [], {}])
def test_what_is_no_quantity(written):
    assert amount(written) is None


UNKNOWN_STRING = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


@pytest.mark.parametrize(
    "path",
    [
        "spec",
        "spec.template",
        "spec.template.spec",
        "spec.template.spec.containers",
        CONTAINER,
        f"{CONTAINER}.resources",
        f"{CONTAINER}.resources.requests",
        f"{CONTAINER}.resources.limits",
        f'{CONTAINER}.resources.limits."nvidia.com/gpu"',
        "spec.replicas",
        "metadata",
        "metadata.annotations",
        f"{CONTAINER}.command",
        'metadata.annotations."gpufleet.dev/model-params-b"',
        'metadata.annotations."gpufleet.dev/precision"',
        "spec.template.spec.nodeSelector",
        "spec.template.spec.affinity",
    ],
)
def test_an_unknown_value_is_never_a_violation(path):
    """From a workload that breaks five rules, unknown fields only take findings away."""
    broken = changed(
        GOOD,
        {
            'metadata.annotations."gpufleet.dev/model-params-b"': "1",
            f"{CONTAINER}.resources": {
                "requests": {"nvidia.com/gpu": 2},
                "limits": {"nvidia.com/gpu": 1},
            },
            f"{CONTAINER}.command": ["sleep", "infinity"],
            "spec.replicas": 40,
        },
    )
    before = {finding.code for finding in findings(workload(broken))}
    assert len(before) == 4
    raw = changed(broken, {path: UNKNOWN_STRING})
    found = from_pulumi_props("kubernetes:apps/v1:Deployment", raw, "n", "u")
    assert isinstance(found, WorkloadFacts)
    assert {finding.code for finding in findings(found)} < before | {"x"}


@pytest.mark.parametrize(
    ("words", "billions"),
    [
        (["--model", "meta-llama/Llama-3.1-8B"], "8"),
        (["--model=acme/secret-70b-instruct"], "70"),
        (["vllm serve mistralai/Mixtral-8x7B --port 80"], "46.7"),
        (["--model", "acme/moe-8x22b"], "176"),
        (["--model", "acme/qwen-30b-a3b"], "30"),
        (["--model", "acme/0.5b-chat"], "0.5"),
        (["--model", "acme/chat"], None),
        (["--port", "8000"], None),
    ],
)
def test_parameters_inferred_from_the_command_line(words, billions):
    found = deployment({f"{CONTAINER}.args": words}).intent.model_parameters_billion
    if billions is None:
        assert not found.is_known
        return
    assert found.provenance is Provenance.INFERRED
    assert abs(found.value - Decimal(billions)) < Decimal("0.3")


def test_declared_beats_inferred():
    changes = {
        f"{CONTAINER}.args": ["--model", "x/70b", "--quantization", "awq"],
        'metadata.annotations."gpufleet.dev/model-params-b"': "7",
    }
    need = memory_need(deployment(changes).intent, load())
    assert need is not None
    # The size is declared, its format only inferred: the verdict rests on the weaker one.
    assert need.provenance is Provenance.INFERRED
    assert need.because == "estimated for 7 B parameters in awq, inferred"


@pytest.mark.parametrize("bad", ["seven", "-1", "0", "nan", "inf", ""])
def test_bad_annotations_are_unknown_not_a_crash(bad):
    changes = {'metadata.annotations."gpufleet.dev/model-params-b"': bad}
    intent = deployment(changes).intent
    assert intent.model_parameters_billion.is_unknown
    assert memory_need(intent, load()) is None


def test_required_node_labels():
    def labels(*terms):
        affinity = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]
                }
            }
        }
        changes = {
            "spec.template.spec.affinity": affinity,
            "spec.template.spec.nodeSelector": {"a": "1"},
        }
        return deployment(changes).pod_groups[0].node_labels

    b = {"key": "b", "operator": "In", "values": ["2", "3"]}
    assert labels([b]) == {"a": frozenset("1"), "b": frozenset("23")}
    assert labels([b], [b]) == {"a": frozenset("1")}
    assert labels([{**b, "operator": "NotIn"}]) == {"a": frozenset("1")}
    assert labels([{**b, "key": "a"}]) == {"a": frozenset()}
