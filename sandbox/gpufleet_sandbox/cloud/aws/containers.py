"""EKS: clusters, node groups, add-ons, access, pod identities."""

# ruff: noqa: D102 - create, update and delete are what `Kind` says

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gpufleet_sandbox.cloud.aws.admission import admit_node_group
from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind, computed_of, picked
from gpufleet_sandbox.cloud.aws.model import request
from gpufleet_sandbox.cloud.cloud import CloudError, Made, digest
from gpufleet_sandbox.cloud.store import Stored

_NODE_GROUP_RENAMES = {
    "nodeGroupName": "nodegroupName",
    "nodeRoleArn": "nodeRole",
    "subnetIds": "subnets",
    "sourceSecurityGroupIds": "sourceSecurityGroups",
    "forceUpdateVersion": "force",
}
_VERSION_KEYS = ("launchTemplate", "releaseVersion", "version")
_CONFIG_KEYS = ("nodeRepairConfig", "scalingConfig", "updateConfig")


class ClusterKind(AwsPlainKind):
    """eks.Cluster, as far as a node group needs one."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        network = picked(inputs["vpcConfig"], "subnetIds", "securityGroupIds")
        given = {
            **picked(inputs, "name", "roleArn", "version"),
            "resourcesVpcConfig": network,
            "tags": self.all_tags(inputs),
        }
        parameters = request("eks", "CreateCluster", given)
        cluster = self.call("eks", "CreateCluster", inputs, parameters)["cluster"]
        computed = {"arn": cluster["arn"], "endpoint": cluster["endpoint"], "status": "ACTIVE"}
        return Made(inputs["name"], {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        self.call("eks", "DeleteCluster", before.inputs, {"name": before.id})


class NodeGroupKind(AwsPlainKind):
    """eks.NodeGroup, with the Auto Scaling group that EKS makes for it."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        given = {
            key: value
            for key, value in inputs.items()
            if key not in ("region", "tags", "nodeGroupNamePrefix", "forceUpdateVersion")
        }
        if marks := self.all_tags(inputs):
            given["tags"] = marks
        parameters = request("eks", "CreateNodegroup", given, _NODE_GROUP_RENAMES)
        cluster = self._cluster(inputs)
        template = self._template(inputs)
        admit_node_group(parameters, template, str(cluster["version"]))
        self._same_network(inputs)
        made = self.call("eks", "CreateNodegroup", inputs, parameters)["nodegroup"]
        group = made["resources"]["autoScalingGroups"][0]["name"]
        self._auto_scaling_group(group, inputs)
        computed: dict[str, Any] = {
            "amiType": "CUSTOM" if (template or {}).get("ImageId") else "AL2023_x86_64_STANDARD",
            "arn": made["nodegroupArn"],
            "capacityType": "ON_DEMAND",
            "resources": [{"autoscalingGroups": [{"name": group}]}],
            "status": "ACTIVE",
            "version": str(cluster["version"]),
            **self.tags_of(inputs),
        }
        if template is None:
            computed["diskSize"] = 20
        return Made(f"{inputs['clusterName']}:{inputs['nodeGroupName']}", computed)

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        named = {
            "clusterName": inputs["clusterName"],
            "nodegroupName": before.outputs["nodeGroupName"],
        }
        if any(inputs.get(key) != before.inputs.get(key) for key in _VERSION_KEYS):
            given = {**named, **picked(inputs, *_VERSION_KEYS, "forceUpdateVersion")}
            parameters = request("eks", "UpdateNodegroupVersion", given, _NODE_GROUP_RENAMES)
            self._template(inputs)
            self.call("eks", "UpdateNodegroupVersion", inputs, parameters)
        if changed := self._configuration(before.inputs, inputs):
            parameters = request("eks", "UpdateNodegroupConfig", {**named, **changed})
            admit_node_group(parameters, None, "0.0")
            self.call("eks", "UpdateNodegroupConfig", inputs, parameters)
        sent = "scalingConfig" in changed
        seen = {} if sent else {"scalingConfig": before.outputs["scalingConfig"]}
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)}, seen)

    def delete(self, before: Stored) -> None:
        cluster, _, name = before.id.partition(":")
        self.call(
            "eks", "DeleteNodegroup", before.inputs, {"clusterName": cluster, "nodegroupName": name}
        )
        for resource in before.outputs["resources"]:
            for group in resource["autoscalingGroups"]:
                named = {"AutoScalingGroupName": group["name"], "ForceDelete": True}
                self.call("autoscaling", "DeleteAutoScalingGroup", before.inputs, named)

    def _configuration(
        self, before: Mapping[str, Any], inputs: Mapping[str, Any]
    ) -> dict[str, Any]:
        changed = {
            key: inputs[key]
            for key in _CONFIG_KEYS
            if key in inputs and inputs[key] != before.get(key)
        }
        old, new = before.get("labels") or {}, inputs.get("labels") or {}
        if old != new:
            changed["labels"] = {
                "addOrUpdateLabels": {k: v for k, v in new.items() if old.get(k) != v},
                "removeLabels": [key for key in old if key not in new],
            }
        old_taints, new_taints = before.get("taints") or [], inputs.get("taints") or []
        if old_taints != new_taints:
            changed["taints"] = {
                "addOrUpdateTaints": [one for one in new_taints if one not in old_taints],
                "removeTaints": [one for one in old_taints if one not in new_taints],
            }
        return changed

    def _cluster(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        named = {"name": inputs["clusterName"]}
        return self.call("eks", "DescribeCluster", inputs, named)["cluster"]

    def _template(self, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        """Data of the launch template version that is named; a missing one is refused."""
        named = inputs.get("launchTemplate")
        if not named:
            return None
        which = (
            {"LaunchTemplateId": named["id"]}
            if named.get("id")
            else {"LaunchTemplateName": named.get("name", "")}
        )
        version = {**which, "Versions": [str(named["version"])]}
        found = self.call("ec2", "DescribeLaunchTemplateVersions", inputs, version)
        versions = found["LaunchTemplateVersions"]
        if not versions:
            raise CloudError(
                f"InvalidLaunchTemplateVersion: launch template {next(iter(which.values()))} has "
                f"no version {named['version']}"
            )
        return versions[0]["LaunchTemplateData"]

    def _same_network(self, inputs: Mapping[str, Any]) -> None:
        """Subnets that do not exist, or of several networks, are refused."""
        subnets = {"SubnetIds": list(inputs["subnetIds"])}
        found = self.call("ec2", "DescribeSubnets", inputs, subnets)["Subnets"]
        if len({subnet["VpcId"] for subnet in found}) > 1:
            raise CloudError(
                "CreateNodegroup: InvalidParameterException: subnets must be of one VPC"
            )

    def _auto_scaling_group(self, name: str, inputs: Mapping[str, Any]) -> None:
        """The group behind the node group, so that its tags can be set. It holds no instances."""
        template = inputs.get("launchTemplate")
        if template is None:
            own = {
                "LaunchTemplateName": name,
                "LaunchTemplateData": {
                    "InstanceType": (inputs.get("instanceTypes") or ["t3.medium"])[0]
                },
            }
            made = self.call("ec2", "CreateLaunchTemplate", inputs, own)["LaunchTemplate"]
            template = {"id": made["LaunchTemplateId"], "version": "1"}
        renames = {"id": "LaunchTemplateId", "name": "LaunchTemplateName", "version": "Version"}
        parameters = {
            "AutoScalingGroupName": name,
            "MinSize": 0,
            "MaxSize": int(inputs["scalingConfig"]["maxSize"]),
            "DesiredCapacity": 0,
            "VPCZoneIdentifier": ",".join(inputs["subnetIds"]),
            "LaunchTemplate": {renames[key]: str(value) for key, value in template.items()},
        }
        self.call("autoscaling", "CreateAutoScalingGroup", inputs, parameters)


class _OfClusterKind(AwsPlainKind):
    """Something inside a cluster that moto lacks: its request is validated, the cluster must
    exist."""

    operation: str
    renames: Mapping[str, str] = MappingProxyType({})
    left_out: tuple[str, ...] = ()

    def validated(self, verb: str, inputs: Mapping[str, Any], *left_out: str) -> None:
        """Validate a request made of all inputs but those the API does not take."""
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
        self.refuse_second(identifier)
        path = f"addon/{inputs['clusterName']}/{inputs['addonName']}/{digest(identifier)[:12]}"
        arn = self.cloud.arn("eks", self.region_of(inputs), path)
        return Made(identifier, {"arn": arn, **self.tags_of(inputs)})

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
