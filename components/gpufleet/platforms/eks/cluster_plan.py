"""Plan of an EKS cluster and its network: validated, rendered, without Outputs.

Sources: hashicorp/terraform-provider-aws 00555dc `internal/service/eks/cluster.go` (schema of
`aws_eks_cluster`); Amazon EKS user guide, `network-reqs`, `create-node-role`,
`pod-identities`, `ebs-csi`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from gpufleet.components_base.cluster_networks import (
    ipv4_network,
    validate_public_access,
)
from gpufleet.components_base.component import ComponentPlan
from gpufleet.components_base.refused_arguments import in_own_words, refused_arguments
from gpufleet.findings import Finding, rules_in
from gpufleet.platforms.clouds.aws_tags import validate_role_tags, validate_tags
from gpufleet.platforms.eks.aws_objects import CLUSTER, LAUNCH_TEMPLATE, NODE_GROUP
from gpufleet.platforms.eks.names import LONGEST, SUFFIX, name_prefix
from gpufleet.render.data_files import data_file
from gpufleet.spec.platforms.eks import DeclaredEksCluster

_rules = rules_in(__file__)

WIDEST, NARROWEST = 16, 20
"""Prefix lengths of the network: EC2 allows no larger network, and in a smaller one the VPC CNI,
which gives each pod an address, runs out of addresses with a few GPU nodes."""

NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEKS_CNI_Policy",
)
CLUSTER_POLICIES = ("AmazonEKSClusterPolicy",)
EBS_CSI_POLICY = "service-role/AmazonEBSCSIDriverPolicy"
EBS_CSI_ACCOUNT = "ebs-csi-controller-sa"

BEFORE_NODES = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
"""Add-ons that nodes need to become Ready, and pods to get a role."""
AFTER_NODES = ("coredns", "aws-ebs-csi-driver")
"""Add-ons that are Deployments: they become active when a node can run them."""


@dataclass(frozen=True, slots=True)
class ZoneNetwork:
    """The two subnets of one zone."""

    private: str
    public: str


@dataclass(frozen=True, kw_only=True)
class EksClusterPlan(ComponentPlan):
    """An EKS cluster with its network."""

    declared: DeclaredEksCluster
    zones: Mapping[str, ZoneNetwork]

    @property
    def name(self) -> str:
        """The cluster's."""
        return self.declared.cluster_name

    def tags(self, what: str) -> dict[str, str]:
        """Tags of one resource: its name, and the common tags."""
        return {"Name": f"{self.name}-{what}", **self.declared.tags}


def cluster_plan(declared: DeclaredEksCluster) -> tuple[EksClusterPlan, list[Finding]]:
    """The plan, and errors that prevent its creation."""
    findings = [
        *_validate(declared),
        *validate_tags(declared.tags, "tags"),
        *validate_role_tags(declared.tags, "tags"),
    ]
    if findings:
        return EksClusterPlan(declared=declared, zones={}), findings
    plan = EksClusterPlan(declared=declared, zones=zone_networks(declared.cidr, declared.zones))
    made = cluster_resources(plan)
    tokens = {CLUSTER: "cluster", NODE_GROUP: "systemGroup", LAUNCH_TEMPLATE: "systemTemplate"}
    refused = [
        one for type_, kind in tokens.items() for one in refused_arguments(type_, made[kind])
    ]
    return plan, in_own_words(
        data_file("cluster_arguments", {}, Path(__file__).parent) or {}, refused
    )


def zone_networks(cidr: str, zones: Sequence[str]) -> dict[str, ZoneNetwork]:
    """An eighth of the network for the nodes and pods of each zone, and small public subnets, for
    NAT gateways and load balancers, in the last eighth."""
    *parts, last = IPv4Network(cidr).subnets(prefixlen_diff=3)
    small = list(last.subnets(prefixlen_diff=3))
    return {
        zone: ZoneNetwork(str(parts[index]), str(small[index])) for index, zone in enumerate(zones)
    }


def _validate(declared: DeclaredEksCluster) -> Iterator[Finding]:
    distinct, network = len(set(declared.zones)), ipv4_network(declared.cidr)
    known = {
        "distinct": distinct,
        "count": len(declared.zones),
        "fits": network is not None
        and network.is_private
        and WIDEST <= network.prefixlen <= NARROWEST,
    }
    yield from _rules("eks-cluster", "", declared=declared, **known)
    for index, zone in enumerate(declared.zones):
        if zone.removeprefix(declared.region) not in set("abcdefgh"):
            yield from _rules("zone", f"zones[{index}]", zone=zone, region=declared.region)
    yield from validate_public_access(declared.public_access_cidrs)


def cluster_resources(plan: EksClusterPlan) -> dict[str, dict[str, Any]]:
    """Arguments of the cluster, and of the launch template and the node group of system nodes
    (`systemTemplate`, `systemGroup`), without values of other resources."""
    declared, system = plan.declared, plan.declared.system_nodes
    public = list(declared.public_access_cidrs)
    known = {
        **declared.model_dump(exclude={"system_nodes"}),
        **system.model_dump(),
        "name": plan.name,
        "own_tags": plan.tags("system"),
        "template_prefix": name_prefix(plan.name, "system", "launch template"),
        "group_prefix": name_prefix(plan.name, "system", "node group"),
        "types": list(system.instance_types),
        "most_nodes": system.nodes + 1,
    }
    made = data_file("cluster", known, Path(__file__).parent) or {}
    if declared.log_types:
        made["cluster"]["enabledClusterLogTypes"] = list(declared.log_types)
    network: dict[str, Any] = {"endpointPrivateAccess": True, "endpointPublicAccess": bool(public)}
    if public:
        network["publicAccessCidrs"] = public
    made["cluster"]["vpcConfig"] = network
    return made


def role_prefix(plan: EksClusterPlan, what: str) -> str:
    """Prefix of a role's name."""
    assert len(what) < LONGEST["role"] - SUFFIX
    return name_prefix(plan.name, what, "role")
