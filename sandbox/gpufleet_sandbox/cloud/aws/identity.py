"""IAM: roles, policies, instance profiles."""

# ruff: noqa: D102 - `Kind` describes create, update and delete

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind, added, computed_of, picked
from gpufleet_sandbox.cloud.aws.model import request, tags
from gpufleet_sandbox.cloud.cloud import CloudError, Made, digest
from gpufleet_sandbox.cloud.store import Stored


class RoleKind(AwsPlainKind):
    """iam.Role."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        parameters = request(
            "iam",
            "CreateRole",
            {
                **picked(inputs, "assumeRolePolicy", "description", "maxSessionDuration", "path"),
                **picked(inputs, "permissionsBoundary"),
                "roleName": inputs["name"],
                "tags": self.all_tags(inputs),
            },
            {"assumeRolePolicy": "AssumeRolePolicyDocument"},
        )
        role = self.call("iam", "CreateRole", inputs, parameters)["Role"]
        for arn in inputs.get("managedPolicyArns") or []:
            self._attach(inputs["name"], arn)
        for policy in inputs.get("inlinePolicies") or []:
            document = {"RoleName": inputs["name"], "PolicyName": policy["name"]}
            document["PolicyDocument"] = policy["policy"]
            self.call("iam", "PutRolePolicy", inputs, document)
        computed = {"arn": role["Arn"], "uniqueId": role["RoleId"]}
        return Made(inputs["name"], {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        name = before.id
        if inputs["assumeRolePolicy"] != before.inputs["assumeRolePolicy"]:
            document = {"RoleName": name, "PolicyDocument": inputs["assumeRolePolicy"]}
            self.call("iam", "UpdateAssumeRolePolicy", inputs, document)
        for arn in added(before.inputs, inputs, "managedPolicyArns"):
            self._attach(name, arn)
        for arn in added(inputs, before.inputs, "managedPolicyArns"):
            self.call("iam", "DetachRolePolicy", inputs, {"RoleName": name, "PolicyArn": arn})
        if wanted := self.all_tags(inputs):
            self.call("iam", "TagRole", inputs, {"RoleName": name, "Tags": tags(wanted)})
        return Made(name, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        name = before.id
        for arn in before.inputs.get("managedPolicyArns") or []:
            self.call("iam", "DetachRolePolicy", {}, {"RoleName": name, "PolicyArn": arn})
        for policy in before.inputs.get("inlinePolicies") or []:
            named = {"RoleName": name, "PolicyName": policy["name"]}
            self.call("iam", "DeleteRolePolicy", {}, named)
        self.call("iam", "DeleteRole", {}, {"RoleName": name})

    def _attach(self, role: str, arn: str) -> None:
        self.call("iam", "AttachRolePolicy", {}, {"RoleName": role, "PolicyArn": arn})


class PolicyKind(AwsPlainKind):
    """iam.Policy."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        parameters = request(
            "iam",
            "CreatePolicy",
            {
                **picked(inputs, "description", "path", "policy"),
                "policyName": inputs["name"],
                "tags": self.all_tags(inputs),
            },
            {"policy": "PolicyDocument"},
        )
        policy = self.call("iam", "CreatePolicy", inputs, parameters)["Policy"]
        computed = {"arn": policy["Arn"], "policyId": policy["PolicyId"], "attachmentCount": 0}
        return Made(policy["Arn"], {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        if inputs["policy"] != before.inputs["policy"]:
            document = {"PolicyArn": before.id, "PolicyDocument": inputs["policy"]}
            self.call("iam", "CreatePolicyVersion", inputs, {**document, "SetAsDefault": True})
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        found = self.call("iam", "ListPolicyVersions", {}, {"PolicyArn": before.id})
        for version in found["Versions"]:
            if not version["IsDefaultVersion"]:
                named = {"PolicyArn": before.id, "VersionId": version["VersionId"]}
                self.call("iam", "DeletePolicyVersion", {}, named)
        self.call("iam", "DeletePolicy", {}, {"PolicyArn": before.id})


class RolePolicyKind(AwsPlainKind):
    """iam.RolePolicy: a policy written into a role."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        return Made(f"{inputs['role']}:{inputs['name']}")

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        self._put(inputs)
        return Made(before.id)

    def delete(self, before: Stored) -> None:
        role, _, name = before.id.partition(":")
        self.call("iam", "DeleteRolePolicy", {}, {"RoleName": role, "PolicyName": name})

    def _put(self, inputs: Mapping[str, Any]) -> None:
        named = {"RoleName": inputs["role"], "PolicyName": inputs["name"]}
        self.call("iam", "PutRolePolicy", inputs, {**named, "PolicyDocument": inputs["policy"]})


class RolePolicyAttachmentKind(AwsPlainKind):
    """iam.RolePolicyAttachment."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        named = {"RoleName": inputs["role"], "PolicyArn": inputs["policyArn"]}
        self.call("iam", "AttachRolePolicy", inputs, named)
        return Made(f"{inputs['role']}-{digest(inputs['policyArn'])[:20]}")

    def delete(self, before: Stored) -> None:
        named = {"RoleName": before.inputs["role"], "PolicyArn": before.inputs["policyArn"]}
        self.call("iam", "DetachRolePolicy", {}, named)


class InstanceProfileKind(AwsPlainKind):
    """iam.InstanceProfile."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        name = inputs["name"]
        made = self.call("iam", "CreateInstanceProfile", inputs, {"InstanceProfileName": name})
        profile = made["InstanceProfile"]
        if role := inputs.get("role"):
            named = {"InstanceProfileName": name, "RoleName": role}
            self.call("iam", "AddRoleToInstanceProfile", inputs, named)
        computed = {"arn": profile["Arn"], "uniqueId": profile["InstanceProfileId"]}
        return Made(name, {**computed, **self.tags_of(inputs)})

    def update(self, before: Stored, inputs: Mapping[str, Any]) -> Made:
        old, new = before.inputs.get("role"), inputs.get("role")
        if old != new:
            for operation, role in (("RemoveRoleFrom", old), ("AddRoleTo", new)):
                if role:
                    named = {"InstanceProfileName": before.id, "RoleName": role}
                    self.call("iam", f"{operation}InstanceProfile", inputs, named)
        return Made(before.id, {**computed_of(before), **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        named = {"InstanceProfileName": before.id}
        if role := before.inputs.get("role"):
            self.call("iam", "RemoveRoleFromInstanceProfile", {}, {**named, "RoleName": role})
        self.call("iam", "DeleteInstanceProfile", {}, named)


class ServiceLinkedRoleKind(AwsPlainKind):
    """iam.ServiceLinkedRole: an account has one for each service."""

    def create(self, inputs: Mapping[str, Any]) -> Made:
        service = inputs["awsServiceName"]
        if self._found(service):
            raise CloudError(
                f"CreateServiceLinkedRole: InvalidInput: Service role name for {service} has been "
                "taken in this account"
            )
        made = self.call("iam", "CreateServiceLinkedRole", inputs, {"AWSServiceName": service})
        role = made["Role"]
        computed = {
            "arn": role["Arn"],
            "name": role["RoleName"],
            "path": role["Path"],
            "uniqueId": role["RoleId"],
        }
        return Made(role["Arn"], {**computed, **self.tags_of(inputs)})

    def delete(self, before: Stored) -> None:
        named = {"RoleName": before.outputs["name"]}
        self.call("iam", "DeleteServiceLinkedRole", {}, named)

    def _found(self, service: str) -> bool:
        named = {"PathPrefix": f"/aws-service-role/{service}/"}
        return bool(self.call("iam", "ListRoles", {}, named)["Roles"])


def attached_policies(kind: AwsPlainKind, role_arn: str) -> set[str]:
    """Names of the managed policies of a role."""
    named = {"RoleName": role_arn.rsplit("/", 1)[-1]}
    found = kind.call("iam", "ListAttachedRolePolicies", {}, named)["AttachedPolicies"]
    return {one["PolicyName"] for one in found}
