# pyright: standard
"""Read-only requests to the cluster of the kubeconfig that return an answer or an error."""

import os
from collections.abc import Callable
from typing import Any

from gpufleet.components_base.answers import (
    Answers,
    CannotAskError,
    MissingError,
    NotAnsweredError,
)
from gpufleet.installation import install_command

TIMEOUT = (5, 20)
"""Timeout in seconds of a connection, and of one answer."""

_DONE = {"create": "created", "patch": "patched"}


class ClusterClient:
    """The cluster of the kubeconfig's current context.

    Raises:
        CannotAskError: the client library is not installed.
        NotAnsweredError: no kubeconfig that can be used; reported.
    """

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
        api = client.ApiClient(known)
        self._objects = client.CustomObjectsApi(api)
        self._version = client.VersionApi(api)
        self._access = client.AuthorizationV1Api(api)
        self._core = client.CoreV1Api(api)
        self._apps = client.AppsV1Api(api)
        self._plain: Callable[[Any], Any] = api.sanitize_for_serialization
        self._answers = answers

    def version(self, path: str, question: str) -> str:
        """Release of the API server, `v1.35.3`. Raises as `_ask`."""
        answer = self._ask(path, question, "get /version", self._version.get_code)
        return str(answer.git_version)

    def cluster_object(
        self, group: str, version: str, plural: str, name: str, path: str, question: str
    ) -> dict[str, Any]:
        """An object without a namespace. Raises as `_ask`."""
        return self._ask(
            path,
            question,
            f"get {plural}.{group}",
            self._objects.get_cluster_custom_object,
            group=group,
            version=version,
            plural=plural,
            name=name,
        )

    def objects(
        self, group: str, version: str, namespace: str, plural: str, path: str, question: str
    ) -> list[dict[str, Any]]:
        """All objects of a kind in a namespace. Raises as `_ask`."""
        answer = self._ask(
            path,
            question,
            f"list {plural}.{group} in {namespace}",
            self._objects.list_namespaced_custom_object,
            group=group,
            version=version,
            namespace=namespace,
            plural=plural,
        )
        return list(answer.get("items") or [])

    def listed(self, kind: str, path: str, question: str) -> list[dict[str, Any]]:
        """All nodes, pods, deployments or daemonsets, as manifests. Raises as `_ask`."""
        calls = {
            "nodes": self._core.list_node,
            "pods": self._core.list_pod_for_all_namespaces,
            "deployments": self._apps.list_deployment_for_all_namespaces,
            "daemonsets": self._apps.list_daemon_set_for_all_namespaces,
        }
        return list(self._plain(self._ask(path, question, f"list {kind}", calls[kind]))["items"])

    def may(self, verb: str, group: str, plural: str, namespace: str | None, path: str) -> bool:
        """Whether the current user may do this to objects of a kind. Raises as `_ask`."""
        attributes = {"group": group, "resource": plural, "verb": verb, "namespace": namespace}
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {k: v for k, v in attributes.items() if v}},
        }
        answer = self._ask(
            path,
            f"whether {f'{plural}.{group}'.rstrip('.')} may be {_DONE.get(verb, verb)}",
            "create selfsubjectaccessreviews.authorization.k8s.io",
            self._access.create_self_subject_access_review,
            body=review,
        )
        return bool(answer.status.allowed)

    def _ask(
        self, path: str, question: str, permission: str, call: Callable[..., Any], **given: Any
    ) -> Any:
        """The result of one call.

        Raises:
            NotAnsweredError: not allowed or not reachable; reported under `path`.
            MissingError: the requested object, or its kind, does not exist.
        """
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        try:
            answer = call(**given, _request_timeout=TIMEOUT)
        except ApiException as problem:
            if problem.status == 404:
                self._answers.answered(question)
                raise MissingError(str(problem.reason)) from None
            reason = f"the cluster answered {problem.status} {problem.reason}"
            self._answers.could_not_check(path, question, reason, f"allow {permission}")
            raise NotAnsweredError from None
        except (HTTPError, OSError) as problem:
            reason = f"the cluster cannot be reached ({type(problem).__name__})"
            self._answers.could_not_check(path, question, reason, "check that its API is reachable")
            raise NotAnsweredError from None
        self._answers.answered(question)
        return answer
