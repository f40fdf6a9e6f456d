"""Licences and drivers of vGPU guests: what Secret, host and guest must agree on."""

from collections.abc import Iterator, Sequence

from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import OperatorPlan, Pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.gpu_operator import LicenseFeature, LicenseService

_finding = findings_in(__file__)

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
        yield _finding(
            "vgpu-licence-secrets-differ", _LICENSING, found=licensing.secret, pools=named
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
        yield _finding(
            "vgpu-licence-feature",
            _LICENSING,
            found=licensing.feature_type.value,
            series=series.upper(),
            types=types,
            pools=[p.name for p in wrong],
        )


def _reach(spec: FleetSpec) -> Iterator[Finding]:
    licensing, images = spec.addons.gpu_operator.driver.licensing, spec.addons.images
    closed = images.registry is not None and images.proxy.https is None
    if licensing is not None and licensing.service is LicenseService.CLS and closed:
        yield _finding("vgpu-licence-out-of-reach", _LICENSING)


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
