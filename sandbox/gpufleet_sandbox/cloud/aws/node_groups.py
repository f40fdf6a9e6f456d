"""EKS: node groups, and whether their machines join."""

# ruff: noqa: D102 - `Kind` describes create, update and delete

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.aws.admission import admit_node_group
from gpufleet_sandbox.cloud.aws.identity import attached_policies
from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind, computed_of, picked
from gpufleet_sandbox.cloud.aws.model import request
from gpufleet_sandbox.cloud.aws.network import default_route
from gpufleet_sandbox.cloud.cloud import CloudError, Made
from gpufleet_sandbox.cloud.joined_nodes import JoinedCluster, MachineGroup, PlainMachine
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
_NODE_POLICIES = (
    ("AmazonEKSWorkerNodePolicy",),
    ("AmazonEC2ContainerRegistryPullOnly", "AmazonEC2ContainerRegistryReadOnly"),
    ("AmazonEKS_CNI_Policy",),
)
"""Policies of the node role: one of each (EKS user guide, create-node-role)."""
_NODE_ADDONS = ("vpc-cni", "kube-proxy")
"""Without which nodes are not Ready, where EKS does not install them by itself."""
_EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}


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
        if int(inputs["scalingConfig"]["desiredSize"]):
            self._joins(inputs)
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
        self._machines(made["nodegroupName"], inputs, template)
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
        if sent:
            self._machines(named["nodegroupName"], inputs, self._template(inputs))
        seen = {} if sent else {"scalingConfig": before.outputs["scalingConfig"]}
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)}, seen)

    def delete(self, before: Stored) -> None:
        cluster, _, name = before.id.partition(":")
        gone = {**before.inputs, "scalingConfig": {"desiredSize": 0}}
        self._machines(name, gone, self._template(before.inputs))
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

    def _joins(self, inputs: Mapping[str, Any]) -> None:
        """Whether machines that start would join: EKS waits for them, and fails the group."""
        cluster = self.cloud.folder.find("aws:eks/cluster:Cluster", str(inputs["clusterName"]))
        missing = [
            f"the node role has no {' or '.join(names)}"
            for names in _NODE_POLICIES
            if not attached_policies(self, str(inputs["nodeRoleArn"])) & set(names)
        ]
        for subnet in inputs["subnetIds"]:
            route = default_route(self.cloud, self.region_of(inputs), subnet)
            if "NatGatewayId" not in route:
                missing.append(f"{subnet} has no route to a NAT gateway")
        if cluster is not None and cluster.inputs.get("bootstrapSelfManagedAddons") is False:
            addons = {
                one.inputs["addonName"]
                for one in self.cloud.folder.resources("aws:eks/addon:Addon")
                if one.inputs["clusterName"] == inputs["clusterName"]
            }
            missing += [f"the add-on {one} is missing" for one in _NODE_ADDONS if one not in addons]
        if missing:
            raise CloudError(
                "waiting for EKS Node Group create: unexpected state 'CREATE_FAILED', wanted "
                "target 'ACTIVE'. last error: NodeCreationFailure: Instances failed to join the "
                f"kubernetes cluster ({'; '.join(missing)})"
            )

    def _machines(
        self, name: str, inputs: Mapping[str, Any], template: Mapping[str, Any] | None
    ) -> None:
        """The group's machines in the sandbox's cluster, where the cloud has one."""
        behind = JoinedCluster.of(self.cloud.folder)
        if behind is None:
            return
        from_template = [kind] if (kind := (template or {}).get("InstanceType")) else []
        machine = (inputs.get("instanceTypes") or from_template or ["t3.medium"])[0]
        subnets = {"SubnetIds": list(inputs["subnetIds"])}
        found = self.call("ec2", "DescribeSubnets", inputs, subnets)["Subnets"]
        image = str(inputs.get("amiType") or "")
        group = MachineGroup(
            name=name,
            machine_type=machine,
            region=self.region_of(inputs),
            zones=tuple(sorted({one["AvailabilityZone"] for one in found})),
            labels={
                **(inputs.get("labels") or {}),
                "eks.amazonaws.com/nodegroup": name,
                "eks.amazonaws.com/capacityType": str(inputs.get("capacityType") or "ON_DEMAND"),
            },
            taints=tuple(
                {
                    "key": taint["key"],
                    "value": taint.get("value", ""),
                    "effect": _EFFECTS[taint["effect"]],
                }
                for taint in inputs.get("taints") or []
            ),
            provider="aws",
            driver="NVIDIA" in image or image.endswith("_GPU"),
            plain=self._plain(machine, inputs),
        )
        behind.scale(group, int(inputs["scalingConfig"]["desiredSize"]))

    def _plain(self, machine: str, inputs: Mapping[str, Any]) -> PlainMachine | None:
        named = {"Filters": [{"Name": "instance-type", "Values": [machine]}]}
        found = self.call("ec2", "DescribeInstanceTypes", inputs, named)["InstanceTypes"]
        if not found:
            return None
        arm = "arm64" in found[0]["ProcessorInfo"]["SupportedArchitectures"]
        return PlainMachine(
            found[0]["VCpuInfo"]["DefaultVCpus"],
            found[0]["MemoryInfo"]["SizeInMiB"],
            "arm64" if arm else "amd64",
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
