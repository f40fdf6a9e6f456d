"""Repair of nodes: what is refused, and what platforms and NVSentinel are given."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpufleet.contract.health import MANAGED_LABEL, NVSENTINEL
from gpufleet.documents.paths import value_at
from gpufleet.documents.reading import read_strict
from gpufleet.fleet.explained import contract_of
from gpufleet.fleet.model import Fleet
from gpufleet.platforms.compiled import Compiled, compile_data
from gpufleet.platforms.eks.karpenter_values import needed_gates
from gpufleet.platforms.eks.node_repair_rules import observed, repair_config
from gpufleet.platforms.gke.shape import wanted_repair
from gpufleet.platforms.openshift.machine_set_manifest import health_check
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.render.artefacts import artefacts, nvsentinel_values
from gpufleet.spec.platforms.gke import GkeOptions
from tests.unit.contract.fleets import declaration, one, validated
from tests.unit.render.test_openshift import MACHINE

L4 = {"name": "chat", "gpu": "L4", "nodes": {"min": 5, "max": 10}}
H100 = {"name": "train", "instanceTypes": ["p5.48xlarge"], "nodes": {"min": 4, "max": 4}}
KARPENTER = {"provisioner": "karpenter"}
SHARE = {"mode": "repair", "floor": {"percent": 80}}
KEPT = {"mode": "repair", "floor": {"asPlatform": True}}
SENTINEL = {"mode": "repair", "by": "nvsentinel", "floor": {"nodes": 2}}
DCGM = {"gpuOperator": {"dcgm": {"enabled": True}}}


def found(compiled: Compiled) -> set[str]:
    return {one.code for one in compiled.findings if "health" in one.code or "mig" in one.code}


def fleet_of(platform: str, *pools: Mapping[str, Any], **addons: Any) -> Fleet:
    compiled = validated(platform, *(dict(pool) for pool in pools), **addons)
    assert compiled.fleet is not None, compiled.findings
    assert not found(compiled), compiled.findings
    return compiled.fleet


@pytest.mark.parametrize(
    ("platform", "pool", "health", "code", "words"),
    [
        ("eks", L4, {"mode": "repair"}, "health-without-floor", "false fault report can take all"),
        ("eks", L4, {"mode": "fence"}, "health-without-floor", "minimum number of healthy nodes"),
        (
            "eks",
            L4,
            {"mode": "repair", "floor": {"nodes": 5}},
            "health-floor-above-minimum",
            "may have 5 nodes, and with a floor of 5 no node",
        ),
        (
            "eks",
            {**L4, "nodes": {"min": 0, "max": 4}},
            SHARE,
            "health-floor-allows-nothing",
            "it has at most 4",
        ),
        (
            "eks",
            L4,
            {**SHARE, "atOnce": 3},
            "health-at-once-above-floor",
            "lets 2 of 10 nodes",
        ),
        (
            "eks",
            L4,
            {"mode": "fence", "by": "platform", "floor": {"nodes": 1}},
            "health-not-on-platform",
            "EKS has no program that keeps pods off",
        ),
        ("existing", {**L4, "gpusPerNode": 1}, KEPT, "health-not-on-platform", "repairs nodes"),
        (
            "eks",
            {**L4, **KARPENTER},
            {"mode": "repair", "floor": {"percent": 85}},
            "health-limit-not-kept",
            "node repair takes up to 1 of the 5 nodes of chat",
        ),
        (
            "eks",
            {**L4, **KARPENTER},
            {**KEPT, "atOnce": 1},
            "health-limit-not-kept",
            "node repair takes up to 2 of the 10 nodes of chat",
        ),
        ("gke", L4, SHARE, "health-limit-not-kept", "is not documented and cannot be set"),
        (
            "eks",
            {**L4, "provisioner": "autoMode"},
            {"mode": "observe"},
            "health-platform-decides",
            "EKS Auto Mode always repairs",
        ),
        (
            "eks",
            {**L4, "provisioner": "autoMode"},
            SENTINEL,
            "health-two-janitors",
            "NVSentinel would act on the same nodes",
        ),
        ("eks", L4, SENTINEL, "health-without-dcgm", "nvidia-dcgm"),
        ("gke", L4, SENTINEL, "health-without-dcgm", "no DCGM runs on nodes of chat"),
        (
            "eks",
            {**H100, "sharing": {"mig": {"layouts": [{"devices": {"1g.10gb": 7}}]}}},
            KEPT,
            "node-repair-blind-with-mig",
            "no error of a GPU",
        ),
        (
            "eks",
            {**L4, "eks": {"nodeRepair": True}},
            SHARE,
            "health-declared-twice",
            "eks.nodeRepair and `health`",
        ),
        (
            "eks",
            {**L4, "eks": {"nodeGroup": {"nodeRepairConfig": {"enabled": False}}}},
            SHARE,
            "health-declared-twice",
            "eks.nodeGroup.nodeRepairConfig and `health`",
        ),
        (
            "gke",
            {**L4, "gke": {"nodePool": {"management": {"autoRepair": False}}}},
            KEPT,
            "health-declared-twice",
            "gke.nodePool.management.autoRepair and `health`",
        ),
        (
            "gke",
            {**L4, "capacity": [{"flexStart": {}}], "nodes": {"min": 0, "max": 4}},
            KEPT,
            "gke-auto-repair-with-flex-start",
            "GKE refuses",
        ),
    ],
)
def test_each_is_refused(
    platform: str, pool: dict[str, Any], health: dict[str, Any], code: str, words: str
) -> None:
    finding = one(validated(platform, {**pool, "health": health}), code)
    assert words in finding.message
    assert finding.fix
    assert finding.severity.value == "error"


def test_two_of_one_node_are_refused() -> None:
    """Karpenter's gate is for all its pools; Neuron's chart repairs what the group repairs."""
    pools = [
        {**L4, **KARPENTER, "health": SENTINEL},
        {**L4, **KARPENTER, "name": "other", "health": KEPT},
    ]
    assert (
        "applies to all its pools"
        in one(validated("eks", *pools, **DCGM), "health-two-janitors").message
    )
    neuron = {"name": "n", "instanceTypes": ["trn1.32xlarge"], "nodes": {"min": 2, "max": 4}}
    compiled = validated(
        "eks", {**neuron, "health": KEPT}, neuronDevicePlugin={"nodeRecovery": True}
    )
    assert "node recovery of Neuron's chart" in one(compiled, "health-two-janitors").message


def test_modes_of_nvsentinel_are_for_the_cluster() -> None:
    fence = {**L4, "name": "other", "health": {**SENTINEL, "mode": "fence"}}
    compiled = validated("eks", {**L4, "health": SENTINEL}, fence, **DCGM)
    assert one(compiled, "health-nvsentinel-two-modes").path == "pools[1].health.mode"
    train = {**H100, "intent": "training", "health": SENTINEL}
    mixed = validated("eks", {**L4, "health": SENTINEL}, train, **DCGM)
    assert "servers of chat never end" in one(mixed, "health-servers-never-drain").message


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        (
            {**SHARE, "atOnce": 1},
            {"maxUnhealthyNodeThresholdPercentage": 20, "maxParallelNodesRepairedCount": 1},
        ),
        ({"mode": "repair", "floor": {"nodes": 3}}, {"maxUnhealthyNodeThresholdCount": 2}),
        (
            {"mode": "repair", "floor": {"nodes": 3}, "atOnce": 1},
            {"maxUnhealthyNodeThresholdCount": 2, "maxParallelNodesRepairedCount": 1},
        ),
        ({"mode": "repair", "floor": {"nodes": 0}}, {"maxUnhealthyNodeThresholdCount": 10}),
        (KEPT, {}),
    ],
)
def test_a_node_group_stops_at_the_floor(health: dict[str, Any], expected: dict[str, Any]) -> None:
    pool = fleet_of("eks", {**L4, "health": health}).pools[0]
    assert repair_config(pool) == {"enabled": True, **expected}
    watching = fleet_of("eks", {**L4, "health": {"mode": "observe"}}).pools[0]
    assert repair_config(watching) == {"enabled": False}
    assert observed(watching)
    other = fleet_of("eks", {**L4, "health": SENTINEL}, **DCGM).pools[0]
    assert repair_config(other) == {"enabled": False}
    assert not observed(other)


def test_karpenter_and_gke_are_switched() -> None:
    for health, on in ((KEPT, True), ({"mode": "observe"}, False)):
        pools = fleet_of("eks", {**L4, **KARPENTER, "health": health}).pools
        assert needed_gates(pools).node_repair is on
        assert wanted_repair(fleet_of("gke", {**L4, "health": health}).pools[0], GkeOptions()) is on


@pytest.mark.parametrize(
    ("health", "limit"),
    [
        (SHARE, "20%"),
        ({"mode": "repair", "floor": {"percent": 60}, "atOnce": 1}, 1),
        ({"mode": "repair", "floor": {"nodes": 3}}, 2),
        (KEPT, 4),
        ({"mode": "observe"}, None),
    ],
)
def test_a_machine_health_check_stops_at_the_floor(
    health: dict[str, Any], limit: int | str | None
) -> None:
    pool = {**L4, "openshift": MACHINE, "gpusPerNode": 1, "health": health}
    check = health_check(fleet_of("openshift", pool).pools[0], "ml")
    assert (None if check is None else check["spec"]["maxUnhealthy"]) == limit


def test_the_default_of_the_fleet_counts() -> None:
    declared = declaration("eks", dict(L4), dict(H100), **DCGM)
    declared["health"] = SENTINEL
    declared["pools"][1]["health"] = {"mode": "observe"}
    fleet = compile_data(declared).fleet
    assert fleet is not None
    chat, train = fleet.pools
    assert chat.health is not None
    assert chat.health.nvsentinel_acts
    assert MANAGED_LABEL not in chat.labels
    assert train.labels[MANAGED_LABEL] == "false"


def test_nvsentinel_is_staged() -> None:
    """Modules by mode; the strictest pool decides the number of nodes in the cluster."""
    stages = {}
    for mode in ("observe", "fence", "repair"):
        fleet = fleet_of("eks", {**L4, "health": {**SENTINEL, "mode": mode}}, **DCGM)
        values = nvsentinel_values(fleet)
        assert values is not None
        stages[mode] = {k for k, v in values["global"].items() if v == {"enabled": True}}
    monitors = {"gpuHealthMonitor", "syslogHealthMonitor", "labeler"}
    assert stages["observe"] == monitors
    assert stages["fence"] == {*monitors, "mongodbStore", "faultQuarantine"}
    assert stages["repair"] - stages["fence"] == {
        *("nodeDrainer", "faultRemediation", "janitor", "janitorProvider")
    }
    two = fleet_of(
        "eks",
        {**L4, "health": SENTINEL},
        {**L4, "name": "b", "health": {**SENTINEL, "atOnce": 1}},
        **DCGM,
    )
    values = nvsentinel_values(two)
    assert values is not None
    assert values["fault-quarantine"]["circuitBreaker"]["maxNodes"] == 1
    assert values["janitor-provider"]["csp"]["provider"] == "aws"
    assert values["node-drainer"]["userNamespaces"] == [{"name": "*", "mode": "DeleteAfterTimeout"}]
    (file,) = [one for one in artefacts(two) if one.path == "values/nvsentinel.yaml"]
    assert "You install it, with cert-manager, and give it access" in file.text
    assert nvsentinel_values(fleet_of("eks", L4)) is None


def test_a_run_of_training_is_not_cut_off() -> None:
    train = {**H100, "intent": "training", "health": SENTINEL}
    values = nvsentinel_values(fleet_of("eks", train, **DCGM))
    assert values is not None
    assert values["node-drainer"]["userNamespaces"] == [{"name": "*", "mode": "AllowCompletion"}]


def test_values_are_those_of_the_chart() -> None:
    """Every key is one that the chart's files have, every part that gets values is installed, and
    every switch installs a part."""
    keys = read_strict((Path(__file__).parent / "nvsentinel_values.yaml").read_text()).data
    values = nvsentinel_values(fleet_of("eks", {**L4, "health": SENTINEL}, **DCGM))
    assert values is not None

    def unknown(given: Any, known: Any, place: str) -> list[str]:
        if not isinstance(given, dict) or not isinstance(known, dict):
            return []
        missing = [f"{place}.{key}" for key in given if key not in known]
        return missing + [
            path
            for key, value in given.items()
            if key in known
            for path in unknown(value, known[key], f"{place}.{key}")
        ]

    assert unknown(values, keys, "") == []
    chart = read_strict((Path(__file__).parent / "nvsentinel_chart.yaml").read_text()).data
    assert values["janitor-provider"]["csp"]["provider"] in chart["providers"]
    for part in values.keys() - {"global"}:
        assert value_at(values, chart["conditions"][part]) is True, part
    switches = {
        f"global.{key}.enabled" for key, one in values["global"].items() if "enabled" in one
    }
    assert switches <= set(chart["conditions"].values())


def test_explain_says_who_how_long_and_what_it_costs() -> None:
    fleet = fleet_of("eks", {**L4, "health": SHARE})
    terms = {term.part: term.who for term in contract_of(fleet.pools[0], fleet)}
    assert terms["repaired"].startswith("by EKS node auto repair")
    assert "10 minutes for a GPU" in terms["repaired"]
    assert terms["stays"] == "80 %: 2 of 10 nodes may be out"
    assert terms["node out"].startswith(f"{fleet.pools[0].hourly_usd:,.4f} USD/h")
    assert "the node monitoring agent" in terms["watched"]


def test_the_page_has_every_repairer() -> None:
    page = (Path(__file__).parents[3] / "docs" / "health.md").read_text()
    rows = [one for platform in PLATFORMS.values() for one in platform.facts.repairers.values()]
    for row in (*rows, NVSENTINEL):
        line = next(line for line in page.splitlines() if line.startswith(f"| {row.who} "))
        for text in (row.watches, row.repairs, row.cannot, row.after, row.keeps, row.source):
            assert text in line, (row.who, text)
