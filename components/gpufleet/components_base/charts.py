"""Sources of the add-ons' charts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from gpufleet.arguments import ChartsArgs
from gpufleet.catalogue import Chart, UnknownKeyError, load
from gpufleet.components_base.inputs import refuse
from gpufleet.components_base.platform_components import platform_components
from gpufleet.findings import error
from gpufleet.fleet import Fleet
from gpufleet.fleet.image_sources import pinned_chart
from gpufleet.spec.addons import Addon, Charts
from gpufleet.spec.chart_components import ChartChoice
from gpufleet.spec.images import Images

_OCI = "oci://"


@dataclass(frozen=True, slots=True)
class ChosenChart:
    """The chart of an add-on."""

    pin: Chart
    version: str
    """The pin's or another."""
    charts: Charts
    """Source of charts."""
    images: Images = field(default_factory=Images)
    """Source of the chart's images."""


def chosen_chart(
    component: str, choice: ChartChoice, chart: str, images: Images | None = None
) -> ChosenChart:
    """The chart from a component's arguments.

    Raises InvalidArgumentsError for an edition that does not exist.
    """
    try:
        pin = load(choice.catalogue).chart(chart)
    except UnknownKeyError as unknown:
        refuse(component, [error("catalogue-edition-unknown", "catalogue", str(unknown))])
    return ChosenChart(pin, choice.version or pin.version, choice.charts, images or Images())


def fleet_chart(fleet: Fleet, chart: str, addon: Addon | None = None) -> ChosenChart:
    """The chart from a fleet's declaration."""
    pin = pinned_chart(fleet, chart)
    version = pin.version if addon is None else addon.version or pin.version
    charts = Charts.model_validate(charts_of(fleet))
    return ChosenChart(pin, version, charts, fleet.spec.addons.images)


def chart_location(pin: Chart, charts: Charts) -> dict[str, Any]:
    """Arguments of a Release with the source of its chart: repository, OCI registry or folder."""
    source = charts.source
    if source is None and pin.repository.startswith(_OCI):
        return {"chart": pin.repository}
    if source is None or source.repository is not None:
        address = pin.repository if source is None else source.repository
        return {"chart": pin.name, "repositoryOpts": {"repo": address}}
    if source.oci is not None:
        return {"chart": f"{source.oci.rstrip('/')}/{pin.name}"}
    assert source.folder is not None
    return {"chart": str(Path(source.folder) / pin.name)}


def charts_of(fleet: Fleet) -> ChartsArgs:
    """The declared source, else the platform's own.

    Raises InvalidArgumentsError if these are needed and are not installed.
    """
    source = fleet.spec.addons.charts.source
    if source is not None:
        return {"source": cast("Any", source.model_dump(exclude_none=True))}
    if fleet.platform.facts.own_charts:
        return {"source": {"folder": platform_components(fleet.platform).platform_charts()}}
    return {}
