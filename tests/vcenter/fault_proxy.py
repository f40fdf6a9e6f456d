"""A proxy before vcsim that makes chosen calls fail: the faults of a test, and no others.

It reads the method from the body of each SOAP call. Every rule names a method (or any), the number
of the call, and its fault.
"""

import http.client
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from tests.vcenter.references import References

_METHOD = re.compile(rb"<(?:\w+:)?Body[^>]*>\s*<(?:\w+:)?(\w+)")
_TASK = re.compile(rb'<returnval type="Task">(task-\d+)<')
_FAULT = """<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">
<soapenv:Body><soapenv:Fault><faultcode>ServerFaultCode</faultcode>
<faultstring>{text}</faultstring><detail>
<{kind}Fault xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:type="{kind}">{inner}</{kind}Fault>
</detail></soapenv:Fault></soapenv:Body></soapenv:Envelope>"""

CHANGING = frozenset(
    (
        *("CloneVM_Task", "ReconfigVM_Task", "PowerOnMultiVM_Task", "PowerOnVM_Task"),
        *("PowerOffVM_Task", "ShutdownGuest", "Destroy_Task", "ReconfigureComputeResource_Task"),
        *("RelocateVM_Task", "MoveIntoFolder_Task"),
    )
)
"""Methods that change the inventory: what a run without changes must not call."""

REMEMBERED = CHANGING | {"UpgradeVM_Task", "SetField"}
"""Methods whose effect outlives the simulator: they are replayed after a restart."""


class Action(Enum):
    """Fault of a call."""

    DROP_REQUEST = "dropRequest"
    """The connection closes and vCenter never sees the call."""
    DROP_REPLY = "dropReply"
    """vCenter executes the call, and its response is lost."""
    FAULT = "fault"
    """The response is a fault of the rule's type."""
    BEFORE = "before"
    """The rule's function runs first: a test kills a process here."""
    AFTER = "after"
    """The rule's function runs after vCenter's response, before the response is passed on."""
    FORGET = "forget"
    """As `AFTER`, and the call is not recorded: vCenter stops before it executes the call."""
    REWRITE = "rewrite"
    """vCenter gets what the rule makes of the call: a test changes a password here."""
    REWRITE_REPLY = "rewriteReply"
    """The caller gets the rule's version of the response: a test removes a privilege here."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One failure."""

    action: Action
    method: str | None = None
    """None: every method."""
    nth: int = 1
    """Which call, counted from 1; 0: each of them."""
    fault: str = "NoDiskSpace"
    """Type of the fault in `vim25`."""
    inner: str = ""
    """XML inside the fault: its own fields."""
    do: Callable[[], None] = lambda: None
    """Runs at the moment of the action; with `DROP_REQUEST` and `DROP_REPLY`, before the connection
    closes."""
    rewrite: Callable[[bytes], bytes] = bytes
    seconds: float = 0.0
    """Pause before the call is forwarded."""


@dataclass(frozen=True, slots=True)
class Life:
    """One run of the simulator behind the proxy."""

    host: str
    port: int
    names: References


@dataclass(frozen=True, slots=True)
class Change:
    """A call that vCenter took and that may change the inventory, as the caller wrote it."""

    method: str
    body: bytes
    headers: dict[str, str]
    task: str | None
    """The task of the call, by the reference that the caller got."""


@dataclass
class FaultProxy:
    """A running proxy."""

    port: int
    life: Life | None
    """The server behind it; None while that is down."""
    rules: Sequence[Rule] = ()
    calls: Counter[str] = field(default_factory=Counter[str])
    """Calls seen, by method."""
    total: int = 0
    changes: list[Change] = field(default_factory=list[Change])
    """Every call that may have changed the inventory, in order."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self, rules: Sequence[Rule] = ()) -> None:
        """Forget the calls and take other rules."""
        with self.lock:
            self.rules, self.total = tuple(rules), 0
            self.calls.clear()

    @property
    def changing(self) -> dict[str, int]:
        """Calls that change the inventory, by method."""
        with self.lock:
            return {name: count for name, count in self.calls.items() if name in CHANGING}

    def took(self, life: Life, change: Change | None) -> None:
        """Record that a response came from this run of the simulator.

        Raises:
            ConnectionError: the run has ended meanwhile, so the response is lost.
        """
        with self.lock:
            if self.life is not life:
                raise ConnectionAbortedError("the vCenter behind the proxy is another one now")
            if change is not None:
                self.changes.append(change)

    def seen(self, method: str) -> Rule | None:
        """Count a call; the rule that is meant for it, if any."""
        with self.lock:
            self.calls[method] += 1
            self.total += 1
            for rule in self.rules:
                count = self.total if rule.method is None else self.calls[method]
                if rule.method in (None, method) and rule.nth in (0, count):
                    return rule
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet per response: two packets cost 40 ms of delayed acknowledgement a call.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._forward(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = _METHOD.search(body)
        rule = self._proxy.seen(found[1].decode()) if found else None
        if rule is None:
            self._forward(body)
            return
        time.sleep(rule.seconds)
        if rule.action is Action.FAULT:
            text = _FAULT.format(kind=rule.fault, text=rule.fault, inner=rule.inner).encode()
            self._reply(500, [("Content-Type", "text/xml")], text)
        elif rule.action is Action.DROP_REQUEST:
            rule.do()
            self.close_connection = True
        elif rule.action is Action.BEFORE:
            rule.do()
            self._forward(body)
        elif rule.action is Action.REWRITE:
            self._forward(rule.rewrite(body))
        elif rule.action is Action.REWRITE_REPLY:
            status, headers, text = self._ask(body)
            self._reply(status, headers, rule.rewrite(text))
        elif rule.action is Action.DROP_REPLY:
            self._ask(body)
            rule.do()
            self.close_connection = True
        else:
            answer = self._ask(body, remembered=rule.action is not Action.FORGET)
            rule.do()
            self._reply(*answer)

    @property
    def _server(self) -> "_Server":
        return cast("_Server", self.server)

    @property
    def _proxy(self) -> FaultProxy:
        return self._server.proxy

    def _forward(self, body: bytes) -> None:
        self._reply(*self._ask(body))

    def _ask(
        self, body: bytes, *, remembered: bool = True
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        life = self._proxy.life
        if life is None:
            raise ConnectionRefusedError("the vCenter behind the proxy is down")
        headers = {k: v for k, v in self.headers.items() if k.lower() != "content-length"}
        connection = http.client.HTTPConnection(life.host, life.port, timeout=60)
        try:
            connection.request(self.command, self.path, life.names.inside(body) or None, headers)
            answer = connection.getresponse()
            text = life.names.outside(answer.read())
        finally:
            connection.close()
        done = _change(body, headers, text) if remembered and answer.status == 200 else None
        self._proxy.took(life, done)
        return answer.status, answer.getheaders(), text

    def _reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        try:
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # the caller was killed meanwhile

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: every failure is requested by a test."""


def _change(body: bytes, headers: dict[str, str], answer: bytes) -> Change | None:
    """The call, if it may change the inventory."""
    found = _METHOD.search(body)
    method = found[1].decode() if found else ""
    if method not in REMEMBERED:
        return None
    task = _TASK.search(answer)
    return Change(method, body, headers, task[1].decode() if task else None)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    proxy: FaultProxy

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing: connections of killed processes break."""


@contextmanager
def fault_proxy(host: str, port: int) -> Iterator[FaultProxy]:
    """A proxy before the server at `host:port`, on a separate port of this machine."""
    server = _Server(("127.0.0.1", 0), _Handler)
    life = Life(host, port, References())
    server.proxy = FaultProxy(int(server.server_address[1]), life)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
