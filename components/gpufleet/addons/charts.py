"""Where the add-ons' charts come from."""

from importlib import resources
from pathlib import Path
from typing import Any, cast

from gpufleet.arguments import ChartsArgs
from gpufleet.catalogue import UnknownKeyError, load
from gpufleet.catalogue.model import Chart
from gpufleet.findings import error
from gpufleet.fleet import Fleet
from gpufleet.inputs import refuse
from gpufleet.spec.addons import Charts
from gpufleet.spec.base import Platform

_OCI = "oci://"


def pinned(component: str, edition: str, chart: str) -> Chart:
    """The catalogue's pin. Raises InvalidArgumentsError for an edition that does not exist."""
    try:
        return load(edition).chart(chart)
    except UnknownKeyError as unknown:
        refuse(component, [error("catalogue-edition-unknown", "catalogue", str(unknown))])


def chart_location(pin: Chart, charts: Charts) -> dict[str, Any]:
    """Arguments of a Release that say where its chart is: repository, OCI registry or folder."""
    source = charts.source
    if source is None and pin.repository.startswith(_OCI):
        return {"chart": pin.repository}
    if source is None or source.repository is not None:
        address = pin.repository if source is None else source.repository
        return {"chart": pin.name, "repository_opts": {"repo": address}}
    if source.oci is not None:
        return {"chart": f"{source.oci.rstrip('/')}/{pin.name}"}
    assert source.folder is not None
    return {"chart": str(Path(source.folder) / pin.name)}


def charts_of(fleet: Fleet) -> ChartsArgs:
    """The declared source; in the sandbox, by default, the charts that play the real ones."""
    source = fleet.spec.addons.charts.source
    if source is not None:
        return {"source": cast("Any", source.model_dump(exclude_none=True))}
    if fleet.spec.platform is Platform.SANDBOX:
        return {"source": {"folder": str(resources.files("gpufleet") / "sandbox" / "charts")}}
    return {}
