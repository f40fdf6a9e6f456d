"""Base class of every resource kind of AWS."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpufleet_sandbox.cloud.cloud import PlainKind
from gpufleet_sandbox.cloud.store import Stored

if TYPE_CHECKING:
    from gpufleet_sandbox.cloud.aws.provider import AwsCloud

GLOBAL_REGION = "us-east-1"
"""Region for calls of services without regions."""


class AwsPlainKind(PlainKind):
    """A resource of AWS that is checked and kept, with tags and an ARN that could be one."""

    cloud: "AwsCloud"  # pyright: ignore[reportIncompatibleVariableOverride]

    def computed(self, identifier: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Tags with the defaults; an ARN where the type has one."""
        service, name = self.resource.token.split(":")[1:]
        made = self.tags_of(inputs)
        if "arn" in self.resource.outputs:
            path = f"{name.lower()}/{identifier}"
            made["arn"] = self.cloud.arn(service.split("/")[0], self.region_of(inputs), path)
        if "region" in self.resource.outputs:
            made["region"] = self.region_of(inputs)
        return made

    def call(
        self, service: str, operation: str, inputs: Mapping[str, Any], parameters: Mapping[str, Any]
    ) -> dict[str, Any]:
        """One API call in the region of `inputs`."""
        region = GLOBAL_REGION if service == "iam" else self.region_of(inputs)
        return self.cloud.account.call(service, operation, region, parameters)

    def region_of(self, inputs: Mapping[str, Any]) -> str:
        """Region of the resource."""
        return str(inputs.get("region") or self.cloud.region)

    def tags_of(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The property `tagsAll`, for types that have it."""
        if "tagsAll" not in self.resource.outputs:
            return {}
        return {"tagsAll": self.cloud.tags_all(inputs.get("tags"))}

    def all_tags(self, inputs: Mapping[str, Any]) -> dict[str, str]:
        """The resource's tags over the provider's default ones."""
        return self.cloud.tags_all(inputs.get("tags"))


def picked(inputs: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Those of the inputs that are given."""
    return {key: inputs[key] for key in keys if inputs.get(key) is not None}


def added(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> list[str]:
    """Items of a list that it did not have before."""
    return [one for one in after.get(key) or [] if one not in (before.get(key) or [])]


def computed_of(before: Stored) -> dict[str, Any]:
    """Fields that the cloud added at creation, in the names that `Made` uses."""
    return {key: value for key, value in before.outputs.items() if key not in before.inputs}
