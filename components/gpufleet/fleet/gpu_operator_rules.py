"""Values that NVIDIA's chart and definitions would refuse or silently drop.

The rules are those of `gpufleet check --as gpu-operator-values`, applied to typed settings and raw
values together.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.contract.declared_site import problems, site_of
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, Severity, findings_in
from gpufleet.fleet.chart_values import Values, merged
from gpufleet.fleet.gpu_operator_chart import operator_values, planned_settings
from gpufleet.fleet.model import OperatorPlan
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gpu_operator_keys import CHART_KEYS, declared_path, typed_settings

_finding = findings_in(__file__)

ADDON = "addons.gpuOperator"
_CONTRACT = frozenset(
    {
        "gpu-operator-precompiled-extras",
        "gpu-operator-gds-proprietary",
        "gpu-operator-nfd-twice",
        "gpu-operator-dra-too",
        "gpu-operator-reset-needed",
    }
)
"""Codes of the contract check about the whole cluster, which has the chain of facts."""


def validate_gpu_operator(spec: FleetSpec, plan: OperatorPlan) -> Iterator[Finding]:
    """Findings about the values of the GPU Operator; none if gpufleet does not install it."""
    declared = spec.addons.gpu_operator
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    settings = planned_settings(spec.addons, plan)
    typed = (
        (declared_path(field), key, value)
        for field, key, value in typed_settings(declared, written=True)
        if not key.endswith(".env")
    )
    yield from validate_contradictions(typed, declared.values, ADDON)
    values = merged(operator_values(settings), declared.values)
    yield from validate_values(values, declared.values, declared.version)
    yield from _names_of_ours(declared.values)
    if declared.gpu_cluster:
        yield from _not_in_a_gpu_cluster(spec)
    workload = value_at(values, "sandboxWorkloads.defaultWorkload")
    if value_at(values, "sandboxWorkloads.enabled") is True and workload not in (None, "container"):
        path = _declared_at("sandboxWorkloads.defaultWorkload", declared.values)
        yield _finding("pools-for-virtual-machines", path, found=workload)


def _not_in_a_gpu_cluster(spec: FleetSpec) -> Iterator[Finding]:
    """Settings of the DRA driver's own chart, which is not installed."""
    driver = spec.addons.dra_driver
    settings: dict[str, object] = {
        "addons.draDriver.hostManagedImex": driver.host_managed_imex,
        "addons.draDriver.values": driver.values,
        "addons.draDriver.version": driver.version,
    }
    for index, pool in enumerate(spec.pools):
        dra = pool.sharing.dra
        place = f"pools[{index}].sharing.dra.consumableShares"
        settings[place] = None if dra is None else dra.consumable_shares
    for place, value in settings.items():
        if value:
            yield _finding("gpu-cluster-has-no-setting", place)


def validate_values(
    values: Values, raw: Mapping[str, Any], version: str | None
) -> Iterator[Finding]:
    """Findings of the chart and its definitions about final values, by place of declaration.

    The known keys are those of one release: with another `version` an unknown key may be valid and
        is only a warning.
    """
    # Only a few fleets have raw values here; the module loads much data, so it is imported late.
    from gpufleet.catalogue.features import numbers
    from gpufleet.contract.programs import gpu_operator_values
    from gpufleet.contract.schemas.chart_values import values_release
    from gpufleet.documents.document import GoDocument

    context = site_of("gpu-operator", version, ADDON, values)
    reader = context.release_of("gpu-operator")
    other_chart = reader.numbers != numbers(values_release("gpu-operator"))
    validated = gpu_operator_values.validate(GoDocument(values), context)
    for finding in problems(validated.findings, _CONTRACT):
        weight = finding.severity
        if other_chart and finding.code.startswith("gpu-operator-key"):
            weight = Severity.WARNING
        yield replace(finding, path=_declared_at(finding.path, raw), severity=weight)


def _declared_at(key: str, raw: Mapping[str, Any]) -> str:
    """Path in the declaration from which this key of the values comes."""
    if value_at(raw, key) is None:
        for field, chart_key in CHART_KEYS.items():
            if chart_key == key:
                return f"{ADDON}.{declared_path(field)}"
    return f"{ADDON}.values.{key}"


def _names_of_ours(raw: Mapping[str, Any]) -> Iterator[Finding]:
    """The ConfigMaps of layouts and sharing are rendered from the pools; another one would lack the
    configurations that the nodes' labels name."""
    for section in ("devicePlugin", "migManager"):
        for word in ("name", "create", "data"):
            key = f"{section}.config.{word}"
            if value_at(raw, key):
                yield _finding(
                    "config-map-of-pools-replaced/operator",
                    f"{ADDON}.values.{key}",
                    section=section,
                )


# Findings about raw Helm values that contradict typed settings.


def validate_contradictions(
    typed: Iterable[tuple[str, str, Any]], raw: Mapping[str, Any], addon: str
) -> Iterator[Finding]:
    """Raw values that differ from a typed setting (field path, key, value)."""
    for field, key, value in typed:
        found = value_at(raw, key)
        if found is None or found == value:
            continue
        yield _finding(
            "raw-value-beats-typed",
            f"{addon}.values.{key}",
            addon=addon,
            key=key,
            raw=_shown(found),
            field=field,
            typed=_shown(value),
        )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else type(value).__name__
