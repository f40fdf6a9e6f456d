"""An IAM role for one service account of the cluster, by EKS Pod Identity, and policies of
roles."""

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template

import pulumi

from gpufleet.platforms.eks.aws_objects import AwsObject, aws_parts
from gpufleet.platforms.eks.names import name_prefix

TRUST = "pod-identity-trust"
"""Policy with which pods assume the role of a controller, through EKS Pod Identity."""


def policy_text(name: str, **known: str) -> str:
    """A policy of AWS: the file of that name in `policies`, with its placeholders filled.

    `karpenter` limits every write to the cluster by tags that Karpenter sets
    (karpenter-provider-aws v1.14.1, the policies of its installation guide); EC2 has a different
    name in the partition `aws-cn`. `karpenter-queue` allows only EventBridge to write to the queue,
    over TLS. `cluster-autoscaler` allows to change only groups with the cluster's discovery tag.
    """
    text = (Path(__file__).parent / "policies" / f"{name}.json").read_text(encoding="utf-8")
    quoted = {key: json.dumps(value)[1:-1] for key, value in known.items()}
    return json.dumps(json.loads(Template(text).substitute(quoted)))


def pod_identity(
    component: pulumi.ComponentResource,
    name: str,
    *,
    prefix: str,
    role: str,
    policy: pulumi.Input[str],
    cluster_name: pulumi.Input[str],
    namespace: str,
    service_account: str,
    tags: Mapping[str, str],
) -> tuple[AwsObject, AwsObject]:
    """Role and association. Pods that start before the association exists get no credentials: the
    chart must depend on it.

    Args:
        component: Parent of the resources.
        name: Prefix of their names.
        prefix: Prefix of the role's name in AWS.
        role: Purpose of the role: the rest of its name.
        policy: Its permissions, a JSON document.
        cluster_name: Cluster of the service account.
        namespace: Namespace of the service account.
        service_account: Name of the service account.
        tags: Tags of both.
    """
    parts = aws_parts(component, name, tags=tags, namespace=namespace)
    made = parts(
        "controllerRole",
        prefix=name_prefix(prefix, role, "role"),
        service_account=service_account,
        trusted=policy_text(TRUST),
    )
    allowed = parts("controllerPolicy", role=made.output("name"), policy=policy)
    whom = {"cluster": cluster_name, "service_account": service_account}
    return made, parts("identity", allowed, **whom, role=made.output("arn"))
