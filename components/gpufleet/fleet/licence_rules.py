"""Licences and drivers of vGPU guests: what Secret, host and guest must agree on."""

from collections.abc import Iterator, Sequence

from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import OperatorPlan, Pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gpu_operator import LicenseFeature, LicenseService

_LICENSING = "addons.gpuOperator.driver.licensing"
_SERIES = {LicenseFeature.WORKSTATION: "q", LicenseFeature.COMPUTE: "c"}
"""vGPU types a licence is for; a licence of kind vgpu fits every type."""


def validate_licence(
    spec: FleetSpec, pools: Sequence[Pool], plan: OperatorPlan
) -> Iterator[Finding]:
    """Findings about vGPU guests; none without a vGPU pool."""
    guests = [pool for pool in pools if pool.partition.vgpu is not None]
    if not plan.enabled or not guests:
        return
    yield from _secrets(spec, plan)
    yield from _feature(spec, guests)
    yield from _reach(spec)
    yield from _branches(spec, guests)


def _secrets(spec: FleetSpec, plan: OperatorPlan) -> Iterator[Finding]:
    licensing = spec.addons.gpu_operator.driver.licensing
    named = plan.license_secret
    if licensing is not None and named is not None and licensing.secret != named:
        yield error(
            "vgpu-licence-secrets-differ",
            f"{_LICENSING}.secret",
            f"the operator would mount {licensing.secret}, and the pools name {named}",
            f"write {named} in both, or leave it out of the pools",
            found=licensing.secret,
            pools=named,
        )


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
        yield error(
            "vgpu-licence-feature",
            f"{_LICENSING}.featureType",
            f"gridd.conf asks for a licence of kind {licensing.feature_type.value}, which is for "
            f"{series.upper()} types: {types} would stay unlicensed and be throttled",
            "write featureType: vgpu, and FeatureType=1 in gridd.conf: the driver then asks for "
            "what its type needs",
            found=licensing.feature_type.value,
            pools=[p.name for p in wrong],
        )


def _reach(spec: FleetSpec) -> Iterator[Finding]:
    licensing, images = spec.addons.gpu_operator.driver.licensing, spec.addons.images
    closed = images.registry is not None and images.proxy.https is None
    if licensing is not None and licensing.service is LicenseService.CLS and closed:
        yield warning(
            "vgpu-licence-out-of-reach",
            f"{_LICENSING}.service",
            "guests get their licence from NVIDIA's cloud service, and images come from a mirror "
            "without any proxy: a site without Internet access cannot reach that service",
            "write service: dls and use the token of an appliance, or say images.proxy.https",
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
        yield error(
            "vgpu-driver-branches-differ",
            where,
            f"guests of {pool.name} would run driver {branch} on hosts with vGPU Manager {host}: "
            "both must be of one branch, or the guest gets no vGPU or an unsupported one",
            f"use a guest driver of branch {_major(host)}",
            found=branch,
            limit=host,
        )


def _major(version: str) -> str:
    return version.split(".")[0]
