"""An OpenShift cluster for preflight: an HTTP server with recorded responses of its API server."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

MACHINES = "/apis/machine.openshift.io/v1beta1/namespaces/openshift-machine-api/machinesets"
INFRASTRUCTURE = "/apis/config.openshift.io/v1/infrastructures/cluster"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class OpenShiftCluster:
    """Contents of the cluster. `refused` are paths that the user may not read."""

    def __init__(self, infrastructure: dict[str, Any], machine_sets: list[dict[str, Any]]) -> None:
        self.version = "v1.35.3"
        self.infrastructure: dict[str, Any] | None = infrastructure
        self.machine_sets: list[dict[str, Any]] | None = machine_sets
        self.refused: set[str] = set()
        self.forbidden: set[str] = set()
        """Resources that the user may not create."""
        self.reviewed: list[tuple[str, str | None]] = []
        self.written: list[str] = []
        """Methods of requests that write, all but reviews."""

    def get(self, path: str) -> tuple[int, dict[str, Any]]:
        if path in self.refused:
            return 403, {"kind": "Status", "code": 403, "reason": "Forbidden"}
        known: dict[str, Any] = {
            "/version/": {
                **dict.fromkeys(
                    ("buildDate", "compiler", "gitCommit", "gitTreeState", "goVersion"), "x"
                ),
                "platform": "linux/amd64",
                "major": "1",
                "minor": self.version.split(".")[1],
                "gitVersion": self.version,
            },
            INFRASTRUCTURE: self.infrastructure,
            MACHINES: None if self.machine_sets is None else {"items": self.machine_sets},
        }
        found = known.get(path)
        return (200, found) if found is not None else (404, {"kind": "Status", "code": 404})

    def review(self, body: dict[str, Any]) -> dict[str, Any]:
        asked = body["spec"]["resourceAttributes"]
        assert asked["verb"] == "create"
        self.reviewed.append((f"{asked['resource']}.{asked['group']}", asked.get("namespace")))
        return {**body, "status": {"allowed": asked["resource"] not in self.forbidden}}

    @contextmanager
    def served(self, folder: Path) -> Iterator[Path]:
        """A kubeconfig of the cluster."""
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(*cluster.get(self.path.partition("?")[0]))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path != REVIEW:
                    cluster.written.append(self.path)
                self.answer(201, cluster.review(body))

            def answer(self, status: int, body: dict[str, Any]) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield kubeconfig(folder, server.server_address[1])
        finally:
            server.shutdown()
            server.server_close()


def kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "kubeconfig"
    server = {"server": f"http://127.0.0.1:{port}"}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "ocp", "cluster": server}],
        "users": [{"name": "me", "user": {"token": "secret-token"}}],
        "contexts": [{"name": "ocp", "context": {"cluster": "ocp", "user": "me"}}],
        "current-context": "ocp",
    }
    file.write_text(yaml.safe_dump(content))
    return file
