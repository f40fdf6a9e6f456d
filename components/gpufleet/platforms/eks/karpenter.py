"""Karpenter: chart, role, and the queue that tells it of machines that will end."""

import json
from typing import Any, NotRequired, TypedDict, cast

import pulumi
from pydantic import Field

from gpufleet.arguments import ChartsArgs
from gpufleet.components_base.charts import ChartChoice, chosen_chart
from gpufleet.components_base.inputs import checked, refuse
from gpufleet.components_base.release import chart_release
from gpufleet.platforms.eks.aws_objects import (
    EVENT_RULE,
    EVENT_TARGET,
    QUEUE,
    QUEUE_POLICY,
    SUBNET_TAG,
    AwsObject,
)
from gpufleet.platforms.eks.karpenter_access import (
    EVENTS,
    RETENTION_SECONDS,
    karpenter_policy,
    queue_policy,
)
from gpufleet.platforms.eks.karpenter_values import SERVICE_ACCOUNT, Gates, karpenter_values
from gpufleet.platforms.eks.names import name_prefix
from gpufleet.platforms.eks.pod_identity import pod_identity
from gpufleet.platforms.eks.tags import judge_role_tags, judge_tags
from gpufleet.render.gpu_operator_values import merged

DISCOVERY = "karpenter.sh/discovery"
"""Tag by which node classes that name no ids find subnets and security groups."""


class KarpenterArgs(TypedDict):
    """Inputs of `Karpenter`."""

    catalogue: str
    """Edition of pins, `"2026.11"`."""
    cluster_name: pulumi.Input[str]
    """Cluster it runs in and makes nodes for."""
    region: str
    """Region of the cluster, `us-east-1`."""
    node_role_arn: pulumi.Input[str]
    """IAM role of the nodes it makes, which it must be allowed to hand to them."""
    version: NotRequired[str]
    """Chart version, `1.14.1`. Default: the catalogue's pin."""
    charts: NotRequired[ChartsArgs]
    """Where the chart comes from. Default: the vendor's registry."""
    node_overlay: NotRequired[bool]
    """Feature gate NodeOverlay: pools that share, cut or have parts of GPUs need it. Default
    false."""
    node_repair: NotRequired[bool]
    """Feature gate NodeRepair: nodes whose GPUs are reported broken are replaced. Default false."""
    discovery_ids: NotRequired[list[pulumi.Input[str]]]
    """Subnets and security groups that get the tag `karpenter.sh/discovery`, for node classes of
    others; those of gpufleet name ids. Default: none."""
    name_prefix: NotRequired[str]
    """First part of names in AWS. Default `gpufleet`."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that takes them. Default: none."""
    values: NotRequired[dict[str, Any]]
    """Raw Helm values, merged last. Default: none."""


class _Declared(ChartChoice):
    """The arguments that must be known before deployment."""

    region: str
    node_overlay: bool = False
    node_repair: bool = False
    name_prefix: str = "gpufleet"
    tags: dict[str, str] = Field(default_factory=dict[str, str])


class Karpenter(pulumi.ComponentResource):
    """Karpenter on EKS: Helm release, IAM role bound to its service account by Pod Identity, and
    a queue with the events that announce the end of a machine: spot interruption, rebalancing,
    maintenance, the end of a reservation.

    One per cluster. Remove pools before it: nobody else drains their nodes.
    """

    release_name: pulumi.Output[str]
    """Name of the Helm release."""
    chart_version: pulumi.Output[str]
    """Version of the chart that is asked for."""
    role_arn: pulumi.Output[str]
    """IAM role of the controller."""
    queue_name: pulumi.Output[str]
    """Queue of interruption events."""

    def __init__(
        self, name: str, args: KarpenterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Install it.

        Args:
            name: Name of the component, unique in its stack.
            args: The settings.
            opts: Options; `providers` must hold the AWS provider of the cluster's account and the
                cluster's Kubernetes provider.

        Raises:
            InvalidArgumentsError: an argument cannot work; the text holds all problems.
        """
        component = f'Karpenter "{name}"'
        given = checked(component, KarpenterArgs, cast("dict[str, Any]", args), _Declared)
        findings = [*judge_tags(given.tags, "tags"), *judge_role_tags(given.tags, "tags")]
        if findings:
            refuse(component, findings)
        chart = chosen_chart(component, given, "karpenter")
        super().__init__("gpufleet:index:Karpenter", name, {}, opts)
        self._tags = given.tags
        queue = self._queue(name, name_prefix(given.name_prefix, "karpenter", "queue"))
        policy = pulumi.Output.all(
            args["cluster_name"], args["node_role_arn"], queue.output("arn")
        ).apply(lambda known: _document(*known, region=given.region))
        role, identity = pod_identity(
            self,
            name,
            prefix=given.name_prefix,
            role="karpenter",
            policy=policy,
            cluster_name=args["cluster_name"],
            namespace=chart.pin.namespace,
            service_account=SERVICE_ACCOUNT,
            tags=given.tags,
        )
        for index, id_ in enumerate(args.get("discovery_ids", [])):
            AwsObject(
                SUBNET_TAG,
                f"{name}-discovery-{index}",
                {"resourceId": id_, "key": DISCOVERY, "value": args["cluster_name"]},
                pulumi.ResourceOptions(parent=self),
            )
        wired = {
            "settings": {
                "clusterName": args["cluster_name"],
                "interruptionQueue": queue.output("name"),
            }
        }
        values = merged(karpenter_values(Gates(given.node_overlay, given.node_repair)), wired)
        made = chart_release(
            self,
            f"{name}-release",
            chart,
            namespace=chart.pin.namespace,
            values=merged(values, args.get("values", {})),
            depends_on=[identity],
        )
        self.release_name = cast("pulumi.Output[str]", made.name)
        self.chart_version = pulumi.Output.from_input(chart.version)
        self.role_arn = role.output("arn")
        self.queue_name = queue.output("name")
        self.register_outputs(
            {
                "releaseName": self.release_name,
                "chartVersion": self.chart_version,
                "roleArn": self.role_arn,
                "queueName": self.queue_name,
            }
        )

    def _queue(self, name: str, called: str) -> AwsObject:
        """The queue, who may write to it, and the rules that do."""
        opts = pulumi.ResourceOptions(parent=self)
        queue = AwsObject(
            QUEUE,
            f"{name}-interruption",
            {
                "namePrefix": called,
                "messageRetentionSeconds": RETENTION_SECONDS,
                "sqsManagedSseEnabled": True,
                "tags": self._tags,
            },
            opts,
            outputs=("arn", "name", "url"),
        )
        AwsObject(
            QUEUE_POLICY,
            f"{name}-interruption-policy",
            {
                "queueUrl": queue.output("url"),
                "policy": queue.output("arn").apply(lambda arn: json.dumps(queue_policy(arn))),
            },
            opts,
        )
        for event, pattern in EVENTS.items():
            rule = AwsObject(
                EVENT_RULE,
                f"{name}-{event}",
                {
                    "description": f"Tells Karpenter of {pattern['detail-type'][0]}",
                    "eventPattern": json.dumps(pattern),
                    "tags": self._tags,
                },
                opts,
                outputs=("name",),
            )
            AwsObject(
                EVENT_TARGET,
                f"{name}-{event}-target",
                {"rule": rule.output("name"), "arn": queue.output("arn")},
                opts,
            )
        return queue


def _document(cluster: str, node_role_arn: str, queue_arn: str, *, region: str) -> str:
    return json.dumps(karpenter_policy(cluster, region, node_role_arn, queue_arn))
