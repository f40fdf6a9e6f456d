"""One chart that a fleet needs: version, namespace, values."""

from dataclasses import dataclass

from gpufleet.catalogue.software import Chart
from gpufleet.fleet.chart_values import Values
from gpufleet.fleet.image_sources import pinned_chart, with_images
from gpufleet.fleet.model import Fleet
from gpufleet.spec.addons import Addon


@dataclass(frozen=True, slots=True)
class FleetRelease:
    """A release of a chart, as a GitOps tool or a mirror needs it."""

    chart: Chart
    """The pin."""
    version: str
    """Version of the pin, or the declared version."""
    namespace: str
    """Namespace of the installation."""
    values: Values
    """All values, images from the declared mirror included."""
    address: str
    """Address of the chart: the vendor's repository, or the declared `charts.source`."""
    wired: tuple[str, ...] = ()
    """Dotted keys of values that only the deployed cloud resources give: a role, a queue."""


def fleet_release(
    fleet: Fleet,
    chart: str,
    values: Values,
    addon: Addon | None = None,
    *,
    namespace: str | None = None,
    wired: tuple[str, ...] = (),
) -> FleetRelease:
    """The release of a chart. The namespace is by default that of the pin."""
    pin = pinned_chart(fleet, chart)
    return FleetRelease(
        chart=pin,
        version=pin.version if addon is None else addon.version or pin.version,
        namespace=namespace or pin.namespace,
        values=with_images(fleet, chart, values),
        address=_address(fleet, pin),
        wired=wired,
    )


def _address(fleet: Fleet, pin: Chart) -> str:
    source = fleet.spec.addons.charts.source
    if source is None or source.folder is not None:
        return pin.repository
    return source.repository or f"{str(source.oci).rstrip('/')}/{pin.name}"
