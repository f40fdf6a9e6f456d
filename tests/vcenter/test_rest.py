"""vCenter's REST interface, simulated: sessions that end, lost responses, refusals."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gpufleet_vcenter.credentials import Credentials
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.session import Rest
from gpufleet_vcenter.settings import Endpoint

KNOWN = Credentials("operator", "correct-horse", "lab")
Answer = tuple[int, Any]


class Played:
    """Responds from a list; each call is recorded."""

    def __init__(self, *answers: Answer | None) -> None:
        self.answers = list(answers)
        """None: the connection closes without a response."""
        self.calls: list[tuple[str, str, str]] = []
        """Method, path, and the session it came with."""


@contextmanager
def serving(played: Played) -> Iterator[Rest]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            session = self.headers.get("vmware-api-session-id", "")
            path = self.path.removeprefix("/rest/com/vmware/cis")
            played.calls.append((self.command, path, session))
            answer = played.answers.pop(0)
            if answer is None:
                self.close_connection = True
                return
            status, value = answer
            text = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    address = {"server": "127.0.0.1", "port": server.server_address[1], "plainHttp": True}
    rest = Rest(Endpoint.model_validate(address), KNOWN)
    try:
        yield rest
    finally:
        played.answers.append((200, None))
        rest.close()
        server.shutdown()
        thread.join()
        server.server_close()


def refused(code: str, operation: Callable[[], Any]) -> str:
    with pytest.raises(VsphereError) as caught:
        operation()
    assert caught.value.code == code
    assert KNOWN.password not in str(caught.value)
    return str(caught.value)


def test_one_session_for_all_calls_and_an_end_to_it() -> None:
    played = Played((200, {"value": "s1"}), (200, {"value": ["a"]}), (200, {"value": "b"}))
    with serving(played) as rest:
        assert rest.ask("/tagging/category") == ["a"]
        assert rest.ask("/tagging/tag/id:a", "list-tags-for-category") == "b"
    assert played.calls == [
        ("POST", "/session", ""),
        ("GET", "/tagging/category", "s1"),
        ("POST", "/tagging/tag/id:a?~action=list-tags-for-category", "s1"),
        ("DELETE", "/session", "s1"),
    ]


def test_a_session_that_ends_is_renewed_once() -> None:
    played = Played((200, {"value": "s1"}), (200, {}), (401, {}), (200, {"value": "s2"}), (200, {}))
    with serving(played) as rest:
        rest.ask("/tagging/category")
        rest.ask("/tagging/category")
    assert [session for _, _, session in played.calls] == ["", "s1", "s1", "", "s2", "s2"]


def test_a_lost_answer_is_asked_for_again() -> None:
    played = Played((200, {"value": "s1"}), None, (200, {"value": 3}))
    with serving(played) as rest:
        assert rest.ask("/tagging/category") == 3


def test_a_login_that_is_refused_is_not_repeated() -> None:
    played = Played((401, {}))
    with serving(played) as rest:
        text = refused("vsphere-authentication", lambda: rest.ask("/tagging/category"))
    assert "127.0.0.1 refuses the user name or the password of operator" in text
    assert "LAB_USER and LAB_PASSWORD" in text
    assert len(played.calls) == 1


@pytest.mark.parametrize(
    ("status", "answer", "code", "expected"),
    [
        (
            403,
            {
                "type": "com.vmware.vapi.std.errors.unauthorized",
                "value": {"messages": [{"default_message": "no rights"}]},
            },
            "vsphere-permission",
            "with 403: no rights. fix: grant the user `Assign or Unassign vSphere Tag`",
        ),
        (
            404,
            None,
            "vsphere-not-found",
            "answers GET /rest/com/vmware/cis/tagging/tag/id:a with 404",
        ),
        (
            400,
            {"type": "com.vmware.vapi.std.errors.invalid_argument", "value": {}},
            "vsphere-fault",
            "with 400. [invalid_argument]",
        ),
    ],
)
def test_each_refusal(status: int, answer: Any, code: str, expected: str) -> None:
    with serving(Played((200, {"value": "s1"}), (status, answer))) as rest:
        text = refused(code, lambda: rest.ask("/tagging/tag/id:a"))
    assert expected in text


def test_nobody_there() -> None:
    played = Played(*[None] * 5)
    with serving(played) as rest:
        text = refused("vsphere-connection", lambda: rest.ask("/tagging/category"))
    assert "cannot be reached" in text
    assert len(played.calls) == 5
