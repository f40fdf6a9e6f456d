"""GpuMonitoring: metrics, rules, alerts and dashboards of a fleet."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pulumi

from gpufleet.arguments import GpuMonitoringArgs
from gpufleet.components_base.charts import fleet_chart
from gpufleet.components_base.cluster_objects import ManifestObject, operator_namespace
from gpufleet.components_base.component import FleetPlan, GpuComponent, Options, warning_texts
from gpufleet.components_base.inputs import refuse
from gpufleet.components_base.release import chart_release
from gpufleet.findings import findings_in
from gpufleet.fleet import Fleet
from gpufleet.platforms.declarations import declared_fleet
from gpufleet.render.dashboards import dashboards
from gpufleet.render.dcgm_metrics import exporter_chart_values
from gpufleet.render.monitoring_artefacts import alerts, monitoring_objects, validate_alerts
from gpufleet.render.scrape_objects import EXPORTER, installs_exporter
from gpufleet.spec.monitoring import Monitoring, MonitoringBackend

_finding = findings_in(__file__)

TIMEOUT_SECONDS = 300
"""Timeout until the exporter's release is ready."""


@dataclass(frozen=True, kw_only=True)
class MonitoringPlan(FleetPlan):
    """A monitored fleet."""

    monitoring: Monitoring


class GpuMonitoring(GpuComponent[MonitoringPlan]):
    """Namespace, recording rules, alerts, scrape targets, dashboards; and the DCGM exporter's own
    chart if no GPU Operator runs it.

    One per cluster; `GpuFleet` creates it when the spec has `monitoring`. The cluster must have the
    definitions of the backend (Prometheus operator or VictoriaMetrics operator).
    """

    namespace: pulumi.Output[str]
    """Namespace of all objects of this component."""
    alerts: pulumi.Output[list[str]]
    """Names of the alerts."""
    dashboards: pulumi.Output[list[str]]
    """Ids of the dashboards in Grafana's addresses: `/d/<id>`."""

    def __init__(self, name: str, args: GpuMonitoringArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: MonitoringPlan) -> Mapping[str, object]:
        fleet, monitoring = plan.fleet, plan.monitoring
        namespace = operator_namespace(self, name, f"{name}-namespace", monitoring.namespace)
        if installs_exporter(fleet):
            chart_release(
                self,
                f"{name}-exporter",
                fleet_chart(fleet, EXPORTER),
                namespace=monitoring.namespace,
                values=exporter_chart_values(fleet, monitoring),
                depends_on=[namespace],
                timeout_seconds=TIMEOUT_SECONDS,
            )
        for document in monitoring_objects(fleet):
            metadata = document["metadata"]
            words = (document["kind"].lower(), metadata["namespace"], metadata["name"])
            ManifestObject(
                "-".join([name, *words]),
                document,
                pulumi.ResourceOptions(parent=self, depends_on=[namespace]),
            )
        watched = monitoring.backend is not MonitoringBackend.NONE
        drawn = dashboards(fleet, monitoring) if monitoring.dashboards.enabled else []
        return {
            "namespace": monitoring.namespace,
            "alerts": [one["alert"] for one in alerts(fleet, monitoring)] if watched else [],
            "dashboards": [one["uid"] for one in drawn],
        }


def monitoring_plan(component: str, fleet: Fleet) -> MonitoringPlan:
    """Raises InvalidArgumentsError when nothing is declared to be monitored."""
    monitoring = fleet.spec.monitoring
    if monitoring is None:
        refuse(component, [_finding("monitoring-missing")])
    warnings = tuple(warning_texts(validate_alerts(fleet)))
    return MonitoringPlan(fleet=fleet, monitoring=monitoring, warnings=warnings)


def _planned(component: str, args: GpuMonitoringArgs) -> MonitoringPlan:
    declaration = declared_fleet(component, GpuMonitoringArgs, args, "monitoring")
    plan = monitoring_plan(component, declaration.fleet)
    return replace(plan, warnings=(*declaration.warnings, *plan.warnings))
