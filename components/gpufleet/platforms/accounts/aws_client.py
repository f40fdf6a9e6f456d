# pyright: standard
"""Read-only calls to AWS that return an answer, a missing permission or an error."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gpufleet.components_base.answers import Answers, CannotAskError, MissingError
from gpufleet.installation import install_command
from gpufleet.platforms.accounts.client import Client, RefusedError


class AwsClient(Client):
    """Clients of one region, created on first use; answers have all their pages."""

    questions = Path(__file__).with_name("aws_questions")

    def __init__(self, region: str, answers: Answers) -> None:
        try:
            import boto3
        except ImportError as missing:
            raise CannotAskError(
                f"boto3 is not installed: `{install_command('preflight')}`"
            ) from missing
        from botocore.config import Config

        config = Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 3})
        self._make: Callable[[str], Any] = lambda service: boto3.client(
            service, region_name=region, config=config
        )
        self._clients: dict[str, Any] = {}
        super().__init__(answers)

    def _call(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError

        service, operation = asked["service"], asked["operation"]
        called = "".join(map(str.capitalize, operation.split("_")))
        permission = f"{_IAM.get(service, service)}:{called}"
        try:
            return self._pages(service, operation, asked["parameters"])
        except ClientError as problem:
            error: dict[str, Any] = dict(problem.response.get("Error", {}))
            code = str(error.get("Code", ""))
            if "NotFound" in code or "NoSuch" in code:
                raise MissingError(str(error.get("Message", code))) from None
            raise RefusedError(f"AWS answered {code}", f"allow {permission}") from None
        except BotoCoreError as problem:
            needs = f"credentials that allow {permission}"
            raise RefusedError(str(problem), needs) from None

    def _pages(self, service: str, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        if service not in self._clients:
            self._clients[service] = self._make(service)
        client = self._clients[service]
        if client.can_paginate(operation):
            result: dict[str, Any] = (
                client.get_paginator(operation).paginate(**parameters).build_full_result()
            )
            return result
        return getattr(client, operation)(**parameters)


_IAM = {"service-quotas": "servicequotas"}
"""Service -> its name in policies, if different."""
