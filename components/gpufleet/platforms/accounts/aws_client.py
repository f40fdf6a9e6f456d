# pyright: standard
"""Read-only calls to AWS that return an answer, a missing permission or an error."""

from collections.abc import Callable
from typing import Any

from gpufleet.components_base.answers import (
    Answers,
    CannotAskError,
    MissingError,
    NotAnsweredError,
)
from gpufleet.installation import install_command

DENIED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "UnauthorizedOperation",
        "UnrecognizedClientException",
    }
)
"""Error codes for a missing permission."""


class AwsClient:
    """Clients of one region, created on first use."""

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
        self._answers = answers

    def ask(
        self, service: str, operation: str, path: str, question: str, **parameters: Any
    ) -> dict[str, Any]:
        """The result of one call, with all its pages.

        Raises:
            NotAnsweredError: not allowed, not reachable, or throttled; reported under `path`.
            MissingError: the requested object does not exist.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        permission = f"{_IAM.get(service, service)}:{_camel(operation)}"
        try:
            answer = self._pages(service, operation, parameters)
        except ClientError as problem:
            error: dict[str, Any] = dict(problem.response.get("Error", {}))
            code = str(error.get("Code", ""))
            if code not in DENIED and ("NotFound" in code or "NoSuch" in code):
                self._answers.answered(question)
                raise MissingError(str(error.get("Message", code))) from None
            reason = f"AWS answered {code}"
            self._answers.could_not_check(path, question, reason, f"allow {permission}")
            raise NotAnsweredError from None
        except BotoCoreError as problem:
            self._answers.could_not_check(
                path, question, str(problem), f"credentials that allow {permission}"
            )
            raise NotAnsweredError from None
        self._answers.answered(question)
        return answer

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


def _camel(operation: str) -> str:
    return "".join(word.capitalize() for word in operation.split("_"))
