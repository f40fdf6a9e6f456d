"""The real KEDA and kube-state-metrics as processes next to the shared control plane."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from gpufleet.render.idle import lease_metrics
from gpufleet_sandbox import custom_resources
from gpufleet_sandbox.certificates import Certificates
from gpufleet_sandbox.ports import choose, listens
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import require
from tests.engine.go_module import module_folder


@contextmanager
def keda(sandbox: Sandbox, folder: Path) -> Iterator[None]:
    """KEDA's operator runs while the context lasts, with the definitions of its module."""
    program = require(("keda",))["keda"]
    sources = module_folder("keda", "github.com/kedacore/keda/v2", "config")
    server = sandbox.server()
    crds = custom_resources.read(sorted((sources / "config/crd/bases").glob("*.yaml")))
    custom_resources.apply(server, crds, time.monotonic() + 120)
    keys, certificates = Certificates(sandbox.layout.certificates), folder / "certs"
    certificates.mkdir()
    shutil.copy(keys.certificate("server"), certificates / "tls.crt")
    shutil.copy(keys.key("server"), certificates / "tls.key")
    shutil.copy(keys.authority, certificates / "ca.crt")
    ports = choose(("metrics", "health", "service"), {}, set())
    arguments = [
        f"--metrics-bind-address=127.0.0.1:{ports['metrics']}",
        f"--health-probe-bind-address=127.0.0.1:{ports['health']}",
        f"--metrics-service-bind-address=127.0.0.1:{ports['service']}",
        f"--cert-dir={certificates}",
    ]
    environment = {
        "KUBECONFIG": str(sandbox.kubeconfig),
        "WATCH_NAMESPACE": "",
        "KEDA_CLUSTER_OBJECT_NAMESPACE": "default",
        "POD_NAMESPACE": "default",
    }
    try:
        with _running(
            [str(program), *arguments], folder / "keda.log", ports["health"], environment
        ):
            yield
    finally:
        names = {one["metadata"]["name"] for one in crds}
        back = [one for one in custom_resources.packaged() if one["metadata"]["name"] in names]
        custom_resources.apply(server, back, time.monotonic() + 120)


@contextmanager
def kube_state_metrics(sandbox: Sandbox, folder: Path) -> Iterator[int]:
    """Run the program while the context lasts, with our rendered leases. Returns its port."""
    program = require(("kube-state-metrics",))["kube-state-metrics"]
    ports = choose(("metrics", "telemetry"), {}, set())
    leases = folder / "leases.yaml"
    leases.write_text(yaml.safe_dump(lease_metrics()))
    arguments = [
        f"--kubeconfig={sandbox.kubeconfig}",
        "--host=127.0.0.1",
        f"--port={ports['metrics']}",
        "--telemetry-host=127.0.0.1",
        f"--telemetry-port={ports['telemetry']}",
        "--resources=deployments,nodes,pods,statefulsets",
        "--metric-labels-allowlist=nodes=[gpufleet.dev/pool]",
        f"--custom-resource-state-config-file={leases}",
    ]
    with _running([str(program), *arguments], folder / "ksm.log", ports["metrics"], {}):
        yield ports["metrics"]


@contextmanager
def _running(
    command: Sequence[str], log: Path, port: int, environment: Mapping[str, str]
) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 120
        while not listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"{command[0]} is not ready:\n{log.read_text()[-4000:]}")
            time.sleep(0.1)
        yield
    finally:
        process.kill()
        process.wait()
