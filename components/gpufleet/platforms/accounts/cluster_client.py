# pyright: standard
"""Read-only requests to the cluster of the kubeconfig that return an answer or an error."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpufleet.components_base.answers import Answers, CannotAskError, MissingError, NotAnsweredError
from gpufleet.installation import install_command
from gpufleet.platforms.accounts.client import Client, RefusedError

TIMEOUT = (5, 20)
"""Timeout in seconds of a connection, and of one answer."""


class ClusterClient(Client):
    """The cluster of the kubeconfig's current context.

    Raises:
        CannotAskError: the client library is not installed.
        NotAnsweredError: no kubeconfig that can be used; reported.
    """

    questions = Path(__file__).with_name("cluster_questions")

    def __init__(self, answers: Answers, what: str, how: str) -> None:
        """`what`: the requested data, for messages; `how`: how to log in to it."""
        try:
            from kubernetes import client, config
            from yaml import YAMLError
        except ImportError as missing:
            raise CannotAskError(
                f"the package kubernetes is not installed: `{install_command('preflight')}`"
            ) from missing
        known = client.Configuration()
        try:
            # The library reads the variable when it is imported only.
            config.load_kube_config(os.environ.get("KUBECONFIG"), client_configuration=known)
        except (config.ConfigException, YAMLError, OSError, ValueError) as problem:
            answers.could_not_check(
                "cluster.name",
                what,
                f"no kubeconfig that can be used ({type(problem).__name__})",
                f"{how}, or name a kubeconfig in KUBECONFIG",
            )
            raise NotAnsweredError from None
        known.retries = False
        self._library, self._api = client, client.ApiClient(known)
        super().__init__(answers)

    def _call(self, asked: Mapping[str, Any]) -> Any:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        call = getattr(getattr(self._library, asked["api"])(self._api), asked["method"])
        try:
            answer = call(**asked.get("request", {}), _request_timeout=TIMEOUT)
        except ApiException as problem:
            if problem.status == 404:
                raise MissingError(str(problem.reason)) from None
            reason = f"the cluster answered {problem.status} {problem.reason}"
            raise RefusedError(reason, f"allow {asked['permission']}") from None
        except (HTTPError, OSError) as problem:
            reason = f"the cluster cannot be reached ({type(problem).__name__})"
            raise RefusedError(reason, "check that its API is reachable") from None
        return self._api.sanitize_for_serialization(answer)
