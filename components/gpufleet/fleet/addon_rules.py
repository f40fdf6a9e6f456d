"""Findings about the add-ons of a fleet, before any resource is created."""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from pydantic.alias_generators import to_camel

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.driver_support import DriverBranch
from gpufleet.catalogue.edition import read_rows
from gpufleet.contract.platform import PlatformValue
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.device_plugin_rules import validate_device_plugin
from gpufleet.fleet.gpu_operator_rules import validate_gpu_operator
from gpufleet.fleet.hardened_rules import validate_hardened
from gpufleet.fleet.model import AddonPlan, OperatorPlan, Pool
from gpufleet.fleet.network_rules import validate_network_operator
from gpufleet.fleet.neuron import validate_neuron_addon
from gpufleet.spec.addons import Addon, Addons
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gpu_operator import LicenseFeature

_finding, _rules = findings_in(__file__), rules_in(__file__)


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
    """Settings of an operator lifecycle manager that the platform does not have."""
    addons = spec.addons
    declared = "olm" in addons.model_fields_set and addons.olm.model_fields_set
    if platform.facts.lifecycle_manager or not declared:
        return
    yield _finding("olm-not-on-platform", platform=spec.platform.value)


# cert-manager: settings of add-ons that need it. No add-on of a fleet installs it.

USERS = tuple(read_rows(Path(__file__).parent, "certificate_users"))
"""Values with which an add-on uses certificates of cert-manager, and values that prevent it."""


def validate_certificates(addons: Addons) -> Iterator[Finding]:
    """Raw values that need cert-manager, which must be installed separately."""
    for row in USERS:
        addon: Addon = getattr(addons, row["addon"])
        unless = row.get("unless", {}).items()
        if value_at(addon.values, row["asks"]) is not True:
            continue
        if not any(value_at(addon.values, key) == value for key, value in unless):
            path = f"addons.{to_camel(row['addon'])}.values.{row['asks']}"
            yield _finding("cert-manager-by-no-one", path, source=row["source"])


# Licences and drivers of vGPU guests: values in which Secret, host and guest must agree.

_LICENSING = "addons.gpuOperator.driver.licensing"
_SERIES = {LicenseFeature.WORKSTATION: "q", LicenseFeature.COMPUTE: "c"}
"""vGPU types of a licence; a licence of kind vgpu covers every type."""


def validate_licence(
    spec: FleetSpec, pools: Sequence[Pool], plan: OperatorPlan
) -> Iterator[Finding]:
    """Findings about vGPU guests; none without a vGPU pool."""
    guests = [pool for pool in pools if pool.partition.vgpu is not None]
    if not plan.enabled or not guests:
        return
    licensing = spec.addons.gpu_operator.driver.licensing
    yield from _rules("licence", _LICENSING, spec=spec, plan=plan, licensing=licensing)
    yield from _feature(spec, guests)
    yield from _branches(spec, guests)


def _feature(spec: FleetSpec, guests: Sequence[Pool]) -> Iterator[Finding]:
    licensing = spec.addons.gpu_operator.driver.licensing
    series = None if licensing is None else _SERIES.get(licensing.feature_type)
    if licensing is None or series is None:
        return
    wrong = [p for p in guests if p.partition.vgpu and p.partition.vgpu.type.series != series]
    if wrong:
        types = ", ".join(
            f"{p.name} ({p.partition.vgpu.type.name})" for p in wrong if p.partition.vgpu
        )
        yield _finding(
            "vgpu-licence-feature",
            _LICENSING,
            found=licensing.feature_type.value,
            series=series.upper(),
            types=types,
            pools=[p.name for p in wrong],
        )


def _branches(spec: FleetSpec, guests: Sequence[Pool]) -> Iterator[Finding]:
    driver = spec.addons.gpu_operator.driver
    host = driver.host_version
    written = value_at(spec.addons.gpu_operator.values, "driver.version")
    operated = str(written) if written is not None else driver.version
    if host is None:
        return
    for pool in guests:
        branch, where = operated, "addons.gpuOperator.driver.version"
        if pool.image is not None and pool.image.driver:
            branch, where = pool.image.driver_branch, f"{pool.path}.image"
        if branch is None or _major(branch) == _major(host):
            continue
        yield _finding(
            "vgpu-driver-branches-differ",
            where,
            pool=pool.name,
            found=branch,
            limit=host,
            major=_major(host),
        )


def _major(version: str) -> str:
    return version.split(".")[0]


# Driver branches that NVIDIA no longer supports on a given day. vGPU for Compute and the
# data-centre driver of one branch have the same support period (NVIDIA AI Enterprise, lifecycle of
# infrastructure software); months are catalogue rows (`drivers.jsonl`).

_DRIVER = "addons.gpuOperator.driver"


def validate_branches(
    spec: FleetSpec, pools: Sequence[Pool], catalogue: Catalogue, day: date
) -> Iterator[Finding]:
    """Versions in a declaration of vGPU guests whose branch has ended. A branch without a row is
    not known, and gets no finding."""
    if not any(pool.partition.vgpu is not None for pool in pools):
        return
    driver = spec.addons.gpu_operator.driver
    versions = {
        f"{_DRIVER}.version": driver.version,
        f"{_DRIVER}.dataCenter.version": driver.data_center and driver.data_center.version,
        f"{_DRIVER}.hostVersion": driver.host_version,
    }
    supported = sorted(
        (branch for branch, row in catalogue.drivers.branches.items() if not _ended(row, day)),
        key=int,
    )
    for path, version in versions.items():
        row = None if version is None else catalogue.drivers.branches.get(_branch(version))
        if version is None or row is None or not _ended(row, day):
            continue
        yield _finding(
            "driver-branch-ended",
            path,
            branch=_branch(version),
            kind=row.kind,
            limit=row.end_of_life,
            supported=" or ".join(supported),
            value=version,
            source=row.source.key,
        )


def _branch(version: str) -> str:
    return version.partition(".")[0]


def _ended(row: DriverBranch, day: date) -> bool:
    return f"{day:%Y-%m}" > row.end_of_life
