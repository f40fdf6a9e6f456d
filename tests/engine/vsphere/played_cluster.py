"""A simulated cluster: nodes, pods and evictions in the API's format, over HTTP."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class PlayedCluster:
    """Input of the test, and the requests so far."""

    kubeconfig: str
    token: str = "a-token-nobody-may-see"
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    pods: dict[str, str] = field(default_factory=dict[str, str])
    """Pod -> node."""
    protected: set[str] = field(default_factory=set[str])
    """Pods that a disruption budget keeps."""
    evicted: list[str] = field(default_factory=list[str])
    joins: set[str] = field(default_factory=set[str])
    """Nodes that register on request: their machines have a kubelet."""

    def register(self, name: str) -> None:
        """Action of a kubelet."""
        self.nodes[name] = {
            "metadata": {"name": name, "uid": f"uid-{name}", "annotations": {}},
            "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }

    def lose(self, name: str, minutes: int) -> None:
        """Condition that the node controller writes when a kubelet has been silent."""
        since = datetime.now(UTC) - timedelta(minutes=minutes)
        (ready,) = self.nodes[name]["status"]["conditions"]
        ready |= {"status": "Unknown", "lastTransitionTime": since.isoformat(timespec="seconds")}

    def unschedulable(self, name: str) -> bool:
        """Whether the node is cordoned."""
        return bool(self.nodes[name]["spec"].get("unschedulable"))

    def answer(self, method: str, path: str, query: dict[str, Any], body: Any) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        if parts[2:] == ["nodes"]:
            return 200, {"items": list(self.nodes.values())}
        if parts[2] == "nodes":
            if method == "GET" and parts[3] in self.joins - self.nodes.keys():
                self.register(parts[3])
            node = self.nodes.get(parts[3])
            if node is None:
                return 404, {"message": "absent"}
            if method == "PATCH":
                node["spec"].update(body["spec"])
                node["metadata"]["annotations"].update(body["metadata"]["annotations"])
            if method == "DELETE":
                assert body["preconditions"]["uid"] == node["metadata"]["uid"]
                del self.nodes[parts[3]]
            return 200, node
        if parts[2] == "pods":
            wanted = query["fieldSelector"][0].removeprefix("spec.nodeName=")
            found = [self._pod(name) for name, node in self.pods.items() if node == wanted]
            return 200, {"items": found, "metadata": {}}
        name = parts[5]
        if name not in self.pods:
            return 404, {"message": "absent"}
        if method == "GET":
            return 200, self._pod(name)
        if name in self.protected:
            return 429, {"message": "it would violate the budget"}
        del self.pods[name]
        self.evicted.append(name)
        return 201, {"status": "Success"}

    @staticmethod
    def _pod(name: str) -> dict[str, Any]:
        meta = {"name": name, "namespace": "ml", "uid": f"uid-{name}"}
        return {"metadata": meta, "status": {"phase": "Running"}}


class _Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        played: PlayedCluster = self.server.played  # type: ignore[attr-defined]
        assert self.headers.get("Authorization") == f"Bearer {played.token}"
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or "null")
        url = urlsplit(self.path)
        status, found = played.answer(self.command, url.path, parse_qs(url.query), body)
        data = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def played_cluster(folder: Path) -> Iterator[PlayedCluster]:
    """A cluster that responds until the block ends."""
    file = folder / "kubeconfig"
    played = PlayedCluster(str(file))
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads, server.played = True, played
    address = f"http://127.0.0.1:{server.server_address[1]}"
    known = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "c", "cluster": {"server": address}}],
        "users": [{"name": "u", "user": {"token": played.token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
    }
    file.write_text(json.dumps(known))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield played
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
