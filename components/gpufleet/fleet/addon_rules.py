"""Findings about the add-ons of a fleet, before any resource is created."""

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from pydantic.alias_generators import to_camel

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.driver_support import DriverBranch
from gpufleet.catalogue.edition import read_rows
from gpufleet.cluster.program import Program
from gpufleet.contract.hardened import (
    DRIVER_IMAGE,
    DRIVER_VERSION,
    OFED_IMAGE,
    SUFFIX,
    UBUNTU_VARIABLE,
)
from gpufleet.contract.operator_values import VALUES, value_of
from gpufleet.contract.platform import PlatformValue
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.cluster_model import operator_program
from gpufleet.fleet.device_plugin_rules import validate_device_plugin
from gpufleet.fleet.gpu_operator_rules import validate_gpu_operator
from gpufleet.fleet.model import AddonPlan, OperatorPlan, Pool
from gpufleet.fleet.network_rules import validate_network_operator
from gpufleet.fleet.neuron import validate_neuron_addon
from gpufleet.spec.addons import Addon, Addons
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gpu_operator import LicenseFeature
from gpufleet.spec.network_operator import Ofed

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
        *_rules("olm", spec=spec, facts=platform.facts),
        *validate_certificates(spec.addons),
    ]


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


# Checks of `addons.images.profile: stigFips`: parts without a hardened image, Secrets that the
# hardened images need, node images without FIPS mode.

_OPERATOR = "addons.gpuOperator"
_PROFILE = "addons.images.profile"


def validate_hardened(
    spec: FleetSpec, pools: Sequence[Pool], plan: AddonPlan, catalogue: Catalogue
) -> Iterator[Finding]:
    """Findings about a fleet with hardened images; none without the profile."""
    if spec.addons.images.profile is None:
        return
    for pool in pools:
        yield from _node_image(pool, catalogue)
    operator = plan.gpu_operator
    ubuntu = any(pool.image and pool.image.key.startswith("ubuntu") for pool in pools)
    if operator.rendered and operator.driver:
        yield from _driver(spec)
        yield from _parts(operator_program(spec.addons, plan, catalogue), pools)
        yield from _secrets(spec, ubuntu=ubuntu)
    network = spec.addons.network_operator
    if plan.network_operator.enabled and network.ofed is Ofed.OPERATOR and ubuntu:
        yield from _ofed_token(spec)


def _node_image(pool: Pool, catalogue: Catalogue) -> Iterator[Finding]:
    image = pool.image
    if image is None or pool.ownership is Ownership.EXISTING:
        return
    if image.fips is None:
        yield _finding(
            "fips-mode-not-known",
            pool.path,
            found=image.key,
            fips_because=image.fips_because or "whether it is in FIPS mode is not known",
        )
    elif not image.fips:
        fitting = [
            one.key
            for one in catalogue.images.values()
            if one.platform == image.platform
            and one.fips is not False
            and pool.gpu.vendor in one.vendors
        ]
        yield _finding(
            "image-not-fips",
            pool.path,
            fix=(
                f"one of {', '.join(fitting)}, or remove {_PROFILE}"
                if fitting
                else f"remove {_PROFILE}: no image of this platform is known to be in FIPS mode"
            ),
            found=image.key,
            fips_because=image.fips_because,
            allowed=fitting,
        )


def _driver(spec: FleetSpec) -> Iterator[Finding]:
    operator = spec.addons.gpu_operator
    for part, typed, needed in (
        ("image", operator.driver.image, DRIVER_IMAGE),
        ("version", operator.driver.version, DRIVER_VERSION),
    ):
        written = value_at(operator.values, f"driver.{part}")
        found = typed if written is None else str(written)
        if found is None or found.endswith(SUFFIX):
            continue
        where = f"{_OPERATOR}.driver.{part}" if written is None else f"{VALUES}.driver.{part}"
        yield _finding("hardened-driver-image", where, found=found, limit=needed)


def _parts(operator: Program, pools: Sequence[Pool]) -> Iterator[Finding]:
    for key, name in (
        ("gds.enabled", "the driver of GPUDirect Storage"),
        ("gdrcopy.enabled", "the GDRCopy driver"),
        ("driver.usePrecompiled", "a precompiled driver"),
    ):
        if value_of(operator, key):
            yield _finding("hardened-image-missing", operator.field(key), name=name)
    if operator.value("vgpuManager.enabled") is True:
        where, name = f"{VALUES}.vgpuManager", "the vGPU Manager"
        yield _finding("hardened-image-missing", where, name=name)
    for pool in pools:
        if pool.partition.vgpu is not None:
            yield _finding("hardened-image-missing/guests", pool.path)


def _secrets(spec: FleetSpec, *, ubuntu: bool) -> Iterator[Finding]:
    operator, images = spec.addons.gpu_operator, spec.addons.images
    elsewhere = images.registry or operator.driver.repository
    pull = value_at(operator.values, "driver.imagePullSecrets") or operator.image_pull_secret
    if not pull and not elsewhere:
        yield _finding("hardened-secret-missing/image-pull", _OPERATOR, driver_image=DRIVER_IMAGE)
    driver = operator.driver
    token = value_at(operator.values, "driver.secretEnv") or driver.secret_env
    if ubuntu and not token and driver.repo_config is None:
        yield _finding("hardened-secret-missing/driver", _OPERATOR, ubuntu_variable=UBUNTU_VARIABLE)


def _ofed_token(spec: FleetSpec) -> Iterator[Finding]:
    network = spec.addons.network_operator
    variables = value_at(network.policy, "ofedDriver.env") or ()
    if UBUNTU_VARIABLE in str(variables) or network.ofed_driver.repo_config is not None:
        return
    yield _finding(
        "hardened-secret-missing", ofed_image=OFED_IMAGE, ubuntu_variable=UBUNTU_VARIABLE
    )
