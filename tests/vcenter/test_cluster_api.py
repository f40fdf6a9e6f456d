"""Requests to a cluster, served by a small server in this process."""

import json
import socket
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gpufleet_vcenter.cluster_node import ClusterApi, node_of, skipped
from gpufleet_vcenter.errors import VsphereError
from gpufleet_vcenter.settings import KubernetesAccess
from tests.vcenter.test_cluster_node import pod, settings

TOKEN = "a-token-nobody-may-see"


class Answers(BaseHTTPRequestHandler):
    """Returns the test's responses, and records its requests."""

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or "null")
        path = self.path.split("?")[0]
        server: Any = self.server
        server.asked.append((self.command, self.path, body, self.headers.get("Content-Type")))
        assert self.headers.get("Authorization") == f"Bearer {TOKEN}"
        answers = server.answers.get((self.command, path), [(404, {"message": "absent"})])
        status, text = answers.pop(0) if len(answers) > 1 else answers[0]
        data = json.dumps(text).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[Any]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    made.daemon_threads = True
    made.asked, made.answers = [], {}
    thread = Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def kubeconfig(folder: Path, port: int) -> str:
    file = folder / "kubeconfig"
    file.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "lab",
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "u", "user": {"token": TOKEN}}],
                "contexts": [{"name": "lab", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    return str(file)


@pytest.fixture
def api(server: Any, tmp_path: Path) -> ClusterApi:
    access = KubernetesAccess(kubeconfig=kubeconfig(tmp_path, server.server_address[1]))
    return ClusterApi(access)


def test_a_node_and_one_that_is_absent(server: Any, api: ClusterApi) -> None:
    server.answers["GET", "/api/v1/nodes/gpu-0"] = [(200, {"metadata": {"uid": "1"}})]
    assert api.node("gpu-0") == {"metadata": {"uid": "1"}}
    assert api.node("gpu-1") is None
    api.patch_node("gpu-1", {"spec": {"unschedulable": True}})
    assert server.asked[-1][1:] == (
        "/api/v1/nodes/gpu-1",
        {"spec": {"unschedulable": True}},
        "application/merge-patch+json",
    )


def test_pods_come_in_pages(server: Any, api: ClusterApi) -> None:
    server.answers["GET", "/api/v1/pods"] = [
        (200, {"items": [pod("a")], "metadata": {"continue": "next"}}),
        (200, {"items": [pod("b")], "metadata": {}}),
    ]
    assert [found["metadata"]["name"] for found in api.pods("gpu-0")] == ["a", "b"]
    assert "fieldSelector=spec.nodeName%3Dgpu-0" in server.asked[0][1]
    assert "continue=next" in server.asked[1][1]


@pytest.mark.parametrize(
    ("status", "now", "left"),
    [
        (201, None, True),
        (404, None, True),
        (429, pod("a"), False),
        (409, {"metadata": {"uid": "another"}}, True),
    ],
)
def test_evictions(
    server: Any, api: ClusterApi, status: int, now: dict[str, Any] | None, left: bool
) -> None:
    path = "/api/v1/namespaces/ml/pods/a"
    server.answers["POST", f"{path}/eviction"] = [(status, {"message": "so"})]
    if now is not None:
        server.answers["GET", path] = [(200, now)]
    assert api.evict(pod("a")) is left
    assert server.asked[0][2]["kind"] == "Eviction"
    assert server.asked[0][2]["deleteOptions"] == {"preconditions": {"uid": "uid-a"}}


def test_only_that_very_node_is_deleted(server: Any, api: ClusterApi) -> None:
    api.delete_node({"metadata": {"name": "gpu-0", "uid": "uid-1"}})
    assert server.asked[0][2] == {"preconditions": {"uid": "uid-1"}}


def refused(operation: Any) -> str:
    with pytest.raises(VsphereError) as caught:
        operation()
    assert caught.value.code == "vsphere-kubernetes"
    assert TOKEN not in str(caught.value)
    return str(caught.value)


def test_what_the_cluster_refuses(server: Any, api: ClusterApi) -> None:
    server.answers["GET", "/api/v1/nodes/gpu-0"] = [(403, {"message": "nodes is forbidden"})]
    text = refused(lambda: api.node("gpu-0"))
    assert "answers 403 to GET /api/v1/nodes/gpu-0: nodes is forbidden" in text
    assert "list pods and create evictions" in text


def test_a_cluster_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        path = kubeconfig(tmp_path, unused.getsockname()[1])
        known = settings(kubeconfig=path)

        def ask() -> None:
            node = node_of(known, "")
            assert node is not None
            node.forget()

        text = refused(ask)
        assert "cannot be reached" in text
        assert "VSPHERE_SKIP_DRAIN=1" in text
        monkeypatch.setenv("VSPHERE_SKIP_DRAIN", "1")
        assert skipped(known)
        assert node_of(known, "") is None


@pytest.mark.parametrize("text", [None, "{", "apiVersion: v1\nkind: Config\n"])
def test_a_kubeconfig_that_is_of_no_use(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "config"
    if text is not None:
        file.write_text(text)
    said = refused(lambda: ClusterApi(KubernetesAccess(kubeconfig=str(file))))
    assert f"the kubeconfig {file} cannot be used" in said
    context = KubernetesAccess(kubeconfig=kubeconfig(tmp_path, 1), context="none")
    assert "cannot be used" in refused(lambda: ClusterApi(context))


def test_a_client_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    text = refused(lambda: ClusterApi(KubernetesAccess(kubeconfig="/none")))
    assert "the package kubernetes is not installed, and a kubeconfig is given" in text
    assert "install the extra `vsphere` of pulumi-gpufleet" in text
