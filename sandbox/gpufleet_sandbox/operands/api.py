"""The Kubernetes API as the operands use it: plain JSON in and out, by URL path.

The typed client builds thousands of objects for a list of nodes; here only a few fields matter, so
the client library is used for the kubeconfig alone.
"""

import json
from collections.abc import Iterator
from typing import Any

import urllib3
from kubernetes import config
from kubernetes.client import Configuration

FIELD_MANAGER = "gpufleet-operands"
MERGE_PATCH = "application/merge-patch+json"
CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 30.0
_WATCH_MARGIN = 15.0


class ApiError(Exception):
    """The API server returned an error."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        """HTTP status: 404 gone or not served, 409 conflict, 410 the watch is too old."""
        super().__init__(f"{status}: {message}")


class Api:
    """Requests against one API server. Raises ApiError, and urllib3's errors as they come."""

    def __init__(self, configuration: Configuration) -> None:
        self._host = str(configuration.host)
        self._headers = {"Accept": "application/json", "User-Agent": FIELD_MANAGER}
        token = configuration.api_key.get("authorization") if configuration.api_key else None
        if token:
            self._headers["Authorization"] = token
        self._pool = urllib3.PoolManager(
            maxsize=16,
            retries=False,
            cert_reqs="CERT_REQUIRED" if configuration.verify_ssl else "CERT_NONE",
            ca_certs=configuration.ssl_ca_cert,
            cert_file=configuration.cert_file,
            key_file=configuration.key_file,
        )

    @classmethod
    def from_kubeconfig(cls, path: str) -> "Api":
        """Connect to the kubeconfig's current context."""
        configuration = Configuration()
        config.load_kube_config(path, client_configuration=configuration)
        return cls(configuration)

    def get(self, path: str) -> Any:
        """GET one object or list."""
        return self._request("GET", path)

    def create(self, path: str, body: object) -> Any:
        """POST one object."""
        return self._request("POST", path, body)

    def delete(self, path: str) -> Any:
        """DELETE one object."""
        return self._request("DELETE", path)

    def merge_patch(self, path: str, body: object) -> Any:
        """Apply a JSON merge patch; a value of None removes the key."""
        return self._request("PATCH", f"{path}?fieldManager={FIELD_MANAGER}", body, MERGE_PATCH)

    def watch(self, path: str, resource_version: str, seconds: int) -> Iterator[dict[str, Any]]:
        """Events of a collection until the server ends the watch, after at most `seconds`."""
        joint = "&" if "?" in path else "?"
        response = self._pool.request(
            "GET",
            f"{self._host}{path}{joint}watch=true&allowWatchBookmarks=true"
            f"&resourceVersion={resource_version}&timeoutSeconds={seconds}",
            headers=self._headers,
            preload_content=False,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=seconds + _WATCH_MARGIN),
        )
        try:
            if response.status != 200:
                raise _refused(response.status, response.read())
            buffer = b""
            for chunk in response.stream(amt=None):
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    if line:
                        yield json.loads(line)
        finally:
            response.close()

    def _request(
        self, method: str, path: str, body: object = None, content: str = "application/json"
    ) -> Any:
        response = self._pool.request(
            method,
            f"{self._host}{path}",
            headers=self._headers | ({"Content-Type": content} if body is not None else {}),
            body=None if body is None else json.dumps(body).encode(),
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=REQUEST_SECONDS),
        )
        if not 200 <= response.status <= 299:
            raise _refused(response.status, response.data)
        return json.loads(response.data)


def _refused(status: int, data: bytes) -> ApiError:
    try:
        message = str(json.loads(data).get("message", ""))
    except (ValueError, AttributeError):
        message = data[:200].decode(errors="replace")
    return ApiError(status, message)
