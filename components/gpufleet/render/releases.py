"""Every chart that a fleet needs, in the order in which they are installed."""

from collections.abc import Iterator

from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, Fleet
from gpufleet.render.dcgm_metrics import exporter_chart_values
from gpufleet.render.device_plugin_values import CHART as PLUGIN
from gpufleet.render.device_plugin_values import plugin_release_values
from gpufleet.render.dra_driver_values import CHART as DRA_DRIVER
from gpufleet.render.dra_driver_values import dra_release_values, needs_dra_driver
from gpufleet.render.fleet_release import FleetRelease, fleet_release
from gpufleet.render.gpu_operator_values import mig_parted_files, plugin_files
from gpufleet.render.keda_values import CHART as KEDA
from gpufleet.render.keda_values import installs_keda, keda_release_values
from gpufleet.render.kueue_configuration import CHART as KUEUE
from gpufleet.render.kueue_configuration import kueue_release_values
from gpufleet.render.manifests import gpu_operator_release_values
from gpufleet.render.network_operator import network_release_values
from gpufleet.render.neuron_values import CHART as NEURON
from gpufleet.render.neuron_values import neuron_release_values
from gpufleet.render.platform_files import platform_files
from gpufleet.render.prometheus_adapter_rules import CHART as ADAPTER
from gpufleet.render.prometheus_adapter_rules import adapter_release_values
from gpufleet.render.scrape_objects import EXPORTER, installs_exporter
from gpufleet.spec.base import Ownership


def releases(fleet: Fleet) -> tuple[FleetRelease, ...]:
    """The releases of a fleet without errors; what is `existing` is left out."""
    return tuple(_releases(fleet))


def _releases(fleet: Fleet) -> Iterator[FleetRelease]:
    addons, plan = fleet.spec.addons, fleet.addons
    existing = Ownership.EXISTING
    network = plan.network_operator
    if network.enabled and network.ownership is not existing and _by_chart(fleet, NETWORK_OPERATOR):
        yield fleet_release(
            fleet,
            NETWORK_OPERATOR,
            network_release_values(fleet),
            addons.network_operator,
            namespace=network.namespace,
        )
    operator = plan.gpu_operator
    if operator.enabled and operator.ownership is not existing and _by_chart(fleet, GPU_OPERATOR):
        yield fleet_release(
            fleet,
            GPU_OPERATOR,
            gpu_operator_release_values(fleet, mig_parted_files(fleet), plugin_files(fleet)),
            addons.gpu_operator,
            namespace=operator.namespace,
        )
    plugin = plan.device_plugin
    if plugin.enabled and plugin.ownership is not existing:
        values = plugin_release_values(fleet, plugin_files(fleet).name)
        yield fleet_release(fleet, PLUGIN, values, addons.device_plugin, namespace=plugin.namespace)
    if needs_dra_driver(fleet) and addons.dra_driver.ownership is not existing:
        yield fleet_release(fleet, DRA_DRIVER, dra_release_values(fleet), addons.dra_driver)
    if plan.neuron.enabled and plan.neuron.ownership is not existing:
        values = neuron_release_values(fleet)
        yield fleet_release(
            fleet, NEURON, values, addons.neuron_device_plugin, namespace=plan.neuron.namespace
        )
    yield from platform_files(fleet.platform).releases(fleet)
    if fleet.spec.queues is not None and addons.kueue.ownership is not existing:
        yield fleet_release(fleet, KUEUE, kueue_release_values(fleet), addons.kueue)
    if installs_keda(fleet):
        yield fleet_release(fleet, KEDA, keda_release_values(fleet), addons.keda)
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        return
    if installs_exporter(fleet):
        values = exporter_chart_values(fleet, monitoring)
        yield fleet_release(fleet, EXPORTER, values, namespace=monitoring.namespace)
    if monitoring.query_url is not None:
        yield fleet_release(fleet, ADAPTER, adapter_release_values(fleet, monitoring.query_url))


def _by_chart(fleet: Fleet, operator: str) -> bool:
    """Whether no Operator Lifecycle Manager installs it."""
    return fleet.addons.subscription(operator) is None
