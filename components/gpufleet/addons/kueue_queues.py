"""KueueQueues: Kueue and its queues, so that teams share a fleet by quota."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pulumi

from gpufleet.arguments import KueueQueuesArgs
from gpufleet.components_base.charts import fleet_chart
from gpufleet.components_base.cluster_objects import ManifestObject
from gpufleet.components_base.component import FleetPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import refuse
from gpufleet.components_base.release import release_in_own_namespace
from gpufleet.findings import findings_in
from gpufleet.fleet import Fleet
from gpufleet.platforms.declarations import declared_fleet
from gpufleet.render.kueue_configuration import CHART, kueue_release_values
from gpufleet.render.kueue_queues import kueue_objects, local_queues, team_namespaces, team_quota
from gpufleet.render.kueue_rules import validate_queues
from gpufleet.spec.base import Ownership

_finding = findings_in(__file__)


class KueueQueues(GpuComponent[FleetPlan]):
    """Kueue's chart with its configuration, and the flavors, cohorts, queues, priorities,
    topologies and admission checks that follow from pools and teams.

    One per cluster; `GpuFleet` creates it when the spec has `queues`. Quotas are the resources that
    nodes advertise, of the pools at their largest size.
    """

    namespace: pulumi.Output[str]
    """Namespace of the controller."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""
    queues: pulumi.Output[dict[str, list[str]]]
    """Team -> its queues, `<namespace>/<name>`, in the form of the label
    `kueue.x-k8s.io/queue-name` in that namespace."""
    quota: pulumi.Output[dict[str, dict[str, int]]]
    """Team -> resource -> nominal quota over all pools."""

    def __init__(self, name: str, args: KueueQueuesArgs, opts: Options = None) -> None:
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: FleetPlan) -> Mapping[str, object]:
        fleet = plan.fleet
        addon = fleet.spec.addons.kueue
        chart = fleet_chart(fleet, CHART, addon)
        before: list[pulumi.Resource] = self._namespaces(name, fleet)
        if addon.ownership is Ownership.MANAGED:
            values = kueue_release_values(fleet)
            before.append(release_in_own_namespace(self, name, chart, values))
        for documents in kueue_objects(fleet).values():
            # Each kind refers to objects of the previous kind, which the webhook and queues check.
            made = [self._object(name, document, before) for document in documents]
            before = [*before, *made] if made else before
        return {
            "namespace": chart.pin.namespace,
            "chart_version": chart.version,
            "queues": _queues(fleet),
            "quota": team_quota(fleet),
        }

    def _namespaces(self, name: str, fleet: Fleet) -> list[pulumi.Resource]:
        queues = fleet.spec.queues
        if queues is None or not queues.create_namespaces:
            return []
        places = sorted({place for team in queues.teams for place in team_namespaces(team)})
        return [
            ManifestObject(
                f"{name}-{place}",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}},
                # Workloads of the teams stay, even if the quota is removed.
                pulumi.ResourceOptions(parent=self, retain_on_delete=True),
            )
            for place in places
        ]

    def _object(
        self, name: str, document: dict[str, Any], before: list[pulumi.Resource]
    ) -> pulumi.Resource:
        metadata = document["metadata"]
        words = (document["kind"].lower(), metadata.get("namespace"), metadata["name"])
        # A LocalQueue cannot move to another ClusterQueue, nor a Topology change its levels.
        fixed = document["kind"] in ("LocalQueue", "Topology")
        return ManifestObject(
            "-".join([name, *(word for word in words if word)]),
            document,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=before,
                replace_on_changes=["spec"] if fixed else [],
                delete_before_replace=fixed or None,
            ),
        )


def queues_plan(component: str, fleet: Fleet) -> FleetPlan:
    """Raises InvalidArgumentsError when the queues cannot work."""
    if fleet.spec.queues is None:
        refuse(component, [_finding("queues-missing")])
    return FleetPlan(fleet=fleet, warnings=accepted(component, validate_queues(fleet)))


def _planned(component: str, args: KueueQueuesArgs) -> FleetPlan:
    declaration = declared_fleet(component, KueueQueuesArgs, args, "queues")
    plan = queues_plan(component, declaration.fleet)
    return replace(plan, warnings=(*declaration.warnings, *plan.warnings))


def _queues(fleet: Fleet) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for queue in local_queues(fleet):
        place = f"{queue['metadata']['namespace']}/{queue['metadata']['name']}"
        found.setdefault(queue["spec"]["clusterQueue"], []).append(place)
    return found
