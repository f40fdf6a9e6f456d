"""The real Kueue as a process next to the shared control plane, with the settings of its chart.

Definitions and webhooks are those of the pinned Go module. Its webhooks see the namespaces of the
tests only, so that nothing else in the cluster depends on the process.
"""

import base64
import http
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufleet_sandbox import custom_resources
from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.ports import choose, listens
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import require
from tests.engine.go_module import module_folder
from tests.engine.waiting import until

MODULE = "sigs.k8s.io/kueue"
METRICS_FOLDER = b"/etc/kueue/metrics/certs"
"""Where the program looks for the certificate of its metrics; it has no option for it."""
OWN_FOLDER = b"kueue-metrics-serve-cert"
"""The same, below the working folder of the process. As long as the other."""
SEEN = ("clusterqueue", "resourceflavor", "cohort", "workload", "job", "pod")
"""Webhooks that are registered, by the last word of their path."""
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


@contextmanager
def kueue(
    sandbox: Sandbox, folder: Path, configuration: dict[str, Any], namespaces: Iterable[str]
) -> Iterator[int]:
    """Kueue runs while the context lasts. Gives the port of its metrics."""
    program = require(("kueue",))["kueue"]
    sources = module_folder("kueue", MODULE, "config")
    server = sandbox.server()
    bases = (sources / "config/components/crd/bases").glob("*.yaml")
    crds = custom_resources.read(sorted(bases))
    custom_resources.apply(server, crds, time.monotonic() + 120)
    ports = choose(("webhook", "health", "metrics"), {}, set())
    executable = _program(program, folder, Certificates(sandbox.layout.certificates))
    config = _configuration(configuration, ports, folder)
    log = folder / "kueue.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(executable), "--config", str(config), "--kubeconfig", str(sandbox.kubeconfig)],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _until_ready(process, ports["webhook"], log)
        made = _webhooks(sandbox, sources, ports["webhook"], sorted(namespaces))
        try:
            _until_served(sandbox, made)
            yield ports["metrics"]
        finally:
            for path in made:
                server.request("DELETE", path)
    finally:
        process.kill()  # it has no state to save, and its shutdown is slow
        process.wait()
        names = {one["metadata"]["name"] for one in crds}
        back = [one for one in custom_resources.packaged() if one["metadata"]["name"] in names]
        custom_resources.apply(server, back, time.monotonic() + 120)


def _program(program: Path, folder: Path, keys: Certificates) -> Path:
    """A copy whose certificates are all below the folder, and the certificates."""
    content = program.read_bytes()
    assert content.count(METRICS_FOLDER) == 1
    assert len(METRICS_FOLDER) == len(OWN_FOLDER)
    copy = folder / "kueue"
    copy.write_bytes(content.replace(METRICS_FOLDER, OWN_FOLDER))
    copy.chmod(0o755)
    for name in ("webhook-certs", OWN_FOLDER.decode()):
        (folder / name).mkdir()
        shutil.copy(keys.certificate("server"), folder / name / "tls.crt")
        shutil.copy(keys.key("server"), folder / name / "tls.key")
    return copy


def _configuration(configuration: dict[str, Any], ports: dict[str, int], folder: Path) -> Path:
    """Settings of the chart, except the addresses of a process without a pod."""
    own = {
        **configuration,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['health']}"},
        "metrics": {**configuration["metrics"], "bindAddress": f"127.0.0.1:{ports['metrics']}"},
        "webhook": {
            "host": "127.0.0.1",
            "port": ports["webhook"],
            "certDir": str(folder / "webhook-certs"),
        },
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        "featureGates": {"VisibilityOnDemand": False},
    }
    path = folder / "configuration.yaml"
    path.write_text(yaml.safe_dump(own))
    return path


def _until_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + 120
    while not listens(port):
        if process.poll() is not None or time.monotonic() > deadline:
            pytest.fail(f"Kueue is not ready:\n{log.read_text()[-4000:]}")
        time.sleep(0.1)


def _until_served(sandbox: Sandbox, made: list[str]) -> None:
    """Its port listens before every webhook has its path: until then objects are refused."""
    authority = Certificates(sandbox.layout.certificates).authority
    context = ssl.create_default_context(cafile=str(authority))

    def absent() -> list[str]:
        documents = [sandbox.server().get(path) for path in made]
        hooks = [hook["clientConfig"]["url"] for one in documents for hook in one["webhooks"]]
        return [url for url in hooks if _status(url, context) == http.HTTPStatus.NOT_FOUND]

    until(lambda: not absent(), absent)


def _status(url: str, context: ssl.SSLContext) -> int:
    request = urllib.request.Request(url, b"{}", {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def _webhooks(sandbox: Sandbox, sources: Path, port: int, namespaces: list[str]) -> list[str]:
    authority = Certificates(sandbox.layout.certificates).authority.read_bytes()
    made: list[str] = []
    manifests = sources / "config/components/webhook/manifests.yaml"
    for document in yaml.safe_load_all(manifests.read_text()):
        kept: list[dict[str, Any]] = []
        for webhook in document["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            if path.rsplit("-", 1)[-1] not in SEEN:
                continue
            webhook["clientConfig"] = {
                "url": f"https://127.0.0.1:{port}{path}",
                "caBundle": base64.b64encode(authority).decode(),
            }
            if "kueue" not in path:
                webhook["namespaceSelector"] = {
                    "matchExpressions": [
                        {
                            "key": "kubernetes.io/metadata.name",
                            "operator": "In",
                            "values": namespaces,
                        }
                    ]
                }
            kept.append(webhook)
        plural = document["kind"].lower() + "s"
        name = f"kueue-{document['kind'].removesuffix('WebhookConfiguration').lower()}"
        document |= {"metadata": {"name": name}, "webhooks": kept}
        made.append(f"{ADMISSION}/{plural}/{name}")
        sandbox.server().apply(made[-1], yaml.safe_dump(document).encode())
    return made
