"""The few requests to the Kubernetes cluster that a machine's node needs, as plain JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpufleet.nodes.vsphere.errors import Code, VsphereError
from gpufleet.nodes.vsphere.settings import ClusterAccess

CALL_SECONDS = (10, 30)
"""Longest a connection, and one answer, may take."""
_MERGE_PATCH = "application/merge-patch+json"
_PAGE = 500


class ClusterApi:
    """Requests to one cluster, as the kubeconfig's user. Nothing of the kubeconfig is kept."""

    def __init__(self, access: ClusterAccess) -> None:
        """Read the kubeconfig.

        Raises:
            VsphereError: the client library or the file is missing, or the file is not usable.
        """
        try:
            from kubernetes import config
        except ModuleNotFoundError:
            raise VsphereError(
                Code.KUBERNETES,
                "the package kubernetes is not installed, and a kubeconfig is given",
                "pip install 'pulumi-gpufleet[vsphere]'",
            ) from None
        path = Path(access.kubeconfig).expanduser()
        self._path = str(path)
        try:
            self._client: Any = config.new_client_from_config(str(path), access.context)
        except (config.ConfigException, OSError, ValueError) as problem:
            raise VsphereError(
                Code.KUBERNETES,
                f"the kubeconfig {path} cannot be used ({type(problem).__name__})",
                "give the path of a file that this machine can read, and a context it has",
            ) from None

    def node(self, name: str) -> Mapping[str, Any] | None:
        """The Node, or None."""
        return self._ask("GET", f"/api/v1/nodes/{quote(name)}", absent=(404,))

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
        path = f"/api/v1/namespaces/{quote(meta['namespace'])}/pods/{quote(meta['name'])}/eviction"
        answer = self._ask("POST", path, body=body, absent=(404, 409, 429))
        return answer is not None or self._gone(meta)

    def delete_node(self, node: Mapping[str, Any]) -> None:
        """Delete exactly this Node object; one that is gone is fine."""
        meta = node["metadata"]
        body = {"preconditions": {"uid": meta["uid"]}}
        path = f"/api/v1/nodes/{quote(meta['name'])}"
        self._ask("DELETE", path, body=body, absent=(404, 409))

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def _gone(self, meta: Mapping[str, Any]) -> bool:
        path = f"/api/v1/namespaces/{quote(meta['namespace'])}/pods/{quote(meta['name'])}"
        found = self._ask("GET", path, absent=(404,))
        return found is None or found["metadata"]["uid"] != meta["uid"]

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
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            return self._client.call_api(
                path,
                method,
                query_params=query or [],
                header_params={"Accept": "application/json", "Content-Type": kind},
                body=body,
                auth_settings=["BearerToken"],
                response_type="object",
                _return_http_data_only=True,
                _request_timeout=CALL_SECONDS,
            )
        except ApiException as refused:
            if refused.status in absent:
                return None
            raise VsphereError(
                Code.KUBERNETES,
                f"the cluster of {self._path} answers {refused.status} to {method} {path}: "
                f"{_message(refused)}",
                "see that the kubeconfig's user may read, patch and delete nodes, list pods and "
                "create evictions",
            ) from None
        except (HTTPError, OSError) as problem:
            raise VsphereError(
                Code.KUBERNETES,
                f"the cluster of {self._path} cannot be reached ({type(problem).__name__})",
                "see that its API server runs; where the cluster is gone for good, set "
                "VSPHERE_SKIP_DRAIN=1 (the credentials' key is its first part)",
            ) from None


def _message(refused: Any) -> str:
    """What the API server says, without headers."""
    try:
        return str(json.loads(refused.body or "{}").get("message") or refused.reason)
    except (ValueError, AttributeError, TypeError):
        return str(refused.reason)
