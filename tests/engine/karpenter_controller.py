"""The real Karpenter core next to the shared control plane; its machines are kwok nodes.

Definitions are those of the pinned Go module. The node class is the kwok provider's; everything
else of a NodePool is as it was rendered.
"""

import copy
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Machine, Pool
from gpufleet_sandbox import custom_resources
from gpufleet_sandbox.ports import choose, listens
from gpufleet_sandbox.sandbox import Sandbox
from tests.engine.conftest import require
from tests.engine.go_module import module_folder

MODULE = "sigs.k8s.io/karpenter"
NODE_CLASS = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "kwok"}
ZONES = ("us-east-1a", "us-east-1b")
RESERVATION = "karpenter.k8s.aws/capacity-reservation-id"
EFA = "vpc.amazonaws.com/efa"
PRICES = {"on-demand": 1.0, "spot": 0.4}


def definitions() -> list[Path]:
    """The core's definitions, and that of the kwok provider's node class."""
    sources = module_folder("karpenter", MODULE, "kwok")
    core = sources / "pkg/apis/crds"
    kinds = ("nodepools", "nodeclaims", "nodeoverlays")
    return [
        *(core / f"karpenter.sh_{kind}.yaml" for kind in kinds),
        *sorted(core.glob("autoscaling.x-k8s.io_*.yaml")),
        *sorted((sources / "kwok/apis/crds").glob("*.yaml")),
    ]


def machines_file(pools: Sequence[Pool], full: frozenset[str]) -> str:
    """The machines of the pools as the provider reads them: what EC2 counts, not what is shared."""
    machines = {machine.name: machine for pool in pools for machine in pool.machines}
    sold: dict[str, list[dict[str, Any]]] = {}
    for pool in pools:
        for entry in pool.capacity:
            if entry.capacity_block is not None and entry.capacity_block.id not in full:
                block, most = entry.capacity_block, pool.nodes.maximum
                offering = {
                    "Price": 0.0001,
                    "Available": True,
                    "ReservationCapacity": block.instances or most,
                    "Requirements": [
                        _in("karpenter.sh/capacity-type", "reserved"),
                        _in("topology.kubernetes.io/zone", block.zone),
                        _in(RESERVATION, block.id),
                    ],
                }
                sold.setdefault(pool.machines[0].name, []).append(offering)
    return json.dumps([_machine(one, sold.get(one.name, [])) for one in machines.values()])


def _machine(machine: Machine, reserved: list[dict[str, Any]]) -> dict[str, Any]:
    assert machine.instance is not None
    gpus = machine.instance.accelerator.api_count
    resources = {
        "cpu": str(machine.vcpu),
        "memory": str(machine.memory_bytes),
        "ephemeral-storage": "200Gi",
        "pods": "110",
    }
    if machine.instance.accelerator.gpu.startswith(("Trainium", "Inferentia")):
        # It counts them by itself (aws/karpenter-provider-aws pkg/providers/instancetype).
        resources["aws.amazon.com/neuron"] = str(machine.gpus)
    elif gpus:
        resources["nvidia.com/gpu"] = str(gpus)
    if machine.efa_interfaces:
        # Its AWS provider counts EFA interfaces, no huge pages (aws/karpenter-provider-aws#3315).
        resources[EFA] = str(machine.efa_interfaces)
    offerings = [
        {
            "Price": price * (machine.vcpu or 1),
            "Available": True,
            "Requirements": [
                _in("karpenter.sh/capacity-type", kind),
                _in("topology.kubernetes.io/zone", zone),
            ],
        }
        for kind, price in PRICES.items()
        for zone in ZONES
    ]
    return {
        "name": machine.name,
        "offerings": [*offerings, *reserved],
        "architecture": machine.architecture,
        "operatingSystems": ["linux"],
        "resources": resources,
    }


def _in(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}


def with_kwok_class(node_pool: dict[str, Any]) -> dict[str, Any]:
    """The rendered NodePool on the kwok provider's node class."""
    swapped = copy.deepcopy(node_pool)
    swapped["spec"]["template"]["spec"]["nodeClassRef"] = NODE_CLASS
    return swapped


@dataclass(frozen=True)
class Karpenter:
    """The running controller.

    Attributes:
        log: The file of its log.
        process: Its process.
    """

    log: Path
    process: subprocess.Popen[bytes]

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It does nothing while the context lasts; then it sees all that came meanwhile at once."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


class DevicePlugin(threading.Thread):
    """Publishes on each node the resources that the compiled pool declares for its operands."""

    def __init__(self, api: Any, pools: Sequence[Pool]) -> None:
        super().__init__(daemon=True)
        self.core, self.over = client.CoreV1Api(api), threading.Event()
        self.pools = pools

    def run(self) -> None:
        while not self.over.wait(0.1):
            for node in self.core.list_node(label_selector=POOL_LABEL).items:
                self._publish(node)

    def _publish(self, node: Any) -> None:
        pool = next((p for p in self.pools if p.name == node.metadata.labels[POOL_LABEL]), None)
        if pool is None:
            return
        wanted: dict[str, str | None] = {n: str(a) for n, a in pool.advertised.items()}
        if pool.fabric.value == "efa":
            # The EFA driver sets 5128 pages of 2 MiB aside (Amazon EKS user guide, node-efa).
            wanted |= {EFA: str(pool.machines[0].efa_interfaces), "hugepages-2Mi": "10256Mi"}
        there = node.status.allocatable or {}
        if "nvidia.com/gpu" in there and "nvidia.com/gpu" not in wanted:
            wanted["nvidia.com/gpu"] = "0"
        if any(there.get(name) != amount for name, amount in wanted.items()):
            status = {"capacity": wanted, "allocatable": wanted}
            try:
                self.core.patch_node_status(node.metadata.name, {"status": status})
            except client.ApiException as gone:
                if gone.status not in {404, 409}:
                    raise


@contextmanager
def karpenter(
    sandbox: Sandbox, folder: Path, pools: Sequence[Pool], full: frozenset[str] = frozenset()
) -> Iterator[Karpenter]:
    """Karpenter runs while the context lasts. The blocks that are `full` offer nothing: the kwok
    provider does not count the machines that it starts."""
    program = require(("karpenter",))["karpenter"]
    server = sandbox.server()
    crds = custom_resources.read(definitions())
    custom_resources.apply(server, crds, time.monotonic() + 120)
    ports = choose(("health", "metrics"), {}, set())
    machines = folder / "machines.json"
    machines.write_text(machines_file(pools, full))
    log = folder / "karpenter.log"
    variables = {
        **os.environ,
        "KUBECONFIG": str(sandbox.kubeconfig),
        "SYSTEM_NAMESPACE": "kube-system",
        "DISABLE_LEADER_ELECTION": "true",
        "FEATURE_GATES": "NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true",
        "INSTANCE_TYPES_FILE_PATH": str(machines),
        "HEALTH_PROBE_PORT": str(ports["health"]),
        "METRICS_PORT": str(ports["metrics"]),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(program)],
            env=variables,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 120
        while not listens(ports["health"]):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"Karpenter is not ready:\n{log.read_text()[-4000:]}")
            time.sleep(0.1)
        yield Karpenter(log, process)
    finally:
        process.kill()  # it has nothing to save
        process.wait()
        names = {one["metadata"]["name"] for one in crds}
        back = [one for one in custom_resources.packaged() if one["metadata"]["name"] in names]
        custom_resources.apply(server, back, time.monotonic() + 120)
