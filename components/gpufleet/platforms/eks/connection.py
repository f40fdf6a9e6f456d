"""What EKS pools are wired to, and the parts of their declaration that components check alike."""

import re
from collections.abc import Collection, Iterable, Mapping
from ipaddress import ip_network
from typing import Any, NotRequired, TypedDict, cast

import pulumi

from gpufleet.arguments import GpuPoolArgs
from gpufleet.components_base.inputs import refuse
from gpufleet.findings import Finding, error
from gpufleet.fleet import Pool, compile_data
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.platforms.eks.user_data import ClusterAccess
from gpufleet.spec.pool import Provisioner


class EksPoolArgs(TypedDict):
    """Inputs that every component of EKS pools has."""

    catalogue: str
    """Edition of facts, `"2026.11"`."""
    pool: GpuPoolArgs
    """The pool's declaration. Must be known before deployment."""
    region: str
    """Region of the cluster, `us-east-1`."""
    cluster_name: pulumi.Input[str]
    """Cluster the nodes join. Give the output of the resource that makes the cluster, and the
    nodes wait for it."""
    node_role_arn: pulumi.Input[str]
    """IAM role of the nodes."""
    subnet_ids_by_zone: dict[str, pulumi.Input[str]]
    """Zone -> private subnet. The zones must be known before deployment, the ids need not."""
    vpc_id: NotRequired[pulumi.Input[str]]
    """Network of the cluster; needed with `fabric: efa`, for the security group."""
    cluster_security_group_id: NotRequired[pulumi.Input[str]]
    """Security group EKS made for the cluster; needed with `fabric: efa` and with Karpenter, where
    EKS adds none by itself."""
    security_group_ids: NotRequired[list[pulumi.Input[str]]]
    """Further security groups of the nodes. Default: none."""
    cluster_endpoint: NotRequired[pulumi.Input[str]]
    """Address of the API server; needed with an image of your own."""
    cluster_certificate_authority: NotRequired[pulumi.Input[str]]
    """Certificate authority of the API server, Base64; needed with an image of your own."""
    cluster_service_cidr: NotRequired[pulumi.Input[str]]
    """Address range of services; needed with an image of your own."""
    kubernetes_version: NotRequired[str]
    """Minor version of the cluster, `"1.36"`. Default: 1.36."""
    environment: NotRequired[str]
    """`dev`, `staging`, `prod`: what must be pinned. Default dev."""
    name_prefix: NotRequired[str]
    """First part of names in AWS. Default `gpufleet`."""
    tags: NotRequired[dict[str, str]]
    """Tags of everything that takes them. Default: none."""
    configurations: NotRequired[pulumi.Input[list[str]]]
    """Output `configurations` of the cluster's `GpuAddons`, from another stack: nodes that would
    choose anything else are refused. Default: not compared, the add-ons are of this program."""


ACCESS = ("clusterEndpoint", "clusterCertificateAuthority", "clusterServiceCidr")
DEFAULT_PREFIX = "gpufleet"


def compiled_pool(component: str, given: Mapping[str, Any], provisioner: str | None = None) -> Pool:
    """The pool on its own. Raises InvalidArgumentsError with every finding."""
    cluster = {"name": "cluster", "region": given["region"]}
    if "kubernetesVersion" in given:
        cluster["kubernetesVersion"] = given["kubernetesVersion"]
    spec: dict[str, Any] = {
        "catalogue": given["catalogue"],
        "platform": "eks",
        "cluster": cluster,
        "pools": [given["pool"]],
    }
    if "environment" in given:
        spec["environment"] = given["environment"]
    if provisioner is not None:
        spec["provisioner"] = provisioner
    result = compile_data(spec)
    if result.fleet is None or not result.deployable:
        refuse(component, result.findings)
    return result.fleet.pools[0]


def judge_provisioner(component: str, pool: Pool, allowed: Collection[Provisioner]) -> None:
    """Refuse a pool whose nodes another component makes. Raises InvalidArgumentsError."""
    if pool.provisioner in allowed:
        return
    names = ", ".join(one.value for one in allowed)
    found = error(
        "provisioner-of-other-component",
        f"{pool.path}.provisioner",
        f"{pool.name} is provisioned by {pool.provisioner.value}, and this component makes nodes "
        f"for {names}",
        f"write `provisioner: {next(iter(allowed)).value}`, or use "
        + ("EksGpuNodeGroup" if Provisioner.KARPENTER in allowed else "KarpenterGpuNodePool"),
        found=pool.provisioner.value,
    )
    refuse(component, [found])


def judge_connection(given: Mapping[str, Any], pool: Pool, shape: EksShape) -> list[Finding]:
    """What the pool needs and the connection does not have."""
    wanted: dict[str, str] = {}
    if shape.efa:
        wanted["vpcId"] = "its EFA interfaces need a security group of their own"
    if shape.efa or "networkInterfaces" in shape.options.launch_template:
        wanted["clusterSecurityGroupId"] = (
            "EKS adds it to no machine whose interfaces name security groups"
        )
    if given.get("securityGroupIds"):
        wanted["clusterSecurityGroupId"] = (
            "EKS adds it to no machine that has security groups of its own"
        )
    if shape.custom:
        wanted |= dict.fromkeys(ACCESS, "nodes of an image of your own join by user data")
    missing = [
        error(
            "connection-missing",
            key,
            f"{pool.name} needs {key}: {why}",
            f"give {key} in the connection",
        )
        for key, why in wanted.items()
        if given.get(key) is None
    ]
    return [*missing, *_unreadable(given)]


def _unreadable(given: Mapping[str, Any]) -> Iterable[Finding]:
    """What is known already, and can be no role and no address range."""
    role, services = given.get("nodeRoleArn"), given.get("clusterServiceCidr")
    if isinstance(role, str) and not _ROLE.match(role):
        yield error(
            "connection-no-role-arn",
            "nodeRoleArn",
            f"{role!r} is no ARN of an IAM role: partition and account are read from it",
            "write it as arn:aws:iam::123456789012:role/nodes",
            found=role,
        )
    if isinstance(services, str) and not _is_network(services):
        yield error(
            "connection-no-address-range",
            "clusterServiceCidr",
            f"{services!r} is no address range",
            "write the cluster's own, as 172.20.0.0/16 or fd12:3456:789a::/108",
            found=services,
        )


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return "/" in text


_ROLE = re.compile(r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$")
"""Of every partition: `aws`, `aws-cn`, `aws-us-gov`, `aws-iso`."""


def cluster_access(given: Mapping[str, Any]) -> pulumi.Output[ClusterAccess]:
    """The cluster as nodes are told of it, once all parts are known."""
    parts = [given["clusterName"], *(given[key] for key in ACCESS)]
    return cast(
        "pulumi.Output[ClusterAccess]",
        pulumi.Output.all(*parts).apply(lambda known: ClusterAccess(*known)),
    )
