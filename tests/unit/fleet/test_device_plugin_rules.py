"""The device plugin's own chart next to everything else that advertises GPUs."""

from typing import Any

import pytest

from gpufleet.platforms.compiled import compile_data

MIG = {"mig": {"layouts": [{"devices": {"3g.40gb": 2}}]}}


def compiled(addons: dict[str, Any], sharing: Any = None, **more: Any) -> Any:
    pool = {"name": "p", "instanceTypes": ["p4de.24xlarge"], "nodes": {"min": 1, "max": 1}}
    if sharing:
        pool["sharing"] = sharing
    return compile_data(
        {
            "catalogue": "2026.11",
            "platform": "sandbox",
            "cluster": {"name": "c"},
            "pools": [pool],
            "addons": {"devicePlugin": {"enabled": True}, **addons},
            **more,
        }
    )


def codes(result: Any) -> set[str]:
    return {f.code for f in result.findings if f.severity.value != "info"}


@pytest.mark.parametrize(
    ("addons", "sharing", "code"),
    [
        ({}, None, None),
        ({}, {"timeSlicing": {"replicas": 2}}, None),
        ({"gpuOperator": {"devicePlugin": {"enabled": True}}}, None, "two-advertisers"),
        (
            {"gpuOperator": {"values": {"devicePlugin": {"enabled": True}}}},
            None,
            "two-advertisers",
        ),
        ({"gpuOperator": {"ownership": "existing"}}, None, "two-advertisers"),
        ({}, MIG, "plugin-not-restarted-by-mig-manager"),
        ({"gpuOperator": {"enabled": False}}, MIG, "mig-applied-by-nobody"),
        (
            {"devicePlugin": {"enabled": True, "values": {"migStrtegy": "mixed"}}},
            None,
            "config-key-misspelt",
        ),
        (
            {"devicePlugin": {"enabled": True, "values": {"config": {"name": "mine"}}}},
            None,
            "config-map-of-pools-replaced",
        ),
        (
            {"devicePlugin": {"enabled": True, "gpuFeatureDiscovery": {"enabled": False}}},
            {"mps": {"replicas": 2}},
            "mps-needs-feature-discovery",
        ),
        ({}, {"dra": {}}, "device-plugin-serves-nothing"),
    ],
)
def test_rules(addons: dict[str, Any], sharing: Any, code: str | None) -> None:
    found = codes(compiled(addons, sharing))
    assert (code in found) if code else found == set(), found


def test_the_operator_stays_away_where_nothing_is_left_for_it() -> None:
    plan = compiled({}).fleet.addons
    assert plan.gpu_operator.enabled is False
    assert plan.device_plugin.pools == ("p",)
    assert plan.device_plugin.node_feature_discovery is True


def test_with_mig_the_operator_cuts_and_the_chart_advertises() -> None:
    plan = compiled({}, MIG).fleet.addons
    assert (plan.gpu_operator.enabled, plan.gpu_operator.device_plugin) == (True, False)
    assert plan.gpu_operator.mig_manager is True
    assert plan.device_plugin.mig_strategy == "mixed"
    # Node Feature Discovery once: the operator's.
    assert plan.gpu_operator.node_feature_discovery is True
    assert plan.device_plugin.node_feature_discovery is False


def test_two_discoveries_are_refused() -> None:
    addons = {"devicePlugin": {"enabled": True, "nodeFeatureDiscovery": {"enabled": True}}}
    assert "node-feature-discovery-twice" in codes(compiled(addons, MIG))
    assert "node-feature-discovery-twice" not in codes(compiled(addons))
