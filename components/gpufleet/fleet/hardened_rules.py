"""Checks of `addons.images.profile: stigFips`: parts without a hardened image, Secrets that the
hardened images need, node images without FIPS mode."""

from collections.abc import Iterator, Sequence

from gpufleet.catalogue import Catalogue
from gpufleet.contract.hardened import (
    DRIVER_IMAGE,
    DRIVER_VERSION,
    OFED_IMAGE,
    SUFFIX,
    UBUNTU_VARIABLE,
)
from gpufleet.contract.operator_values import VALUES, operator_value, place
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, findings_in
from gpufleet.fleet.model import AddonPlan, Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.network_operator import Ofed

_finding = findings_in(__file__)

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
        yield from _parts(spec, pools)
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


def _parts(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    operator = spec.addons.gpu_operator
    for key, name in (
        ("gds.enabled", "the driver of GPUDirect Storage"),
        ("gdrcopy.enabled", "the GDRCopy driver"),
        ("driver.usePrecompiled", "a precompiled driver"),
    ):
        if operator_value(operator, key):
            yield _not_hardened(place(operator, key), name, "remove it")
    if value_at(operator.values, "vgpuManager.enabled") is True:
        yield _not_hardened(f"{VALUES}.vgpuManager", "the vGPU Manager", "remove it")
    for pool in pools:
        if pool.partition.vgpu is not None:
            yield _not_hardened(
                f"{pool.path}.sharing.vgpu",
                "the driver of vGPU guests, which you build yourself,",
                "pass whole GPUs through, or partition by MIG",
            )


def _not_hardened(where: str, name: str, fix: str) -> Finding:
    return error(
        "hardened-image-missing",
        where,
        f"NVIDIA publishes no government-ready container for {name}"
        if not name.endswith(",")
        else f"{name} is not a government-ready container",
        f"{fix}, or remove {_PROFILE}",
        source="NVIDIA/cloud-native-docs install-gpu-operator-gov-ready",
    )


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
