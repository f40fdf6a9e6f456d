"""The programs and the Kubernetes minor version of a declaration, as a `Site`."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from pydantic.alias_generators import to_snake

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.fact import NOTHING, Fact, Provenance, known, unknown
from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.findings import Finding, Severity
from gpufleet.spec.addons import CHARTS, Addon
from gpufleet.spec.base import Ownership
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec

_READ = (
    "gpuOperator",
    "networkOperator",
    "devicePlugin",
    "draDriver",
    "karpenter",
    "kueue",
    "keda",
)
ADDONS = {to_snake(one): (f"addons.{one}", CHARTS[one]) for one in _READ}
"""Field of the declaration -> its place, and the chart that it installs."""


def declared_program(addon: Addon, place: str, chart: str) -> Program:
    """The program of an add-on, with its raw values."""
    return Program(
        name=chart,
        release=declared_release(addon, place),
        values=addon.values,
        place=f"{place}.values",
    )


def declared_release(addon: Addon, place: str) -> Fact[str]:
    """The release of an add-on; unknown if it is installed separately and no release is given."""
    if addon.version is not None:
        return known(addon.version, Provenance.DECLARED, f"{place}.version")
    return unknown(f"{place}.version") if addon.ownership is Ownership.EXISTING else NOTHING


def site_of(
    chart: str, version: str | None, place: str, values: Mapping[str, Any] | None = None
) -> Site:
    """A cluster with one chart; without a declared version, with the pinned one."""
    release = (
        NOTHING if version is None else known(version, Provenance.DECLARED, f"{place}.version")
    )
    return Site(programs=(Program(name=chart, release=release, values=values),))


def problems(findings: Iterable[Finding], elsewhere: Container[str]) -> Iterator[Finding]:
    """Errors and warnings about the values of a chart; without codes that other rules examine."""
    for finding in findings:
        if finding.severity is not Severity.INFO and finding.code not in elsewhere:
            yield finding


def declared_site(spec: FleetSpec, catalogue: Catalogue) -> Site:
    """The facts of a declaration about its cluster: minor version and add-ons that are not off."""
    minor = minor_of(spec.cluster.kubernetes_version)
    addons = [(getattr(spec.addons, field), *named) for field, named in ADDONS.items()]
    return Site(
        kubernetes=known(minor, Provenance.DECLARED, "cluster.kubernetesVersion"),
        programs=tuple(
            declared_program(addon, place, chart)
            for addon, place, chart in addons
            if addon.enabled is not False
        ),
        cluster_gates=spec.cluster.feature_gates,
        catalogue=catalogue,
    )
