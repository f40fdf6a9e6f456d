"""Karpenter: chart, role, and the queue of events about machines that will end."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pulumi

from gpufleet.arguments import KarpenterArgs
from gpufleet.components_base.charts import ChosenChart, chosen_chart
from gpufleet.components_base.cloud_object import CloudParts
from gpufleet.components_base.component import ComponentPlan, GpuComponent, Options, accepted
from gpufleet.components_base.inputs import checked
from gpufleet.components_base.release import chart_release
from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding
from gpufleet.fleet.chart_values import merged
from gpufleet.platforms.clouds.aws_tags import validate_role_tags, validate_tags
from gpufleet.platforms.eks.aws_objects import AwsObject, aws_parts
from gpufleet.platforms.eks.connection import (
    known_role,
    validate_cluster_name,
    validate_region,
    validate_role,
)
from gpufleet.platforms.eks.karpenter_values import (
    CHART,
    DEFINITIONS,
    KEPT,
    SERVICE_ACCOUNT,
    Gates,
    karpenter_values,
)
from gpufleet.platforms.eks.names import name_prefix
from gpufleet.platforms.eks.pod_identity import pod_identity, policy_text
from gpufleet.spec.platforms.eks_components import DeclaredKarpenter


@dataclass(frozen=True, kw_only=True)
class KarpenterPlan(ComponentPlan):
    """Karpenter of one cluster."""

    declared: DeclaredKarpenter
    chart: ChosenChart
    gates: Gates
    definitions: ChosenChart | None
    """Chart of the definitions, if they are a separate release."""


class Karpenter(GpuComponent[KarpenterPlan]):
    """Karpenter on EKS: Helm release, IAM role bound to its service account by Pod Identity, and
    a queue with the events that announce the end of a machine: spot interruption, rebalancing,
    maintenance, the end of a reservation.

    One per cluster. Remove pools before it: otherwise their nodes are not drained.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Requested version of the chart."""
    role_arn: pulumi.Output[str]
    """IAM role of the controller."""
    queue_name: pulumi.Output[str]
    """Queue of interruption events."""

    def __init__(self, name: str, args: KarpenterArgs, opts: Options = None) -> None:
        """`providers` must contain the AWS provider of the account besides the Kubernetes one."""
        self._construct(name, _planned(self.label(name), args), opts)

    def _make(self, name: str, plan: KarpenterPlan) -> Mapping[str, object]:
        chart, given = plan.chart, plan.declared
        own = aws_parts(self, name, tags=given.tags)
        queue = _queue(own, given.name_prefix)
        nodes = known_role(self.label(name), given.node_role_arn)
        policy = pulumi.Output.all(given.cluster_name, nodes, queue.output("arn")).apply(
            lambda known: _document(*known, region=given.region)
        )
        role, identity = pod_identity(
            self,
            name,
            prefix=given.name_prefix,
            role="karpenter",
            policy=policy,
            cluster_name=given.cluster_name,
            namespace=chart.pin.namespace,
            service_account=SERVICE_ACCOUNT,
            tags=given.tags,
        )
        before: list[pulumi.Resource] = [identity]
        if given.access_entry:  # machines with the node role join by it
            who = {"cluster": given.cluster_name, "node_role": given.node_role_arn}
            before.append(own("access", **who, kind="EC2_LINUX"))
        if (definitions := plan.definitions) is not None:
            space = definitions.pin.namespace
            called = f"{name}-definitions"
            before.append(chart_release(self, called, definitions, namespace=space, values=KEPT))
        wired = {
            "settings": {
                "clusterName": given.cluster_name,
                "interruptionQueue": queue.output("name"),
            }
        }
        made = chart_release(
            self,
            f"{name}-release",
            chart,
            namespace=chart.pin.namespace,
            values=merged(merged(karpenter_values(plan.gates), wired), given.values),
            depends_on=before,
        )
        return {
            "release_name": made.name,
            "chart_version": chart.version,
            "role_arn": role.output("arn"),
            "queue_name": queue.output("name"),
        }


def _queue(made: CloudParts[AwsObject], prefix: str) -> AwsObject:
    """The queue, its policy, and the rules that write to it."""
    queue = made("queue", prefix=name_prefix(prefix, "karpenter", "queue"))
    arn = queue.output("arn")
    allowed = arn.apply(lambda known: policy_text("karpenter-queue", queue_arn=known))
    made("queuePolicy", queue=queue.output("url"), policy=allowed)
    for event, pattern in data_part(made.file, "events").items():
        detail = pattern["detail-type"][0]
        rule = made("rule", event=event, detail=detail, pattern=json.dumps(pattern))
        made("target", event=event, rule=rule.output("name"), queue=arn)
    return queue


def validate_karpenter(plan: KarpenterPlan) -> list[Finding]:
    """Errors that prevent its installation."""
    tags = plan.declared.tags
    return [*validate_tags(tags, "tags"), *validate_role_tags(tags, "tags")]


def _planned(component: str, args: KarpenterArgs) -> KarpenterPlan:
    given = checked(component, KarpenterArgs, args, DeclaredKarpenter)
    plan = KarpenterPlan(
        declared=given,
        chart=chosen_chart(component, given, CHART),
        gates=Gates(given.node_overlay, given.node_repair),
        definitions=(
            chosen_chart(component, given, DEFINITIONS) if given.upgrade_definitions else None
        ),
    )
    findings = (
        *validate_cluster_name(given.cluster_name),
        *validate_role(given.node_role_arn),
        *validate_region(given.region, given.catalogue),
        *validate_karpenter(plan),
    )
    return replace(plan, warnings=accepted(component, findings))


def _document(cluster: str, node_role_arn: str, queue_arn: str, *, region: str) -> str:
    """The policy of the controller's role. Partition and account are those of the node role."""
    _, partition, _, _, account, *_ = node_role_arn.split(":")
    return policy_text(
        "karpenter",
        cluster=cluster,
        region=region,
        partition=partition,
        account=account,
        node_role_arn=node_role_arn,
        queue_arn=queue_arn,
    )
