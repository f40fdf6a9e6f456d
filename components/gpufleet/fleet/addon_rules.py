"""Findings about the add-ons of a fleet, before anything is made."""

from collections.abc import Iterator, Sequence

from gpufleet.catalogue import Catalogue
from gpufleet.contract.certificates import validate_certificates
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.device_plugin_rules import validate_device_plugin
from gpufleet.fleet.gpu_operator_rules import validate_gpu_operator
from gpufleet.fleet.hardened_rules import validate_hardened
from gpufleet.fleet.licence_rules import validate_licence
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.fleet.network_rules import validate_network_operator
from gpufleet.fleet.neuron import validate_neuron_addon
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)


def validate_addons(
    spec: FleetSpec,
    platform: PlatformValue,
    pools: Sequence[Pool],
    plan: AddonPlan,
    catalogue: Catalogue,
) -> list[Finding]:
    """All findings about the settings of the add-ons."""
    return [
        *validate_gpu_operator(spec, plan.gpu_operator),
        *validate_licence(spec, pools, plan.gpu_operator),
        *validate_network_operator(spec, pools, plan.network_operator),
        *validate_device_plugin(spec, pools, plan),
        *validate_neuron_addon(spec, pools),
        *validate_hardened(spec, pools, plan, catalogue),
        *_lifecycle_manager(spec, platform),
        *validate_certificates(spec.addons),
    ]


def _lifecycle_manager(spec: FleetSpec, platform: PlatformValue) -> Iterator[Finding]:
    """Settings of a manager of operators that the platform does not have."""
    addons = spec.addons
    declared = "olm" in addons.model_fields_set and addons.olm.model_fields_set
    if platform.facts.lifecycle_manager or not declared:
        return
    yield _finding("olm-not-on-platform", platform=spec.platform.value)
