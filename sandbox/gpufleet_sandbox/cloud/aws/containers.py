"""EKS: clusters, node groups, add-ons, access, pod identities."""

# ruff: noqa: D102 - `Kind` describes create, update and delete

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gpufleet_sandbox.cloud.aws.identity import attached_policies
from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind, computed_of, picked
from gpufleet_sandbox.cloud.aws.model import request, validate
from gpufleet_sandbox.cloud.cloud import CloudError, Made, digest
from gpufleet_sandbox.cloud.joined_nodes import JoinedCluster
from gpufleet_sandbox.cloud.store import Stored

_CLUSTER_KEYS = (
    "accessConfig",
    "bootstrapSelfManagedAddons",
    "computeConfig",
    "deletionProtection",
    "kubernetesNetworkConfig",
    "name",
    "roleArn",
    "storageConfig",
    "upgradePolicy",
    "version",
    "zonalShiftConfig",
)
_NETWORK_KEYS = (
    "endpointPrivateAccess",
    "endpointPublicAccess",
    "publicAccessCidrs",
    "securityGroupIds",
    "subnetIds",
)
_NOT_IN_MOTO = (
    "accessConfig",
    "bootstrapSelfManagedAddons",
    "computeConfig",
    "deletionProtection",
    "storageConfig",
    "upgradePolicy",
    "zonalShiftConfig",
)
"""Members of CreateCluster that moto 5.2.5 does not read."""
_NODE_BOUND = ("coredns", "aws-ebs-csi-driver")
"""Add-ons that are Deployments: they wait for a node."""
_SERVICES = "172.20.0.0/16"
"""Default service range of EKS (user guide, network-reqs)."""


class ClusterKind(AwsPlainKind):
    """eks.Cluster, with the security group that EKS makes for it."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        network = picked(inputs["vpcConfig"], *_NETWORK_KEYS)
        given = {
            **picked(inputs, *_CLUSTER_KEYS),
            "resourcesVpcConfig": network,
            "tags": self.all_tags(inputs),
        }
        subnets = self._subnets(inputs)
        self._role(inputs)
        parameters = request("eks", "CreateCluster", given)
        validate("eks", "CreateCluster", parameters)
        known = {key: value for key, value in parameters.items() if key not in _NOT_IN_MOTO}
        cluster = self.call("eks", "CreateCluster", inputs, known)["cluster"]
        named = {
            "GroupName": f"eks-cluster-sg-{inputs['name']}",
            "Description": "nodes and control plane",
            "VpcId": subnets[0]["VpcId"],
        }
        group = self.call("ec2", "CreateSecurityGroup", inputs, named)["GroupId"]
        behind = JoinedCluster.of(self.cloud.folder)
        computed = {
            "arn": cluster["arn"],
            "endpoint": cluster["endpoint"] if behind is None else behind.endpoint,
            "certificateAuthority": {
                "data": cluster["certificateAuthority"]["data"]
                if behind is None
                else behind.authority
            },
            "status": "ACTIVE",
        }
        outputs = {**computed, **self.tags_of(inputs)}
        own = {"clusterSecurityGroupId": group, "vpcId": subnets[0]["VpcId"]}
        return Made(inputs["name"], outputs, filled=_filled(inputs, own))

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        outputs = {**computed_of(before), **self.tags_of(inputs)}
        network = before.outputs["vpcConfig"]
        own = {key: network[key] for key in ("clusterSecurityGroupId", "vpcId")}
        return Made(before.id, outputs, filled=_filled(inputs, own))

    def delete(self, before: Stored) -> None:
        if before.inputs.get("deletionProtection"):
            raise CloudError(
                f"DeleteCluster: InvalidRequestException: deletion protection of {before.id} is on"
            )
        self.call("eks", "DeleteCluster", before.inputs, {"name": before.id})
        group = before.outputs["vpcConfig"]["clusterSecurityGroupId"]
        self.call("ec2", "DeleteSecurityGroup", before.inputs, {"GroupId": group})

    def _subnets(self, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """EKS requires two zones (user guide, network-reqs)."""
        named = {"SubnetIds": list(inputs["vpcConfig"]["subnetIds"])}
        found = self.call("ec2", "DescribeSubnets", inputs, named)["Subnets"]
        if len({one["AvailabilityZone"] for one in found}) < 2:
            raise CloudError(
                "CreateCluster: InvalidParameterException: Subnets specified must be in at least "
                "two different AZs"
            )
        return found

    def _role(self, inputs: Mapping[str, Any]) -> None:
        """The error text on which the provider waits and retries (terraform-provider-aws 00555dc,
        internal/service/eks/cluster.go, resourceClusterCreate)."""
        attached = attached_policies(self, str(inputs["roleArn"]))
        if "AmazonEKSClusterPolicy" not in attached:
            raise CloudError(
                "CreateCluster: InvalidParameterException: The provided role doesn't have the "
                "Amazon EKS Managed Policies associated with it"
            )


def _filled(inputs: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    services = {"serviceIpv4Cidr": _SERVICES, **(inputs.get("kubernetesNetworkConfig") or {})}
    network = {**inputs["vpcConfig"], **own}
    return {"vpcConfig": network, "kubernetesNetworkConfig": services}


class _OfClusterKind(AwsPlainKind):
    """Something inside a cluster that moto lacks: its request is validated, the cluster must
    exist."""

    operation: str
    renames: Mapping[str, str] = MappingProxyType({})
    left_out: tuple[str, ...] = ()

    def validated(self, verb: str, inputs: Mapping[str, Any], *left_out: str) -> None:
        """Validate a request of all inputs except those that the API does not accept."""
        self.call("eks", "DescribeCluster", inputs, {"name": inputs["clusterName"]})
        skipped = {"region", "__defaults", *self.left_out, *left_out}
        given = {key: value for key, value in inputs.items() if key not in skipped}
        parameters = request("eks", f"{verb}{self.operation}", given, self.renames)
        self.call("eks", f"{verb}{self.operation}", inputs, parameters)

    def refuse_second(self, identifier: str) -> None:
        """One of these per cluster."""
        if self.cloud.folder.find(self.resource.token, identifier) is not None:
            raise CloudError(
                f"Create{self.operation}: ResourceInUseException: {identifier} already exists"
            )


class AddonKind(_OfClusterKind):
    """eks.Addon."""

    operation = "Addon"
    left_out = ("preserve", "resolveConflictsOnCreate", "resolveConflictsOnUpdate")

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self.validated("Create", inputs)
        identifier = f"{inputs['clusterName']}:{inputs['addonName']}"
        if inputs["addonName"] in _NODE_BOUND and not self._nodes(inputs):
            raise CloudError(
                f"waiting for EKS Add-On ({identifier}) create: timeout while waiting for state to "
                "become 'ACTIVE' (last state: 'DEGRADED'): InsufficientNumberOfReplicas: no node "
                "runs its pods"
            )
        self.refuse_second(identifier)
        path = f"addon/{inputs['clusterName']}/{inputs['addonName']}/{digest(identifier)[:12]}"
        arn = self.cloud.arn("eks", self.region_of(inputs), path)
        return Made(identifier, {"arn": arn, **self.tags_of(inputs)})

    def _nodes(self, inputs: Mapping[str, Any]) -> int:
        """Machines of the cluster's managed node groups."""
        return sum(
            int(one.inputs["scalingConfig"]["desiredSize"])
            for one in self.cloud.folder.resources("aws:eks/nodeGroup:NodeGroup")
            if one.inputs["clusterName"] == inputs["clusterName"]
        )

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self.validated("Update", inputs, "tags")
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})


class AccessEntryKind(_OfClusterKind):
    """eks.AccessEntry."""

    operation = "AccessEntry"
    renames: Mapping[str, str] = MappingProxyType({"userName": "username"})

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self.validated("Create", inputs)
        identifier = f"{inputs['clusterName']}:{inputs['principalArn']}"
        self.refuse_second(identifier)
        groups = self.cloud.folder.resources("aws:eks/nodeGroup:NodeGroup")
        if any(
            (one.inputs["clusterName"], one.inputs["nodeRoleArn"])
            == (inputs["clusterName"], inputs["principalArn"])
            for one in groups
        ):
            # EKS makes the entry of a managed node group's role by itself (user guide).
            raise CloudError(
                f"CreateAccessEntry: ResourceInUseException: {inputs['principalArn']} has an "
                "access entry, made with a managed node group"
            )
        path = f"access-entry/{inputs['clusterName']}/{digest(identifier)[:12]}"
        arn = self.cloud.arn("eks", self.region_of(inputs), path)
        return Made(identifier, {"accessEntryArn": arn, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self.validated("Update", inputs, "tags", "type")
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})


class AccessPolicyKind(_OfClusterKind):
    """eks.AccessPolicyAssociation."""

    operation = "AccessPolicy"

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self.validated("Associate", inputs)
        return Made(f"{inputs['clusterName']}#{inputs['principalArn']}#{inputs['policyArn']}")


class PodIdentityKind(_OfClusterKind):
    """eks.PodIdentityAssociation."""

    operation = "PodIdentityAssociation"

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self.validated("Create", inputs)
        account = (inputs["clusterName"], inputs["namespace"], inputs["serviceAccount"])
        identifier = f"a-{digest(*account)[:17]}"
        self.refuse_second(identifier)
        path = f"podidentityassociation/{inputs['clusterName']}/{identifier}"
        computed = {
            "associationArn": self.cloud.arn("eks", self.region_of(inputs), path),
            "associationId": identifier,
        }
        return Made(identifier, {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        skipped = ("namespace", "serviceAccount", "tags")
        self.validated("Update", {**inputs, "associationId": before.id}, *skipped)
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})
