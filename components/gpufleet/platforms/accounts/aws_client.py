# pyright: standard
"""Read-only calls to AWS that return an answer, a missing permission or an error."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpufleet.components_base.answers import (
    Answers,
    CannotAskError,
    MissingError,
    NotAnsweredError,
)
from gpufleet.documents.data_files import data_part
from gpufleet.findings import Finding
from gpufleet.installation import install_command

_QUESTIONS = Path(__file__).with_name("aws_questions")

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

    def answer(
        self, name: str, missing: Finding | None = None, /, **facts: Any
    ) -> dict[str, Any] | None:
        """The result of a question as of `ask`; None without one, which is reported.

        `missing` is the finding if the requested object does not exist; None: not an error.
        """
        return self._answers.answer(missing, self.ask, name, **facts)

    def ask(self, name: str, /, **facts: Any) -> dict[str, Any]:
        """The result of a question of `aws_questions.yaml` with these facts, with all its pages.

        Raises:
            NotAnsweredError: not allowed, not reachable, or throttled; reported.
            MissingError: the requested object does not exist.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        asked = data_part(_QUESTIONS, name, **facts)
        service, operation = asked["service"], asked["operation"]
        path, question, parameters = asked["path"], asked["question"], asked["parameters"]
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
