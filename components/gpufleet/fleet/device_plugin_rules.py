"""Findings about the standalone device plugin and other components that advertise GPUs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.contract.declared_site import (
    ADDONS,
    declared_program,
    declared_site,
    problems,
    site_of,
)
from gpufleet.contract.operator_values import switch
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec

_finding, _rules = findings_in(__file__), rules_in(__file__)

ADDON = "addons.devicePlugin"
"""Keys of the chart 0.20.0 (NVIDIA/k8s-device-plugin v0.20.0, read 2026-11-21)."""


def validate_device_plugin(
    spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan
) -> Iterator[Finding]:
    """Findings about the chart nvidia-device-plugin; none if it is off."""
    plugin = plan.device_plugin
    if not plugin.enabled:
        return
    yield from validate_keys(spec.addons.device_plugin.values, spec.addons.device_plugin.version)
    yield from _operators(spec)
    operator = plan.gpu_operator
    cut = [p for p in pools if p.name in plugin.pools and p.partition.mig_enabled]
    names = [p.name for p in cut]
    if cut and not (operator.enabled and operator.mig_manager):
        yield _finding("mig-applied-by-nobody", cut[0].path, pools=names)
    yield from _rules("device-plugin", ADDON, spec=spec, plugin=plugin, pools=pools)
    if cut and operator.mig_manager:
        # mig-manager stops and starts the operator's operands by their node labels; this chart's
        # pods have no such label, so its plugin keeps advertising the old devices (mig-parted
        # v0.15.0).
        yield _finding("plugin-not-restarted-by-mig-manager", ADDON, pools=names)
    yield from _discovery_twice(plan)


def _operators(spec: FleetSpec) -> Iterator[Finding]:
    asked, path = switch(spec.addons.gpu_operator, "device_plugin", "devicePlugin")
    if asked is True:
        yield _finding("two-advertisers", path, addon=ADDON)
    if spec.addons.gpu_operator.ownership is Ownership.EXISTING and asked is not False:
        yield _finding("two-advertisers/existing", ADDON)


def validate_keys(raw: Mapping[str, Any], version: str | None) -> Iterator[Finding]:
    """Unknown keys and wrong types: the chart has no schema and drops them silently."""
    from gpufleet.contract.programs.chart_values import report_values
    from gpufleet.contract.programs.device_plugin import CHART
    from gpufleet.contract.programs.device_plugin_values import RULES
    from gpufleet.contract.programs.validation import CheckReport

    report = CheckReport(RULES)
    reader = site_of(CHART, version, ADDON).release_of(CHART)
    report_values(raw, reader, report, f"{ADDON}.values")
    yield from report.findings


def _discovery_twice(plan: AddonPlan) -> Iterator[Finding]:
    others = [
        name
        for name, one in (
            ("addons.gpuOperator", plan.gpu_operator),
            ("addons.networkOperator", plan.network_operator),
        )
        if one.enabled and one.node_feature_discovery
    ]
    if plan.device_plugin.node_feature_discovery and others:
        yield _finding("node-feature-discovery-twice", ADDON, others=others[0])


# Raw values of charts without typed settings: findings of their release.

_OURS: Mapping[str, Mapping[str, Any]] = {"dra_driver": {"gpuResourcesEnabledOverride": True}}
"""Values that are always sent, by field."""
_ELSEWHERE = frozenset({"dra-gates-conflict", "dra-consumable-shares-gate"})
"""Codes about the gates of pools and values together."""


def validate_raw_values(spec: FleetSpec, catalogue: Catalogue) -> Iterator[Finding]:
    """Keys, types and gates that the declared release of a chart does not have."""
    for field in ("dra_driver", "karpenter", "kueue", "keda"):
        addon = getattr(spec.addons, field)
        if not addon.values or addon.enabled is False:
            continue
        yield from _validated(spec, field, catalogue)


def _validated(spec: FleetSpec, field: str, catalogue: Catalogue) -> Iterator[Finding]:
    # Few declarations have raw values, and this module loads much data: it is imported late.
    from gpufleet.contract.programs import dra_chart, scaling_charts
    from gpufleet.documents.document import GoDocument

    kinds = {
        "dra_driver": dra_chart,
        "karpenter": scaling_charts.KARPENTER,
        "kueue": scaling_charts.KUEUE,
        "keda": scaling_charts.KEDA,
    }
    place, chart = ADDONS[field]
    addon = getattr(spec.addons, field)
    values = {**_OURS.get(field, {}), **addon.values}
    program = replace(declared_program(addon, place, chart), values=values)
    site = replace(declared_site(spec, catalogue), programs=(program,))
    for finding in problems(kinds[field].validate(GoDocument(values), site).findings, _ELSEWHERE):
        yield replace(finding, path=f"{place}.values.{finding.path}".rstrip("."))
