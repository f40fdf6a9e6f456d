# pyright: standard
"""Client of vCenter's REST interface, for tags: no other interface of vCenter has them.

It uses `/rest/com/vmware/cis`, which every vCenter from 6.5 has. Newer versions have `/api` too.
"""

import base64
import http.client
import json
import threading
from typing import Any
from urllib.parse import quote

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from gpufleet_vcenter.certificate import tls_context, unreachable
from gpufleet_vcenter.credentials import Credentials, one_login
from gpufleet_vcenter.errors import Code, VsphereError
from gpufleet_vcenter.settings import Endpoint

_ROOT = "/rest/com/vmware/cis"
_LOST = (OSError, http.client.HTTPException)
_SECONDS = 60


class Rest:
    """A login to the REST interface: made at the first call, renewed when it ends, shared by all
    threads. Every call here may be repeated: none does more when it is done twice."""

    def __init__(self, endpoint: Endpoint, known: Credentials) -> None:
        """Nothing is called yet."""
        self._endpoint, self._known = endpoint, known
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
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
        with self._lock:
            if self._connection is None:
                return
            try:
                if self._token:
                    self._answer("DELETE", "/session", None, {})
            except _LOST:
                pass  # it ends there by itself
            self._hang_up()

    def _done(self, method: str, path: str, body: Any) -> Any:
        attempts = Retrying(
            retry=retry_if_exception_type(_LOST),
            stop=stop_after_attempt(5),
            wait=wait_random_exponential(multiplier=0.2, max=10),
            reraise=True,
        )
        with self._lock:
            try:
                status, answer = attempts(self._authenticated, method, path, body)
            except _LOST as problem:
                raise unreachable(self._endpoint, problem) from None
        if status < 300:
            return answer.get("value") if isinstance(answer, dict) else None
        raise _refusal(self._endpoint, f"{method} {_ROOT}{path}", status, answer)

    def _authenticated(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        try:
            if self._token:
                status, answer = self._answer(method, path, body, {})
                if status != 401:
                    return status, answer
            self._log_in()
            return self._answer(method, path, body, {})
        except _LOST:
            self._hang_up()
            raise

    def _log_in(self) -> None:
        pair = f"{self._known.user}:{self._known.password}".encode()
        basic = {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}
        self._token = ""
        with one_login(self._endpoint.server, self._endpoint.port, self._known):
            status, answer = self._answer("POST", "/session", None, basic)
            call = f"POST {_ROOT}/session"
            if status in (401, 403):
                raise self._known.refused(self._endpoint.server, f"HTTP {status} of {call}")
            if status != 200:
                raise _refusal(self._endpoint, call, status, answer)
        self._token = str(answer["value"])

    def _answer(self, method: str, path: str, body: Any, more: dict[str, str]) -> tuple[int, Any]:
        connection = self._connected()
        headers = {"Accept": "application/json", **more}
        if self._token:
            headers["vmware-api-session-id"] = self._token
        if body is not None:
            headers["Content-Type"] = "application/json"
        text = None if body is None else json.dumps(body)
        connection.request(method, _ROOT + path, text, headers)
        answer = connection.getresponse()
        return answer.status, _read(answer.read())

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            where = (self._endpoint.server, self._endpoint.port)
            if self._endpoint.plain_http:
                self._connection = http.client.HTTPConnection(*where, timeout=_SECONDS)
            else:
                context = tls_context(self._endpoint)
                self._connection = http.client.HTTPSConnection(
                    *where, timeout=_SECONDS, context=context
                )
        return self._connection

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._token = None, ""


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
