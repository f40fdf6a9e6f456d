"""Connection of EKS pools, and the checks of their declaration that components share."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from ipaddress import ip_network
from typing import Any

import pulumi

from gpufleet.arguments.wired_components import EksPoolArgs
from gpufleet.catalogue import load
from gpufleet.catalogue.regions import check_region
from gpufleet.components_base.inputs import declared, refuse, to_camel
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet import Fleet, Pool
from gpufleet.platforms.declarations import compiled_pool
from gpufleet.platforms.eks.shape import EksShape
from gpufleet.platforms.eks.user_data import ClusterEndpoint
from gpufleet.spec.platforms.eks import CLUSTER_NAME
from gpufleet.spec.pool import Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)


ACCESS = ("cluster_endpoint", "cluster_certificate_authority", "cluster_service_cidr")
DEFAULT_PREFIX = "gpufleet"


@dataclass(frozen=True, slots=True, kw_only=True)
class EksConnection:
    """Connection of EKS pools, with the common settings of all pools of a cluster."""

    cluster_name: pulumi.Input[str]
    node_role_arn: pulumi.Input[str]
    subnet_ids_by_zone: Mapping[str, pulumi.Input[str]]
    vpc_id: pulumi.Input[str] | None = None
    cluster_security_group_id: pulumi.Input[str] | None = None
    security_group_ids: Sequence[pulumi.Input[str]] = ()
    cluster_endpoint: pulumi.Input[str] | None = None
    cluster_certificate_authority: pulumi.Input[str] | None = None
    cluster_service_cidr: pulumi.Input[str] | None = None
    configurations: pulumi.Input[list[str]] | None = None
    environment: str
    kubernetes_version: str
    name_prefix: str
    tags: Mapping[str, str]


def eks_connection(given: Mapping[str, Any], fleet: Fleet) -> EksConnection:
    """The connection of a fleet: `given` has the arguments of a component of pools, or a fleet's
    connection, in the spelling of files."""
    names = [field.name for field in fields(EksConnection)]
    wired = {name: given[key] for name in names if (key := to_camel(name)) in given}
    # Arguments have role and subnets. A fleet without them is refused if it needs them.
    known: dict[str, Any] = {
        "cluster_name": fleet.spec.cluster.name,
        "node_role_arn": "",
        "subnet_ids_by_zone": {},
        **wired,
        "environment": fleet.spec.environment,
        "kubernetes_version": fleet.spec.cluster.kubernetes_version,
        "name_prefix": fleet.spec.resource_prefix,
        "tags": fleet.spec.tags,
    }
    return EksConnection(**known)


def declared_eks_pool(
    component: str, args: EksPoolArgs, **defaults: str
) -> tuple[Pool, EksConnection, Sequence[Finding]]:
    """The pool in a component's arguments, by itself, and what was found about it. Raises
    InvalidArgumentsError with every finding when one is an error. `defaults` are fields of the
    FleetSpec."""
    given = {"namePrefix": DEFAULT_PREFIX, **declared(component, EksPoolArgs, args)}
    keys = ("region", "kubernetesVersion", "environment", "namePrefix", "tags", *defaults)
    fleet = compiled_pool(component, "eks", {**given, **defaults}, *keys)
    return fleet.pools[0], eks_connection(given, fleet), fleet.findings


def validate_provisioner(component: str, pool: Pool, allowed: Collection[Provisioner]) -> None:
    """Refuse a pool whose nodes another component creates. Raises InvalidArgumentsError."""
    if pool.provisioner in allowed:
        return
    names = ", ".join(one.value for one in allowed)
    refuse(component, _rules("component", pool.path, pool=pool, names=names))


def validate_connection(connection: EksConnection, pool: Pool, shape: EksShape) -> list[Finding]:
    """Values that the pool needs and the connection lacks."""
    wanted: dict[str, str] = {}
    if shape.efa:
        wanted["vpc_id"] = "its EFA interfaces need a separate security group"
    if shape.efa or "networkInterfaces" in shape.options.launch_template:
        wanted["cluster_security_group_id"] = (
            "EKS does not add it to machines whose interfaces name security groups"
        )
    if connection.security_group_ids:
        wanted["cluster_security_group_id"] = (
            "EKS does not add it to machines that name security groups"
        )
    if shape.custom:
        wanted |= dict.fromkeys(ACCESS, "nodes with a custom image join by user data")
    missing = [
        _finding("connection-missing", to_camel(key), pool=pool.name, field=to_camel(key), why=why)
        for key, why in wanted.items()
        if getattr(connection, key) is None
    ]
    return [*missing, *_unreadable(connection)]


def _unreadable(connection: EksConnection) -> Iterable[Finding]:
    """Known values that are not a valid name, role or address range."""
    yield from validate_cluster_name(connection.cluster_name)
    yield from validate_role(connection.node_role_arn)
    services = connection.cluster_service_cidr
    if isinstance(services, str) and not _is_network(services):
        yield _finding("connection-no-address-range", found=services)


def validate_cluster_name(name: pulumi.Input[str]) -> Iterable[Finding]:
    """An error for a known value that cannot be the name of a cluster of EKS."""
    if isinstance(name, str) and not (re.fullmatch(CLUSTER_NAME, name) and len(name) <= 100):
        yield _finding("connection-no-cluster-name", found=name)


def validate_region(region: str, edition: str) -> Iterable[Finding]:
    """A warning for a region that AWS is not known to have."""
    return check_region(region, ("aws",), load(edition), "region")


def validate_role(role: pulumi.Input[str]) -> Iterable[Finding]:
    """An error for a known value that is not the ARN of a role."""
    if isinstance(role, str) and not _ROLE.match(role):
        yield _finding("connection-no-role-arn", found=role)


def known_role(component: str, role: pulumi.Input[str]) -> pulumi.Output[str]:
    """The role, once it is known to be the ARN of one. Raises InvalidArgumentsError when an Output
    is known that is not."""

    def check(arn: object) -> str:
        if not isinstance(arn, str) or not _ROLE.match(arn):
            refuse(component, [_finding("connection-no-role-arn/output")])
        return arn

    return pulumi.Output.from_input(role).apply(check)


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return "/" in text


_ROLE = re.compile(r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$")
"""ARN prefixes of every partition: `aws`, `aws-cn`, `aws-us-gov`, `aws-iso`."""


def cluster_access(connection: EksConnection) -> pulumi.Output[ClusterEndpoint]:
    """The cluster's address, certificate and network for user data, once all are known."""
    parts = [connection.cluster_name, *(getattr(connection, key) for key in ACCESS)]
    return pulumi.Output.all(*parts).apply(lambda known: ClusterEndpoint(*known))
