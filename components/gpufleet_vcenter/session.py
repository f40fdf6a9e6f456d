# pyright: standard
"""One login per vCenter and user, kept for the life of the process and renewed when it ends.

Two shapes of a lost session exist: a call raises NotAuthenticated, or a read answers with every
property missing. Both lead here (`reading` raises for the second). A call that was refused for
lack of a session was not carried out, so it is repeated even when it changes something; a call
whose answer was lost is repeated only when repeating does no harm.
"""

import atexit
import contextlib
import http.client
import ssl
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pyVim.connect import SmartConnect
from pyVmomi import vim, vmodl
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    sleep_using_event,
    wait_random_exponential,
)
from tenacity import stop_after_attempt as stop_after_attempts

from gpufleet.components_base.resource_plugin import CANCELLED
from gpufleet_vcenter.certificate import tls_context, unreachable, untrusted
from gpufleet_vcenter.credentials import Credentials, forget_refusals, one_login
from gpufleet_vcenter.errors import OutcomeUnknownError, VsphereError, failed, interrupted
from gpufleet_vcenter.rest import Rest
from gpufleet_vcenter.settings import Endpoint

T = TypeVar("T")

CALL_SECONDS = 60
"""Longest one call may take before its connection counts as dead; pyVmomi's default is no limit."""

PATIENCE_SECONDS = 300.0
"""Longest that vCenter may be away, or a machine busy with a task of someone else, before a step
fails: a restart of vCenter's services and a snapshot for a backup take minutes."""


def patience(state: RetryCallState) -> bool:
    """Whether to give up: for `Retrying(stop=...)`."""
    return CANCELLED.is_set() or (state.seconds_since_start or 0) >= PATIENCE_SECONDS


LOST = (OSError, http.client.HTTPException)
"""What a connection that breaks raises. TLS failures are OSErrors too, and mean the same here."""


_PASSING = (
    ConnectionError,
    TimeoutError,
    http.client.HTTPException,
    vim.fault.HostConnectFault,  # what pyVmomi makes of a connection that breaks while it logs in
)


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
        """Times the session was renewed. What belongs to a session (views, pages of a long answer)
        ends with it: who holds one starts again when this has grown."""
        self._known, self._renewing = known, threading.Lock()
        self.rest = Rest(endpoint, known)
        """What SOAP cannot do."""
        self.tag_ids: dict[tuple[str, str], str] = {}
        """Category and name of a tag -> id: they are looked up once."""
        self.places: dict[Any, Any] = {}
        """Objects that names led to: they are looked up once."""
        self.checked: set[Any] = set()
        """What was found to be allowed: it is asked once."""
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
        """The object of this kind with the reference, `vm-42`; nothing is asked."""
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
            raise interrupted("the next change")
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

    def _refused(self, fault: Exception) -> VsphereError:
        return self._known.refused(self.endpoint.server, type(fault).__name__)

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
        except vim.fault.NotAuthenticated as refused:
            raise failed(
                "session", server=self.endpoint.server, fault=type(refused).__name__
            ) from None

    def _renew(self, logins: int) -> None:
        """Log in again over the same connection, unless another thread just has."""
        with self._renewing:
            if self.logins != logins:
                return
            self._log_out()  # a session that is half alive refuses a login as if it were wrong
            with one_login(self.endpoint.server, self.endpoint.port, self._known):
                try:
                    self.content.sessionManager.Login(self._known.user, self._known.password)
                except vim.fault.InvalidLogin as refused:
                    raise self._refused(refused) from None
            self.logins += 1

    def _retried(self, operation: Callable[[], T], when: Any = LOST) -> T:
        attempts = Retrying(
            retry=retry_if_exception_type(when),
            stop=patience,
            sleep=sleep_using_event(CANCELLED),
            wait=wait_random_exponential(multiplier=0.2, max=10),
            reraise=True,
        )
        try:
            return attempts(operation)
        except when as problem:
            raise unreachable(self.endpoint, problem) from None

    def _connect(self) -> Any:
        endpoint = self.endpoint
        context = None if endpoint.plain_http else tls_context(endpoint)
        attempts = Retrying(
            # An untrusted certificate stays one: only what may pass is tried again.
            retry=retry_if_exception_type(_PASSING),
            stop=stop_after_attempts(4),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            reraise=True,
        )
        try:
            return attempts(
                SmartConnect,
                protocol="http" if endpoint.plain_http else "https",
                host=endpoint.server,
                port=endpoint.port,
                user=self._known.user,
                pwd=self._known.password,
                sslContext=context,
                httpConnectionTimeout=CALL_SECONDS,
            )
        except vim.fault.InvalidLogin as refused:
            raise self._refused(refused) from None
        except ssl.SSLError as problem:
            raise untrusted(endpoint, problem) from None
        except vim.fault.HostConnectFault as problem:
            raise unreachable(endpoint, getattr(problem, "msg", problem)) from None
        except LOST as problem:
            raise unreachable(endpoint, problem) from None


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
