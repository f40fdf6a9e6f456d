"""The real master of Node Feature Discovery next to the shared control plane.

Definitions are those of the pinned Go module. Its worker, which reads the hardware, is played: a
NodeFeature for each node, in the worker's form (kubernetes-sigs/node-feature-discovery v0.18.3
`source/pci/pci.go`, `source/system/system.go`).
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from gpufleet_sandbox import custom_resources
from gpufleet_sandbox.ports import choose, listens
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import require
from tests.engine.go_module import module_folder

MODULE, DEFINITIONS = "sigs.k8s.io/node-feature-discovery", "deployment/base/nfd-crds"
GROUP = ("nfd.k8s-sigs.io", "v1alpha1")
SPACE = "kube-system"


@contextmanager
def nfd_master(
    sandbox: Sandbox, folder: Path, api: client.ApiClient
) -> Iterator[Callable[[str], None]]:
    """The master runs while the context lasts; its definitions go with it. Gives what reports a
    node."""
    program = require(("nfd-master",))["nfd-master"]
    sources = module_folder("node-feature-discovery", MODULE, DEFINITIONS)
    crds = custom_resources.read([sources / DEFINITIONS / "nfd-api-crds.yaml"])
    custom_resources.apply(sandbox.server(), crds, time.monotonic() + 120)
    own = client.CoreV1Api(api).list_node().items[0].metadata.name  # as if it ran there
    port, log = choose(("health",), {}, set())["health"], folder / "nfd-master.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(program), "-kubeconfig", str(sandbox.kubeconfig), "-port", str(port)],
            env={**os.environ, "KUBERNETES_NAMESPACE": SPACE, "NODE_NAME": own},
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 60
        while not listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"nfd-master is not ready:\n{log.read_text()[-4000:]}")
            time.sleep(0.1)
        yield lambda node: _report(api, node)
    finally:
        process.kill()  # it has nothing to save
        process.wait()
        definitions = client.ApiextensionsV1Api(api)
        for one in crds:
            definitions.delete_custom_resource_definition(one["metadata"]["name"])


def _report(api: client.ApiClient, node: str) -> None:
    """Features of a node with GPUs: 3D controllers, and its name."""
    device = {"attributes": {"vendor": "10de", "class": "0302"}}
    found: dict[str, Any] = {
        "instances": {"pci.device": {"elements": [device]}},
        "attributes": {"system.name": {"elements": {"nodename": node}}},
        "flags": {},
    }
    client.CustomObjectsApi(api).create_namespaced_custom_object(
        *GROUP,
        SPACE,
        "nodefeatures",
        {
            "apiVersion": "/".join(GROUP),
            "kind": "NodeFeature",
            "metadata": {"name": node, "labels": {"nfd.node.kubernetes.io/node-name": node}},
            "spec": {"features": found},
        },
    )
