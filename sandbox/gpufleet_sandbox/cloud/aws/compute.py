"""EC2 and Auto Scaling: launch templates, security groups, placement groups, tags."""

# ruff: noqa: D102 - `Kind` describes create, update and delete

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.aws.account import ACCOUNT_ID
from gpufleet_sandbox.cloud.aws.admission import admit_template
from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind, computed_of, picked
from gpufleet_sandbox.cloud.aws.model import request, specifications, tags, validate
from gpufleet_sandbox.cloud.cloud import CloudError, Made, digest
from gpufleet_sandbox.cloud.store import Stored

_TEMPLATE_RENAMES = {
    "securityGroups": "Groups",
    "vpcSecurityGroupIds": "SecurityGroupIds",
    "securityGroupNames": "SecurityGroups",
    "ipv4Addresses": "PrivateIpAddresses",
    "blockDurationMinutes": "BlockDurationMinutes",
    "amdSevSnp": "AmdSevSnp",
}
_NOT_TEMPLATE_DATA = frozenset(
    {
        "defaultVersion",
        "description",
        "name",
        "namePrefix",
        "region",
        "tags",
        "updateDefaultVersion",
    }
)


class LaunchTemplateKind(AwsPlainKind):
    """ec2.LaunchTemplate: a template with a version for each change."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        parameters: dict[str, Any] = {
            "LaunchTemplateName": inputs["name"],
            "LaunchTemplateData": self._data(inputs),
        }
        if text := inputs.get("description"):
            parameters["VersionDescription"] = text
        if marks := specifications("launch-template", self.all_tags(inputs)):
            parameters["TagSpecifications"] = marks
        made = self.call("ec2", "CreateLaunchTemplate", inputs, parameters)["LaunchTemplate"]
        return Made(made["LaunchTemplateId"], self._outputs(made, inputs))

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        named = {"LaunchTemplateId": before.id}
        data = self._data(inputs)
        latest = int(before.outputs["latestVersion"])
        if data != self._data(before.inputs) or inputs.get("description") != before.inputs.get(
            "description"
        ):
            parameters = {**named, "LaunchTemplateData": data}
            if text := inputs.get("description"):
                parameters["VersionDescription"] = text
            made = self.call("ec2", "CreateLaunchTemplateVersion", inputs, parameters)
            latest = made["LaunchTemplateVersion"]["VersionNumber"]
        default = inputs.get("defaultVersion")
        if inputs.get("updateDefaultVersion"):
            default = latest
        if default is not None:
            version = {**named, "DefaultVersion": str(default)}
            self.call("ec2", "ModifyLaunchTemplate", inputs, version)
        described = {"LaunchTemplateIds": [before.id]}
        found = self.call("ec2", "DescribeLaunchTemplates", inputs, described)
        return Made(before.id, self._outputs(found["LaunchTemplates"][0], inputs))

    def delete(self, before: Stored) -> None:
        named = {"LaunchTemplateId": before.id}
        self.call("ec2", "DeleteLaunchTemplate", before.inputs, named)

    def _data(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        given = {key: value for key, value in inputs.items() if key not in _NOT_TEMPLATE_DATA}
        given.pop("__defaults", None)
        wrapped = {"launchTemplateName": "x", "launchTemplateData": given}
        whole = request("ec2", "CreateLaunchTemplate", wrapped, _TEMPLATE_RENAMES)
        data = whole.get("LaunchTemplateData", {})
        validate("ec2", "CreateLaunchTemplate", {**whole, "LaunchTemplateName": "template"})
        admit_template(data)
        return data

    def _outputs(self, found: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        region = self.region_of(inputs)
        return {
            "arn": self.cloud.arn("ec2", region, f"launch-template/{found['LaunchTemplateId']}"),
            "defaultVersion": found["DefaultVersionNumber"],
            "latestVersion": found["LatestVersionNumber"],
            "name": found["LaunchTemplateName"],
            **self.tags_of(inputs),
        }


class PlacementGroupKind(AwsPlainKind):
    """ec2.PlacementGroup. moto has none: the request is validated by the model."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        given = {"groupName": inputs["name"]} | picked(
            inputs, "strategy", "partitionCount", "spreadLevel"
        )
        parameters = request("ec2", "CreatePlacementGroup", given)
        self.call("ec2", "CreatePlacementGroup", inputs, parameters)
        if inputs["strategy"] != "partition" and inputs.get("partitionCount"):
            raise CloudError(
                "CreatePlacementGroup: InvalidParameterCombination: a partition count needs the "
                "strategy partition"
            )
        if self.cloud.folder.find(self.resource.token, inputs["name"]) is not None:
            raise CloudError(
                f"CreatePlacementGroup: InvalidPlacementGroup.Duplicate: {inputs['name']}"
            )
        region = self.region_of(inputs)
        computed = {
            "arn": self.cloud.arn("ec2", region, f"placement-group/{inputs['name']}"),
            "placementGroupId": f"pg-{digest(region, inputs['name'])[:17]}",
        }
        return Made(inputs["name"], {**computed, **self.tags_of(inputs)})


class SecurityGroupKind(AwsPlainKind):
    """ec2.SecurityGroup, with the rules written into it."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        parameters: dict[str, Any] = {
            "GroupName": inputs["name"],
            "Description": inputs.get("description") or "Managed by Pulumi",
        }
        if vpc := inputs.get("vpcId"):
            parameters["VpcId"] = vpc
        if marks := specifications("security-group", self.all_tags(inputs)):
            parameters["TagSpecifications"] = marks
        identifier = self.call("ec2", "CreateSecurityGroup", inputs, parameters)["GroupId"]
        # The provider takes away the egress rule that EC2 gives every group.
        everywhere = {"ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"}
        self.call(
            "ec2",
            "RevokeSecurityGroupEgress",
            inputs,
            {"GroupId": identifier, "IpPermissions": [_permission(everywhere)]},
        )
        self._rules("Authorize", identifier, inputs)
        computed = {
            "arn": self.cloud.arn("ec2", self.region_of(inputs), f"security-group/{identifier}"),
            "ownerId": ACCOUNT_ID,
            "name": inputs["name"],
        }
        return Made(identifier, {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._rules("Revoke", before.id, before.inputs)
        self._rules("Authorize", before.id, inputs)
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        self.call("ec2", "DeleteSecurityGroup", before.inputs, {"GroupId": before.id})

    def _rules(self, verb: str, identifier: str, inputs: Mapping[str, Any]) -> None:
        for direction in ("ingress", "egress"):
            permissions = [
                permission
                for rule in inputs.get(direction) or []
                for permission in _inline(rule, identifier)
            ]
            if permissions:
                operation = f"{verb}SecurityGroup{direction.capitalize()}"
                given = {"GroupId": identifier, "IpPermissions": permissions}
                self.call("ec2", operation, inputs, given)


class SecurityGroupRuleKind(AwsPlainKind):
    """ec2.SecurityGroupRule, the older form: one rule may represent several permissions."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        found = self._change("Authorize", inputs)
        rules = [one["SecurityGroupRuleId"] for one in found.get("SecurityGroupRules", [])]
        identifier = f"sgrule-{digest(dict(inputs))[:10]}"
        return Made(identifier, {"securityGroupRuleId": rules[0] if len(rules) == 1 else None})

    def delete(self, before: Stored) -> None:
        self._change("Revoke", before.inputs)

    def _change(self, verb: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        group = inputs["securityGroupId"]
        rule = {
            **inputs,
            "securityGroups": [inputs["sourceSecurityGroupId"]]
            if inputs.get("sourceSecurityGroupId")
            else [],
        }
        operation = f"{verb}SecurityGroup{str(inputs['type']).capitalize()}"
        given = {"GroupId": group, "IpPermissions": _inline(rule, group)}
        return self.call("ec2", operation, inputs, given)


class IngressRuleKind(AwsPlainKind):
    """vpc.SecurityGroupIngressRule: one rule, one id."""

    direction = "Ingress"

    def create(self, inputs: Mapping[str, Any]) -> Made:
        operation = f"AuthorizeSecurityGroup{self.direction}"
        given = {"GroupId": inputs["securityGroupId"], "IpPermissions": [_permission(inputs)]}
        rule = self.call("ec2", operation, inputs, given)["SecurityGroupRules"][0]
        identifier = rule["SecurityGroupRuleId"]
        region = self.region_of(inputs)
        arn = self.cloud.arn("ec2", region, f"security-group-rule/{identifier}")
        computed = {"arn": arn, "securityGroupRuleId": identifier}
        return Made(identifier, {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self.delete(before)
        made = self.create(inputs)
        # The API changes a rule under its id; the new permission takes the old one's place.
        return Made(before.id, {**made.outputs, "securityGroupRuleId": before.id})

    def delete(self, before: Stored) -> None:
        group = before.inputs["securityGroupId"]
        given = {"GroupId": group, "IpPermissions": [_permission(before.inputs)]}
        self.call("ec2", f"RevokeSecurityGroup{self.direction}", before.inputs, given)


class EgressRuleKind(IngressRuleKind):
    """vpc.SecurityGroupEgressRule."""

    direction = "Egress"


class TagKind(AwsPlainKind):
    """ec2.Tag: a tag of a resource with another owner, such as a subnet."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        return Made(f"{inputs['resourceId']},{inputs['key']}")

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        return Made(before.id)

    def delete(self, before: Stored) -> None:
        self._change("DeleteTags", before.inputs)

    def _put(self, inputs: Mapping[str, Any]) -> None:
        self._change("CreateTags", inputs)

    def _change(self, operation: str, inputs: Mapping[str, Any]) -> None:
        marks = tags({inputs["key"]: inputs["value"]})
        self.call("ec2", operation, inputs, {"Resources": [inputs["resourceId"]], "Tags": marks})


def _permission(rule: Mapping[str, Any]) -> dict[str, Any]:
    """One rule of the newer form."""
    made: dict[str, Any] = {"IpProtocol": str(rule["ipProtocol"])}
    for key, name in (("fromPort", "FromPort"), ("toPort", "ToPort")):
        if rule.get(key) is not None:
            made[name] = int(rule[key])
    text = {"Description": rule["description"]} if rule.get("description") else {}
    for key, name, part in (
        ("cidrIpv4", "IpRanges", "CidrIp"),
        ("cidrIpv6", "Ipv6Ranges", "CidrIpv6"),
        ("prefixListId", "PrefixListIds", "PrefixListId"),
        ("referencedSecurityGroupId", "UserIdGroupPairs", "GroupId"),
    ):
        if rule.get(key):
            made[name] = [{part: rule[key], **text}]
    return made


def _inline(rule: Mapping[str, Any], group: str) -> list[dict[str, Any]]:
    """A rule of the older form: every address range and group of it is a permission."""
    plain = {"ipProtocol": rule["protocol"], **picked(rule, "fromPort", "toPort", "description")}
    sources = [("cidrIpv4", one) for one in rule.get("cidrBlocks") or []]
    sources += [("cidrIpv6", one) for one in rule.get("ipv6CidrBlocks") or []]
    sources += [("prefixListId", one) for one in rule.get("prefixListIds") or []]
    sources += [("referencedSecurityGroupId", one) for one in rule.get("securityGroups") or []]
    if rule.get("self"):
        sources.append(("referencedSecurityGroupId", group))
    return [_permission({**plain, key: one}) for key, one in sources]


class GroupTagKind(AwsPlainKind):
    """autoscaling.Tag: a tag of an Auto Scaling group with another owner."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._change("CreateOrUpdateTags", inputs)
        return Made(f"{inputs['autoscalingGroupName']},{inputs['tag']['key']}")

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._change("CreateOrUpdateTags", inputs)
        return Made(before.id)

    def delete(self, before: Stored) -> None:
        self._change("DeleteTags", before.inputs)

    def _change(self, operation: str, inputs: Mapping[str, Any]) -> None:
        tag = inputs["tag"]
        one = {
            "ResourceId": inputs["autoscalingGroupName"],
            "ResourceType": "auto-scaling-group",
            "Key": tag["key"],
            "Value": tag["value"],
            "PropagateAtLaunch": tag["propagateAtLaunch"] in (True, "true"),
        }
        self.call("autoscaling", operation, inputs, {"Tags": [one]})
