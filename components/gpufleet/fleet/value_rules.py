"""Raw values of charts without typed settings: findings of their release."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.catalogue import Catalogue
from gpufleet.contract.declared_site import ADDONS, declared_program, declared_site
from gpufleet.findings import Finding, Severity
from gpufleet.spec.fleet_spec import FleetSpec

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
    for finding in kinds[field].validate(GoDocument(values), site).findings:
        if finding.severity is not Severity.INFO and finding.code not in _ELSEWHERE:
            yield replace(finding, path=f"{place}.values.{finding.path}".rstrip("."))
