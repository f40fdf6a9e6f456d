"""The few requests of the sandbox itself to its API server.

A client of forty lines rather than the `kubernetes` package: importing that costs more than a warm
start of the whole control plane. `http.client` also never uses a proxy, whatever the environment
variables are.
"""

import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any

from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.ports import LOOPBACK

FIELD_MANAGER = "gpufleet-sandbox"
_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """Status and body of one response."""

    status: int
    body: bytes
    warnings: tuple[str, ...] = ()
    """Headers `Warning` as they are: code, agent and the quoted text."""

    def json(self) -> dict[str, Any]:
        """The body as an object."""
        return json.loads(self.body)


class ApiServer:
    """Requests with the administrator's certificate."""

    def __init__(self, port: int, certificates: Certificates) -> None:
        self.port = port
        self._context = ssl.create_default_context(cafile=str(certificates.authority))
        # Scheduler and controller manager serve health with a certificate they make at start.
        self._unverified = ssl.create_default_context()
        self._unverified.check_hostname = False
        self._unverified.verify_mode = ssl.CERT_NONE
        for context in (self._context, self._unverified):
            context.load_cert_chain(certificates.certificate("admin"), certificates.key("admin"))

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"https://{LOOPBACK}:{self.port}"

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = _TIMEOUT_SECONDS,
    ) -> ApiAnswer:
        """One request. Connection problems surface as OSError or http.client.HTTPException."""
        connection = http.client.HTTPSConnection(
            LOOPBACK, self.port, timeout=timeout, context=self._context
        )
        try:
            connection.request(method, path, body, {"Content-Type": content_type})
            with connection.getresponse() as response:
                warnings = tuple(response.headers.get_all("Warning", ()))
                return ApiAnswer(response.status, response.read(), warnings)
        finally:
            connection.close()

    def get(self, path: str, timeout: float = _TIMEOUT_SECONDS) -> dict[str, Any]:
        """An object or list.

        Raises:
            SandboxError: The server is not there or refuses.
        """
        answer = self._answered("GET", path, timeout=timeout)
        if answer.status != http.HTTPStatus.OK:
            raise SandboxError(_refusal("GET", path, answer))
        return answer.json()

    def apply(
        self, path: str, manifest: bytes, timeout: float = _TIMEOUT_SECONDS
    ) -> dict[str, Any]:
        """Server-side apply of one YAML or JSON manifest; fields of others are taken over.

        Raises:
            SandboxError: The server is not there or refuses the manifest.
        """
        target = f"{path}?fieldManager={FIELD_MANAGER}&force=true"
        kind = "application/apply-patch+yaml"
        answer = self._answered("PATCH", target, manifest, kind, timeout)
        if answer.status not in (http.HTTPStatus.OK, http.HTTPStatus.CREATED):
            raise SandboxError(_refusal("apply", path, answer))
        return answer.json()

    def _answered(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = _TIMEOUT_SECONDS,
    ) -> ApiAnswer:
        try:
            return self.request(method, path, body, content_type, timeout)
        except (OSError, http.client.HTTPException) as problem:
            raise SandboxError(f"the API server at {self.url} does not answer: {problem}") from (
                problem
            )

    def is_healthy(self, path: str = "/readyz", port: int | None = None) -> bool:
        """Whether a component of the control plane returns 200 on a health path."""
        context = self._context if port is None else self._unverified
        connection = http.client.HTTPSConnection(
            LOOPBACK, port or self.port, timeout=2.0, context=context
        )
        try:
            connection.request("GET", path)
            with connection.getresponse() as response:
                return response.status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def _refusal(verb: str, path: str, answer: ApiAnswer) -> str:
    try:
        message = answer.json().get("message", "")
    except ValueError:
        message = answer.body[:200].decode("utf-8", errors="replace")
    return f"the API server refuses {verb} {path} with {answer.status}: {message}"
