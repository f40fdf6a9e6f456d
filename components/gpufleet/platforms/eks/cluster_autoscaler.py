"""ClusterAutoscaler: chart and role, for node groups of EKS."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pulumi

from gpufleet.arguments import ClusterAutoscalerArgs
from gpufleet.components_base.charts import ChosenChart, chosen_chart
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.refused_arguments import in_own_words
from gpufleet.components_base.release import chart_release
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet import Pool
from gpufleet.fleet.chart_values import merged
from gpufleet.platforms.clouds.aws_tags import validate_role_tags, validate_tags
from gpufleet.platforms.declarations import compiled_declarations
from gpufleet.platforms.eks.cluster_autoscaler_values import (
    ADDON,
    CHART,
    SERVICE_ACCOUNT,
    cluster_autoscaler_values,
    validate_program,
)
from gpufleet.platforms.eks.connection import validate_cluster_name, validate_region
from gpufleet.platforms.eks.pod_identity import pod_identity, policy_text
from gpufleet.spec.chart_components import ChartChoice
from gpufleet.spec.platforms.eks_components import DeclaredClusterAutoscaler

_finding = findings_in(__file__)

NAMESPACE = "kube-system"


@dataclass(frozen=True, kw_only=True)
class ClusterAutoscalerPlan(ComponentPlan):
    """Cluster Autoscaler of one cluster."""

    declared: DeclaredClusterAutoscaler
    chart: ChosenChart
    pools: tuple[Pool, ...] = ()
    """The pools that it scales, for the order of preference."""
    provisioning_requests: bool = False
    """Whether a queue of the fleet creates ProvisioningRequests."""


class ClusterAutoscaler(GpuComponent[ClusterAutoscalerPlan]):
    """Cluster Autoscaler on EKS: a Helm release with the program for the cluster's version, and an
    IAM role that only reaches the node groups of this cluster.

    It knows the resources of an empty group from the tags that `EksGpuNodeGroup` sets.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""
    role_arn: pulumi.Output[str]
    """IAM role of the program."""

    def __init__(self, name: str, args: ClusterAutoscalerArgs, opts: Options = None) -> None:
        """`providers` must contain the AWS provider of the account besides the Kubernetes one."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: ClusterAutoscalerPlan) -> Mapping[str, object]:
        given = plan.declared
        policy = pulumi.Output.from_input(given.cluster_name).apply(
            lambda cluster: policy_text("cluster-autoscaler", cluster=cluster)
        )
        role, identity = pod_identity(
            self,
            name,
            prefix=given.name_prefix,
            role="cluster-autoscaler",
            policy=policy,
            cluster_name=given.cluster_name,
            namespace=NAMESPACE,
            service_account=SERVICE_ACCOUNT,
            tags=given.tags,
        )
        values = cluster_autoscaler_values(
            given.settings,
            plan.pools,
            given.name_prefix,
            given.region,
            given.kubernetes_version,
            provisioning_requests=plan.provisioning_requests,
        )
        wired = {"autoDiscovery": {"clusterName": given.cluster_name}}
        made = chart_release(
            self,
            f"{name}-release",
            plan.chart,
            namespace=NAMESPACE,
            values=merged(merged(values, wired), given.settings.values),
            depends_on=[identity],
        )
        return {
            "release_name": made.name,
            "chart_version": plan.chart.version,
            "role_arn": role.output("arn"),
        }


def validate_cluster_autoscaler(plan: ClusterAutoscalerPlan) -> list[Finding]:
    """Errors that prevent its installation."""
    given = plan.declared
    return [
        *validate_program(given.settings, given.kubernetes_version),
        *validate_tags(given.tags, "tags"),
        *validate_role_tags(given.tags, "tags"),
    ]


def _planned(component: str, args: ClusterAutoscalerArgs) -> ClusterAutoscalerPlan:
    given = checked(component, ClusterAutoscalerArgs, args, DeclaredClusterAutoscaler)
    choice = ChartChoice(
        catalogue=given.catalogue, version=given.settings.version, charts=given.charts
    )
    plan = ClusterAutoscalerPlan(declared=given, chart=chosen_chart(component, choice, CHART))
    findings = [
        *validate_cluster_name(given.cluster_name),
        *validate_region(given.region, given.catalogue),
        *validate_cluster_autoscaler(plan),
    ]
    if given.platform != "eks":
        findings.append(
            _finding("cluster-autoscaler-on-other-platform", found=given.platform, allowed=["eks"])
        )
    warnings = accepted(component, in_own_words({ADDON: "settings"}, findings))
    plan = replace(plan, warnings=warnings)
    if not given.pools:
        return plan
    fleet = compiled_declarations(
        component,
        {
            "catalogue": given.catalogue,
            "platform": "eks",
            "region": given.region,
            "kubernetesVersion": given.kubernetes_version,
            "pools": given.pools,
        },
    )
    return replace(plan, pools=fleet.pools)
