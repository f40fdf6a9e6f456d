"""The AWS provider's account, region and resource kinds."""

from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.aws.account import ACCOUNT_ID, Account
from gpufleet_sandbox.cloud.cloud import CloudAccount, CloudError, NoAnswerError, ResourceKind
from gpufleet_sandbox.cloud.sdk import ResourceType
from gpufleet_sandbox.cloud.store import CloudFolder


class AwsCloud(CloudAccount):
    """One AWS account."""

    name = "aws"

    def __init__(self, folder: CloudFolder, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(folder, settings or {})
        self.account = Account(folder.root)

    @property
    def region(self) -> str:
        """The provider's region."""
        return str(self.settings["region"])

    def configured(self, settings: Mapping[str, Any]) -> None:
        """Read the settings; a region is required, and the environment is not read."""
        if not settings.get("region"):
            raise CloudError("missing region: give aws.Provider a region")
        super().configured(settings)

    def kind(self, resource: ResourceType) -> ResourceKind:
        """The kind of the type; what is not known here is checked and kept."""
        # Imported late: a preview makes nothing and needs neither botocore's models nor moto.
        from gpufleet_sandbox.cloud.aws.kinds import AwsPlainKind
        from gpufleet_sandbox.cloud.aws.table import kinds

        return kinds().get(resource.token, AwsPlainKind)(self, resource)

    def filled(self, token: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The provider's region where the resource names none."""
        filled = dict(inputs)
        if "region" in self.sdk.resource(token).record.properties:
            filled.setdefault("region", self.region)
        return filled

    def tags_all(self, given: Mapping[str, str] | None) -> dict[str, str]:
        """The resource's tags over the provider's default ones."""
        defaults = (self.settings.get("defaultTags") or {}).get("tags") or {}
        return {**defaults, **(given or {})}

    def arn(self, service: str, region: str, rest: str) -> str:
        """An ARN of this account."""
        return f"arn:aws:{service}:{region}:{ACCOUNT_ID}:{rest}"

    def answer(self, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of the scenario, else that of the account."""
        try:
            return super().answer(function, arguments)
        except NoAnswerError:
            from gpufleet_sandbox.cloud.aws.lookups import look_up

            found = look_up(self, function, arguments)
            if found is None:
                raise
            return found
