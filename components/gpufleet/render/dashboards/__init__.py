"""Grafana dashboards from `monitoring/*.yaml`, and the ConfigMaps that carry them."""

import json
from typing import Any

from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import Fleet
from gpufleet.render.dashboards.console import console_dashboard
from gpufleet.render.dashboards.panel import dashboard
from gpufleet.render.data_files import data_file
from gpufleet.render.monitoring_parameters import monitoring_parameters
from gpufleet.spec.monitoring import Monitoring

OPENSHIFT_NAMESPACE = "openshift-config-managed"
"""Namespace in which OpenShift's console finds dashboards with the label below (OpenShift
documentation, Monitoring, 4.x)."""
OPENSHIFT_LABEL = {"console.openshift.io/dashboard": "true"}


def dashboards(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """The dashboards that have something to show: fleet; team with queues; slices with MIG; cost
    with prices."""
    parameters = monitoring_parameters(fleet, monitoring)
    contents = (data_file(name, parameters) for name in ("fleet", "team", "slices", "cost"))
    return [dashboard(content) for content in contents if content is not None]


def dashboard_config_maps(fleet: Fleet, monitoring: Monitoring) -> list[dict[str, Any]]:
    """One ConfigMap per dashboard for Grafana's sidecar, and on OpenShift one more for its console,
    which has its own kinds of panels. Empty if dashboards are off."""
    settings = monitoring.dashboards
    if not settings.enabled:
        return []
    console = settings.openshift_console
    if console is None:
        console = fleet.platform.facts.console_dashboards
    made = dashboards(fleet, monitoring)
    places = [(monitoring.namespace, {settings.label: settings.label_value}, made)]
    if console:
        drawn = [console_dashboard(one) for one in made]
        places.append((OPENSHIFT_NAMESPACE, OPENSHIFT_LABEL, drawn))
    return [
        manifest(
            "v1",
            "ConfigMap",
            one["uid"],
            namespace,
            labels,
            data={f"{one['uid']}.json": json.dumps(one, indent=1, sort_keys=True)},
        )
        for namespace, labels, found in places
        for one in found
    ]
