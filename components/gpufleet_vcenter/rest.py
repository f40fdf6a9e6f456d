# pyright: standard
"""Client of vCenter's REST interface, for tags: no other interface of vCenter has them.

It uses `/rest/com/vmware/cis`, which every vCenter from 6.5 has. Newer versions have `/api` too.
"""

import contextlib
import json
import threading
from typing import Any
from urllib.parse import quote

import urllib3
from urllib3.exceptions import HTTPError

from gpufleet_vcenter.certificate import tls_context, unreachable
from gpufleet_vcenter.credentials import Credentials, one_login
from gpufleet_vcenter.errors import Code, VsphereError
from gpufleet_vcenter.settings import Endpoint

_ROOT = "/rest/com/vmware/cis"
_SECONDS = 60
_AGAIN = urllib3.Retry(4, backoff_factor=0.2, allowed_methods=None, redirect=False)
"""Every call here may be repeated: none does more when it is done twice."""


class Rest:
    """A login to the REST interface: made at the first call, renewed when it ends, shared by all
    threads."""

    def __init__(self, endpoint: Endpoint, known: Credentials) -> None:
        """Nothing is called yet."""
        self._endpoint, self._known = endpoint, known
        self._lock = threading.Lock()
        self._pool: urllib3.HTTPConnectionPool | None = None
        self._token = ""

    def get(self, path: str) -> Any:
        """What is at a path below `/rest/com/vmware/cis`."""
        return self._done("GET", path, None)

    def post(self, path: str, action: str, body: Any = None) -> Any:
        """What an action on a path answers.

        Raises:
            VsphereError: vCenter refuses, or cannot be talked to.
        """
        return self._done("POST", f"{path}?~action={quote(action)}", body)

    def close(self) -> None:
        """Log out and hang up. A server that is gone is not a failure then."""
        with self._lock, contextlib.suppress(HTTPError, OSError):
            if self._token:
                self._answer("DELETE", "/session", None)  # else it ends there by itself
            self._token = ""
        if self._pool is not None:
            self._pool.close()

    def _done(self, method: str, path: str, body: Any) -> Any:
        with self._lock:
            try:
                status, answer = self._answer(method, path, body) if self._token else (401, None)
                if status == 401:
                    self._log_in()
                    status, answer = self._answer(method, path, body)
            except (HTTPError, OSError) as problem:
                raise unreachable(self._endpoint, problem) from None
        if status < 300:
            return answer.get("value") if isinstance(answer, dict) else None
        raise _refusal(self._endpoint, f"{method} {_ROOT}{path}", status, answer)

    def _log_in(self) -> None:
        pair = f"{self._known.user}:{self._known.password}"
        self._token = ""
        with one_login(self._endpoint.server, self._endpoint.port, self._known):
            basic = urllib3.make_headers(basic_auth=pair)
            status, answer = self._answer("POST", "/session", None, basic)
            call = f"POST {_ROOT}/session"
            if status in (401, 403):
                raise self._known.refused(self._endpoint.server, f"HTTP {status} of {call}")
            if status != 200:
                raise _refusal(self._endpoint, call, status, answer)
        self._token = str(answer["value"])

    def _answer(self, method: str, path: str, body: Any, more: Any = None) -> tuple[int, Any]:
        pool = self._pool = self._pool or _pool(self._endpoint)
        session = {"vmware-api-session-id": self._token} if self._token else {}
        answer = pool.request(
            method,
            _ROOT + path,
            body=None if body is None else json.dumps(body).encode(),
            headers={"Accept": "application/json", "Content-Type": "application/json"}
            | session
            | (more or {}),
        )
        return answer.status, _read(answer.data)


def _pool(endpoint: Endpoint) -> urllib3.HTTPConnectionPool:
    options: dict[str, Any] = {"retries": _AGAIN, "timeout": _SECONDS}
    if endpoint.plain_http:
        return urllib3.HTTPConnectionPool(endpoint.server, endpoint.port, **options)
    trust = tls_context(endpoint)
    # A pinned certificate is known: its names say nothing more.
    options |= {"ssl_context": trust, "assert_hostname": None if trust.check_hostname else False}
    return urllib3.HTTPSConnectionPool(endpoint.server, endpoint.port, **options)


def _read(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None  # an empty answer, or a page for people


def _refusal(endpoint: Endpoint, call: str, status: int, answer: Any) -> VsphereError:
    kind = str(answer.get("type", "")).rsplit(".", 1)[-1] if isinstance(answer, dict) else ""
    said = _messages(answer)
    text = f"{endpoint.server} answers {call} with {status}{f': {said}' if said else ''}"
    if status == 403 or kind == "unauthorized":
        remedy = "grant the user `Assign or Unassign vSphere Tag` on the machines' folder"
        return VsphereError(Code.PERMISSION, text, remedy, kind)
    if status == 404:
        return VsphereError(Code.NOT_FOUND, text, "someone removed it: run again", kind)
    return VsphereError(Code.FAULT, text, "", kind)


def _messages(answer: Any) -> str:
    """What vCenter says, in its own words."""
    value = answer.get("value") if isinstance(answer, dict) else None
    rows = value.get("messages") if isinstance(value, dict) else None
    return "; ".join(
        str(row.get("default_message", "")) for row in rows or [] if isinstance(row, dict)
    )
