"""Taints of pools and tolerations of what must run there."""

from typing import Any

import pytest

from gpufleet.cluster.pods import PodToleration
from gpufleet.contract.tolerations import needed
from gpufleet.findings import Severity
from gpufleet.fleet.gpu_operator_chart import operator_values
from gpufleet.render.gpu_operator_values import fleet_operator_settings
from tests.reading import yaml_data
from tests.unit.contract.fleets import codes, one, validated

TAINTED = {
    "name": "chat",
    "gpu": "L4",
    "taints": [
        {"key": "team", "value": "ml"},
        {"key": "maintenance", "effect": "NoExecute"},
        {"key": "soft", "effect": "PreferNoSchedule"},
    ],
}


def test_only_taints_that_keep_pods_away_need_a_toleration():
    taints = [("nvidia.com/gpu", "NoSchedule"), ("a", "PreferNoSchedule")]
    assert needed(taints) == ()
    assert needed([("a", "NoExecute"), ("a", "NoExecute")]) == (
        PodToleration("a", "Exists", "NoExecute"),
    )


def test_the_operator_is_told_to_tolerate_the_pools_taints():
    compiled = validated("eks", TAINTED)
    assert compiled.deployable
    assert compiled.fleet is not None
    values = operator_values(fleet_operator_settings(compiled.fleet))
    wanted = [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"operator": "Exists", "key": "maintenance", "effect": "NoExecute"},
        {"operator": "Exists", "key": "team", "effect": "NoSchedule"},
    ]
    assert values["daemonsets"]["tolerations"] == wanted
    assert values["node-feature-discovery"]["worker"]["tolerations"][1:] == wanted
    plain = validated("eks", {"name": "chat", "gpu": "L4"}).fleet
    assert plain is not None
    assert "daemonsets" not in operator_values(fleet_operator_settings(plain))


def test_raw_values_that_replace_the_list_must_cover_it():
    listed = yaml_data("[{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]")
    compiled = validated(
        "eks", TAINTED, gpuOperator={"values": {"daemonsets": {"tolerations": listed}}}
    )
    found = one(compiled, "operands-do-not-tolerate")
    assert found.path == "addons.gpuOperator.values.daemonsets.tolerations"
    missing: Any = found.evidence["missing"]
    assert [m["key"] for m in missing] == ["maintenance", "team"]
    everything = {"daemonsets": {"tolerations": [{"operator": "Exists"}]}}
    assert codes(validated("eks", TAINTED, gpuOperator={"values": everything})) == set()


def test_an_operator_of_somebody_else_is_asked_about():
    compiled = validated("eks", TAINTED, gpuOperator={"ownership": "existing"})
    assert codes(compiled) == set()
    assert "operands-may-not-tolerate" in codes(compiled, Severity.WARNING)


def test_nodes_without_the_gpu_taint():
    compiled = validated("eks", {"name": "chat", "gpu": "L4", "gpuTaint": False})
    assert compiled.fleet is not None
    assert compiled.fleet.pools[0].taints == ()


@pytest.mark.parametrize(
    ("toleration", "covers"),
    [
        ({"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}, True),
        ({"key": "team", "value": "ml"}, True),
        ({"key": "team", "operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "team", "operator": "Equal", "value": "web", "effect": "NoSchedule"}, False),
        ({"key": "team"}, False),
        ({"key": "team", "value": "ml", "effect": "NoExecute"}, False),
    ],
)
def test_a_toleration_covers_a_taint_as_kubernetes_says(
    toleration: dict[str, str], covers: bool
) -> None:
    """kubernetes `staging/src/k8s.io/api/core/v1/toleration_test.go`."""
    pool = {**TAINTED, "taints": [{"key": "team", "value": "ml"}]}
    given = [{"key": "nvidia.com/gpu", "operator": "Exists"}, toleration]
    values = {
        "daemonsets": {"tolerations": given},
        "node-feature-discovery": {"worker": {"tolerations": given}},
    }
    found = codes(validated("eks", pool, gpuOperator={"values": values}))
    assert ("operands-do-not-tolerate" not in found) is covers
