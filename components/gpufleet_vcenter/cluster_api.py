# pyright: standard
"""The few requests to the Kubernetes cluster that a machine's node needs, as plain JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from urllib3.exceptions import HTTPError
from yaml import YAMLError

from gpufleet_vcenter.errors import failed
from gpufleet_vcenter.settings import KubernetesAccess

CALL_TIMEOUT = urllib3.Timeout(connect=10, read=30)
"""Seconds a connection, and one answer, may take."""
_MERGE_PATCH = "application/merge-patch+json"
_PAGE = 500


class ClusterApi:
    """Requests to one cluster, as the kubeconfig's user. Nothing of the kubeconfig is kept."""

    def __init__(self, access: KubernetesAccess) -> None:
        """Read the kubeconfig.

        Raises:
            VsphereError: the client library or the file is missing, or the file is not usable.
        """
        try:
            from kubernetes import config
            from kubernetes.client import Configuration
            from kubernetes.client.rest import RESTClientObject
        except ModuleNotFoundError:
            raise failed("kubernetes/no-client") from None
        path = Path(access.kubeconfig).expanduser()
        self._path = str(path)
        known: Any = Configuration()
        try:
            config.load_kube_config(str(path), access.context, client_configuration=known)
        except (config.ConfigException, YAMLError, OSError, ValueError) as problem:
            raise failed(
                "kubernetes/kubeconfig", path=path, problem=type(problem).__name__
            ) from None
        self._known = known
        self._pool: urllib3.PoolManager = RESTClientObject(known).pool_manager

    def node(self, name: str) -> Mapping[str, Any] | None:
        """The Node, or None."""
        return self._ask("GET", f"/api/v1/nodes/{quote(name)}", absent=(404,))

    def nodes(self) -> list[Mapping[str, Any]]:
        """Every Node."""
        return list((self._ask("GET", "/api/v1/nodes") or {}).get("items") or [])

    def pods(self, node: str) -> list[Mapping[str, Any]]:
        """Every pod on the node."""
        found: list[Mapping[str, Any]] = []
        more = ""
        while True:
            query = [("fieldSelector", f"spec.nodeName={node}"), ("limit", str(_PAGE))]
            query += [("continue", more)] if more else []
            answer = self._ask("GET", "/api/v1/pods", query=query) or {}
            found += answer.get("items") or []
            more = (answer.get("metadata") or {}).get("continue") or ""
            if not more:
                return found

    def patch_node(self, name: str, patch: Mapping[str, Any]) -> None:
        """Merge a patch into the Node; one that is gone is fine."""
        path = f"/api/v1/nodes/{quote(name)}"
        self._ask("PATCH", path, body=patch, kind=_MERGE_PATCH, absent=(404,))

    def evict(self, pod: Mapping[str, Any]) -> bool:
        """Ask the pod to leave. False: a disruption budget does not allow it now."""
        meta = pod["metadata"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
            # A pod of the same name that came meanwhile (of a StatefulSet) is not meant.
            "deleteOptions": {"preconditions": {"uid": meta["uid"]}},
        }
        path = f"/api/v1/namespaces/{quote(meta['namespace'])}/pods/{quote(meta['name'])}"
        if self._ask("POST", f"{path}/eviction", body=body, absent=(404, 409, 429)) is not None:
            return True
        found = self._ask("GET", path, absent=(404,))
        return found is None or found["metadata"]["uid"] != meta["uid"]

    def delete_node(self, node: Mapping[str, Any]) -> None:
        """Delete exactly this Node object; one that is gone is fine."""
        meta = node["metadata"]
        body = {"preconditions": {"uid": meta["uid"]}}
        path = f"/api/v1/nodes/{quote(meta['name'])}"
        self._ask("DELETE", path, body=body, absent=(404, 409))

    def close(self) -> None:
        """Hang up."""
        self._pool.clear()

    def _ask(
        self,
        method: str,
        path: str,
        *,
        query: list[tuple[str, str]] | None = None,
        body: Mapping[str, Any] | None = None,
        kind: str = "application/json",
        absent: tuple[int, ...] = (),
    ) -> Any:
        """One request; None for an answer with a status of `absent`."""
        try:
            answer = self._pool.request(
                method,
                f"{self._known.host}{path}" + (f"?{urlencode(query)}" if query else ""),
                body=None if body is None else json.dumps(body).encode(),
                headers={"Accept": "application/json", "Content-Type": kind, **self._identity()},
                retries=False,
                timeout=CALL_TIMEOUT,
            )
        except (HTTPError, OSError) as problem:
            raise failed(
                "kubernetes/unreachable", path=self._path, problem=type(problem).__name__
            ) from None
        if answer.status in absent:
            return None
        if answer.status >= 300:
            raise failed(
                "kubernetes/answer",
                file=self._path,
                path=path,
                answer=answer,
                method=method,
                said=_message(answer),
            )
        return answer.json()

    def _identity(self) -> dict[str, str]:
        """Headers that say who asks; a token that ends is renewed here."""
        return {
            str(entry["key"]): str(entry["value"])
            for entry in self._known.auth_settings().values()
            if entry.get("in") == "header" and entry.get("value")
        }


def _message(answer: Any) -> str:
    """What the API server says."""
    try:
        return str(answer.json().get("message") or answer.reason)
    except (ValueError, AttributeError):
        return str(answer.reason)
