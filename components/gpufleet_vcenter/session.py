# pyright: standard
"""One login per vCenter and user, kept until the process ends and renewed when it expires.

Two shapes of a lost session exist: a call raises NotAuthenticated, or a read answers with every
property missing. Both lead here (`reading` raises for the second). A call that was refused for
lack of a session was not carried out, so it is repeated even when it changes something; a call
whose answer was lost is repeated only when repeating does no harm.
"""

import atexit
import contextlib
import hashlib
import http.client
import ssl
import sys
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

import urllib3
from pyVim.connect import SmartConnect
from pyVmomi import vim, vmodl
from tenacity import (
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    stop_after_attempt,
    stop_after_delay,
    stop_when_event_set,
    wait_random_exponential,
)
from urllib3.exceptions import HTTPError, InsecureRequestWarning

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet_vcenter.credentials import Credentials, forget_refusals, one_login
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed
from gpufleet_vcenter.settings import Endpoint

T = TypeVar("T")

CALL_SECONDS = 60
"""Maximum duration of a call; then its connection counts as broken. pyVmomi has no limit."""

PATIENCE_SECONDS = 300.0
"""Maximum time that vCenter is unavailable, or a machine is busy with another user's task, before a
step fails: a restart of vCenter's services and a snapshot for a backup take minutes."""


def patient(when: Any, pause: float, longest: float, attempts: int = sys.maxsize) -> Retrying:
    """Repeats a call for `PATIENCE_SECONDS`, with growing random pauses; an interrupt ends it.

    Args:
        when: Exceptions after which the call is repeated.
        pause: Factor of the pauses, in seconds.
        longest: Longest pause, in seconds.
        attempts: Maximum number of calls. Default: no limit.
    """
    over = stop_after_delay(PATIENCE_SECONDS) | stop_after_attempt(attempts)
    return Retrying(
        retry=retry_if_exception_type(when),
        stop=over | stop_when_event_set(CANCELLED),
        sleep=sleep_using_event(CANCELLED),
        wait=wait_random_exponential(multiplier=pause, max=longest),
        reraise=True,
    )


LOST = (OSError, http.client.HTTPException)
"""Exceptions of a broken connection. TLS failures are OSErrors too, and are handled equally."""

_AWAY = "connection/unreachable"
_PASSING = (
    ConnectionError,
    TimeoutError,
    http.client.HTTPException,
    vim.fault.HostConnectFault,  # raised by pyVmomi for a connection that breaks during login
)


CONNECT_SECONDS = 20


def tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Trust in the server's certificate: system authorities, a file, one fingerprint, or none.

    With a fingerprint, the certificate the server offers is compared first and is then the only one
    that this context accepts, so that no attacker can replace it afterwards. pyVmomi's own
    `thumbprint` is consulted only when ordinary verification fails, and never for localhost.

    Raises:
        VsphereError: the fingerprint differs (the text holds the one offered), the file with
            authorities cannot be read, or the server cannot be reached.
    """
    if endpoint.insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if endpoint.thumbprint_sha256 is not None:
        return _pinned(endpoint)
    try:
        return ssl.create_default_context(cafile=endpoint.ca_cert_file)
    except OSError as problem:
        raise failed("certificate/authorities", endpoint=endpoint, problem=problem) from None


def _pinned(endpoint: Endpoint) -> ssl.SSLContext:
    offered, found = _offered(endpoint)
    if found != endpoint.thumbprint_sha256:
        raise failed("certificate/fingerprint", endpoint=endpoint, found=found)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # the certificate is pinned, so its names are irrelevant
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=offered)
    return context


def _untrusted(endpoint: Endpoint, problem: ssl.SSLError) -> VsphereError:
    """Error: the server's certificate is not trusted; its text has the offered fingerprint."""
    try:
        offered = f"; it offers the SHA-256 fingerprint {_offered(endpoint)[1]}"
    except VsphereError:
        offered = ""  # no TLS with this client: no certificate to compare
    why = getattr(problem, "verify_message", "") or problem.reason or problem
    return failed("certificate/untrusted", endpoint=endpoint, why=why, offered=offered)


def _offered(endpoint: Endpoint) -> tuple[str, str]:
    """The certificate, and its fingerprint."""
    try:
        address = (endpoint.server, endpoint.port)
        found = ssl.get_server_certificate(address, timeout=CONNECT_SECONDS)
    except OSError as problem:
        raise failed(_AWAY, endpoint=endpoint, problem=problem) from None
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(found)).digest()
    return found, digest.hex(":").upper()


class Session:
    """A login to one vCenter."""

    def __init__(self, endpoint: Endpoint, known: Credentials) -> None:
        """Log in.

        Raises:
            VsphereError: the server cannot be reached, is not trusted, or refuses the credentials.
        """
        self.endpoint = endpoint
        """The vCenter."""
        self.logins = 0
        """Times the session was renewed: its views, and pages of a long answer, end with it."""
        self._known, self._renewing = known, threading.Lock()
        self.trust = None if endpoint.plain_http else tls_context(endpoint)
        """Trust in the server's certificate; None: without TLS."""
        self.rest = Rest(endpoint, known)
        """Client for calls that SOAP does not have."""
        self.tag_ids: dict[tuple[str, str], str] = {}
        """Category and name of a tag -> id: they are looked up once."""
        self.places: dict[Any, Any] = {}
        """Objects by their names: they are looked up once."""
        self.checked: set[Any] = set()
        """Permissions that were granted: each is checked once."""
        self.service = self._connect()
        self.content: Any = self._retried(self.service.RetrieveContent)

    @property
    def server_id(self) -> str:
        """The vCenter's own instance uuid: it stays when the server is renamed."""
        return str(self.content.about.instanceUuid)

    @property
    def api_version(self) -> tuple[int, ...]:
        """API version of the server, `(8, 0, 3, 0)`."""
        return tuple(
            int(part) for part in self.content.about.apiVersion.split(".") if part.isdigit()
        )

    def object(self, kind: Any, reference: str) -> Any:
        """The object of this kind with the reference, `vm-42`, without a call."""
        return kind(reference, self.content.rootFolder._stub)

    def call(self, operation: Callable[[], T], *, changes: bool = False) -> T:
        """Do one call.

        Args:
            operation: The call.
            changes: Whether it changes something: then a lost answer is not followed by a second
                attempt, and it is not done once the update was interrupted.

        Raises:
            OutcomeUnknownError: the answer to a call that changes something was lost.
            VsphereError: the connection or the session cannot be had again.
            vmodl.MethodFault: whatever vCenter answers otherwise.
        """
        if not changes:
            return self._retried(lambda: self._authenticated(operation))
        if CANCELLED.is_set():
            raise failed("interrupted", doing="the next change")
        try:
            # A connection that is refused has carried nothing to vCenter: the call can be repeated.
            return self._retried(lambda: self._authenticated(operation), ConnectionRefusedError)
        except LOST as problem:
            raise OutcomeUnknownError(str(problem)) from problem

    def close(self) -> None:
        """Log out and hang up. A server that is gone is not a failure then."""
        self._log_out()
        self.service._stub.DropConnections()
        self.rest.close()

    def _log_out(self) -> None:
        with contextlib.suppress(*LOST, vmodl.MethodFault):
            self.content.sessionManager.Logout()

    def _authenticated(self, operation: Callable[[], T]) -> T:
        logins = self.logins
        try:
            return operation()
        except vim.fault.NotAuthenticated:
            self._renew(logins)
        try:
            return operation()
        except vim.fault.NotAuthenticated:
            raise failed("session", server=self.endpoint.server, fault="NotAuthenticated") from None

    def _renew(self, logins: int) -> None:
        """Log in again over the same connection, unless another thread just has."""
        with self._renewing:
            if self.logins != logins:
                return
            self._log_out()  # a session that is half alive refuses a login as if it were wrong
            with one_login(self.endpoint.server, self.endpoint.port, self._known):
                try:
                    self.content.sessionManager.Login(self._known.user, self._known.password)
                except vim.fault.InvalidLogin:
                    raise self._known.refused(self.endpoint.server, "InvalidLogin") from None
            self.logins += 1

    def _retried(self, operation: Callable[[], T], when: Any = LOST) -> T:
        try:
            return patient(when, 0.2, 10)(operation)
        except when as problem:
            raise failed(_AWAY, endpoint=self.endpoint, problem=problem) from None

    def _connect(self) -> Any:
        endpoint = self.endpoint
        try:
            # An untrusted certificate stays untrusted: only temporary errors are retried.
            return patient(_PASSING, 0.2, 5, attempts=4)(
                SmartConnect,
                protocol="http" if endpoint.plain_http else "https",
                host=endpoint.server,
                port=endpoint.port,
                user=self._known.user,
                pwd=self._known.password,
                sslContext=self.trust,
                httpConnectionTimeout=CALL_SECONDS,
            )
        except vim.fault.InvalidLogin:
            raise self._known.refused(endpoint.server, "InvalidLogin") from None
        except ssl.SSLError as problem:
            raise _untrusted(endpoint, problem) from None
        except (vim.fault.HostConnectFault, *LOST) as problem:
            text = getattr(problem, "msg", problem)
            raise failed(_AWAY, endpoint=endpoint, problem=text) from None


_ROOT = "/rest/com/vmware/cis"
"""Every vCenter from 6.5 has it; newer versions have `/api` too."""
_AGAIN = urllib3.Retry(4, backoff_factor=0.2, allowed_methods=None, redirect=False)
"""Every call there can be repeated: a second call has no further effect."""


class Rest:
    """A login to vCenter's REST interface, the only one with tags: made at the first call, renewed
    when it expires, shared by all threads."""

    def __init__(self, endpoint: Endpoint, known: Credentials) -> None:
        """Nothing is called yet."""
        self._endpoint, self._known = endpoint, known
        self._lock, self._token = threading.Lock(), ""

    def ask(self, path: str, action: str = "", body: Any = None) -> Any:
        """Result of an action on a path below `/rest/com/vmware/cis`. Default: it is read.

        Raises:
            VsphereError: vCenter refuses, or cannot be reached.
        """
        method = "POST" if action else "GET"
        path = f"{path}?~action={quote(action)}" if action else path
        with self._lock:
            try:
                status, answer = self._answer(method, path, body) if self._token else (401, None)
                if status == 401:
                    self._log_in()
                    status, answer = self._answer(method, path, body)
            except (HTTPError, OSError) as problem:
                raise failed(_AWAY, endpoint=self._endpoint, problem=problem) from None
        if status < 300:
            return answer.get("value") if isinstance(answer, dict) else None
        raise self._refusal(f"{method} {_ROOT}{path}", status, answer)

    def close(self) -> None:
        """Log out and hang up. A server that is gone is not a failure then."""
        with self._lock, contextlib.suppress(HTTPError, OSError):
            if self._token:
                self._answer("DELETE", "/session")  # else it ends there by itself
            self._token = ""
        if "_pool" in vars(self):
            self._pool.close()

    def _log_in(self) -> None:
        self._token = ""
        with one_login(self._endpoint.server, self._endpoint.port, self._known):
            pair = f"{self._known.user}:{self._known.password}"
            login = urllib3.make_headers(basic_auth=pair)
            status, answer = self._answer("POST", "/session", None, login)
            call = f"POST {_ROOT}/session"
            if status in (401, 403):
                raise self._known.refused(self._endpoint.server, f"HTTP {status} of {call}")
            if status != 200:
                raise self._refusal(call, status, answer)
        self._token = str(answer["value"])

    def _answer(
        self, method: str, path: str, body: Any = None, login: Any = None
    ) -> tuple[int, Any]:
        """Status and content; None: empty, or an HTML page."""
        session = {"vmware-api-session-id": self._token} if self._token else {}
        kinds = {"Accept": "application/json", "Content-Type": "application/json"}
        headers = {**kinds, **session, **(login or {})}
        answer = self._pool.request(method, _ROOT + path, json=body, headers=headers)
        with contextlib.suppress(ValueError):
            return answer.status, answer.json()
        return answer.status, None

    @cached_property
    def _pool(self) -> urllib3.HTTPConnectionPool:
        to = self._endpoint
        options: dict[str, Any] = {"retries": _AGAIN, "timeout": CALL_SECONDS}
        if to.plain_http:
            return urllib3.HTTPConnectionPool(to.server, to.port, **options)
        if to.insecure:  # the declaration says so: a warning with each request tells nothing
            urllib3.disable_warnings(InsecureRequestWarning)
        trust = tls_context(to)
        # A pinned certificate is known: its names are not checked.
        options |= {"ssl_context": trust, "assert_hostname": trust.check_hostname and None}
        return urllib3.HTTPSConnectionPool(to.server, to.port, **options)

    def _refusal(self, call: str, status: int, answer: Any) -> VsphereError:
        told = answer if isinstance(answer, dict) else {}
        kind, value = str(told.get("type", "")), told.get("value")
        rows = (value.get("messages") if isinstance(value, dict) else None) or []
        texts = [str(row.get("default_message", "")) for row in rows if isinstance(row, dict)]
        row = "not-found/rest" if status == 404 else "fault/rest"
        if status == 403 or kind.endswith("unauthorized"):
            row = "permission/rest"
        words = f": {'; '.join(texts)}" if any(texts) else ""
        server = self._endpoint.server
        return failed(row, fault=kind, server=server, call=call, status=status, words=words)


_OPEN: dict[tuple[Endpoint, Credentials], Session] = {}
_OPENING = threading.Lock()


def session_for(endpoint: Endpoint, known: Credentials) -> Session:
    """The process's session with these credentials: made once, shared by all threads."""
    with _OPENING:
        key = (endpoint, known)
        if key not in _OPEN:
            with one_login(endpoint.server, endpoint.port, known):
                _OPEN[key] = Session(endpoint, known)
        return _OPEN[key]


def close_all() -> None:
    """Log out everywhere."""
    forget_refusals()
    with _OPENING:
        while _OPEN:
            _OPEN.popitem()[1].close()


atexit.register(close_all)
