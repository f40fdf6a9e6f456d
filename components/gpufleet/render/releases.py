"""Every chart that a fleet needs, in the order in which they are installed."""

from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, ChartPlan, Fleet
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.dcgm_metrics import exporter_chart_values
from gpufleet.render.device_plugin_values import CHART as PLUGIN
from gpufleet.render.device_plugin_values import plugin_release_values
from gpufleet.render.dra_driver_values import CHART as DRA_DRIVER
from gpufleet.render.dra_driver_values import dra_release_values, needs_dra_driver
from gpufleet.render.fleet_release import FleetRelease, fleet_release
from gpufleet.render.keda_values import CHART as KEDA
from gpufleet.render.keda_values import installs_keda, keda_release_values
from gpufleet.render.kueue_configuration import CHART as KUEUE
from gpufleet.render.kueue_configuration import kueue_release_values
from gpufleet.render.manifests import gpu_operator_release_values, network_release_values
from gpufleet.render.neuron_values import CHART as NEURON
from gpufleet.render.neuron_values import neuron_release_values
from gpufleet.render.platform_files import platform_files
from gpufleet.render.scrape_objects import EXPORTER, installs_exporter
from gpufleet.spec.addons import Addon
from gpufleet.spec.base import Ownership

_FILES = {DRA_DRIVER: "dra-driver", NEURON: "neuron"}
"""Chart -> name of its values file, if it differs from the chart's name."""
_file = files_in(__file__)


def releases(fleet: Fleet) -> tuple[FleetRelease, ...]:
    """The releases of a fleet without errors; `existing` programs are left out."""
    return tuple(_releases(fleet))


def _releases(fleet: Fleet) -> Iterator[FleetRelease]:
    addons, plan = fleet.spec.addons, fleet.addons
    existing = Ownership.EXISTING
    network, operator = plan.network_operator, plan.gpu_operator
    yield from _planned(
        fleet, NETWORK_OPERATOR, network, addons.network_operator, network_release_values
    )
    yield from _planned(
        fleet, GPU_OPERATOR, operator, addons.gpu_operator, gpu_operator_release_values
    )
    yield from _planned(
        fleet, PLUGIN, plan.device_plugin, addons.device_plugin, plugin_release_values
    )
    if needs_dra_driver(fleet) and addons.dra_driver.ownership is not existing:
        yield fleet_release(fleet, DRA_DRIVER, dra_release_values(fleet), addons.dra_driver)
    yield from _planned(
        fleet, NEURON, plan.neuron, addons.neuron_device_plugin, neuron_release_values
    )
    yield from platform_files(fleet.platform).releases(fleet)
    if fleet.spec.queues is not None and addons.kueue.ownership is not existing:
        yield fleet_release(fleet, KUEUE, kueue_release_values(fleet), addons.kueue)
    if installs_keda(fleet):
        yield fleet_release(fleet, KEDA, keda_release_values(fleet), addons.keda)
    monitoring = fleet.spec.monitoring
    if monitoring is not None and installs_exporter(fleet):
        values = exporter_chart_values(fleet, monitoring)
        yield fleet_release(fleet, EXPORTER, values, namespace=monitoring.namespace)


def _planned(
    fleet: Fleet,
    chart: str,
    plan: ChartPlan,
    addon: Addon,
    values: Callable[[Fleet], dict[str, Any]],
) -> Iterator[FleetRelease]:
    """The release that a plan needs, unless Operator Lifecycle Manager installs the program."""
    if plan.rendered and fleet.addons.subscription(chart) is None:
        yield fleet_release(fleet, chart, values(fleet), addon, namespace=plan.namespace)


def value_files(fleet: Fleet) -> Iterator[Artefact]:
    """The values of each release; a platform's own are in the releases of GitOps tools only."""
    own = {one.chart.name for one in platform_files(fleet.platform).releases(fleet)}
    for one in releases(fleet):
        if (name := one.chart.name) not in own:
            known = {"version": one.version, "namespace": one.namespace}
            yield from _file(f"values/{_FILES.get(name, name)}.yaml", one.values, **known)
