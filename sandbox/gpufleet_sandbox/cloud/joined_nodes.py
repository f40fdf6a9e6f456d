"""Machines of the simulated clouds that join the sandbox's cluster: Node objects.

They register as machines do, and no more: an annotation holds their hardware, from which the
simulated operands publish resources.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from gpufleet.catalogue import load
from gpufleet.catalogue.edition import DEFAULT_EDITION
from gpufleet.fleet.neuron import is_neuron
from gpufleet_sandbox.cloud.cloud import CloudError
from gpufleet_sandbox.cloud.store import CloudFolder
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, SIMULATED_LABEL

_MIB = 1 << 20
_OWNER = "sandbox.gpufleet.dev/machines-of"
"""Label: which group of machines a node belongs to."""


@dataclass(frozen=True, slots=True)
class PlainMachine:
    """A machine without accelerators, which the catalogue does not have."""

    vcpu: int
    memory_mib: int
    architecture: str = "amd64"


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineGroup:
    """Equal machines."""

    name: str
    """Unique in the cloud; part of the nodes' names."""
    machine_type: str
    region: str
    zones: tuple[str, ...]
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    """In Kubernetes' spelling."""
    provider: str
    """Beginning of provider ids: `aws`, `gce`."""
    driver: bool
    """Whether the image brings the driver."""
    plain: PlainMachine | None = None
    """Hardware of the machine, where the catalogue does not have it."""
    resources: Mapping[str, int] = field(default_factory=dict[str, int])
    """Published by the cloud's own device plugin, which no chart installs."""


class JoinedCluster:
    """The control plane of the clusters that a simulated cloud creates."""

    def __init__(self, layout: SandboxLayout) -> None:
        self._layout = layout
        kubeconfig = yaml.safe_load(layout.kubeconfig.read_text(encoding="utf-8"))
        cluster = kubeconfig["clusters"][0]["cluster"]
        self.endpoint: str = cluster["server"]
        self.authority: str = cluster["certificate-authority-data"]

    @classmethod
    def of(cls, folder: CloudFolder) -> "JoinedCluster | None":
        """That of the sandbox the cloud belongs to; None where it belongs to none."""
        layout = folder.sandbox()
        return None if layout is None else cls(layout)

    def scale(self, group: MachineGroup, count: int) -> None:
        """Let as many machines of a group be there. Raises CloudError when one cannot join."""
        from gpufleet_sandbox.sandbox import Sandbox

        server = Sandbox(self._layout.root).server()
        wanted = [f"{group.name}-{index}" for index in range(count)]
        try:
            found = server.get(f"/api/v1/nodes?labelSelector={_OWNER}={group.name}")["items"]
            for node in found:
                if node["metadata"]["name"] not in wanted:
                    server.request("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
            for index, name in enumerate(wanted):
                text = json.dumps(_node(group, name, group.zones[index % len(group.zones)]))
                server.apply(f"/api/v1/nodes/{name}", text.encode())
                if group.resources:
                    status = {name: str(count) for name, count in group.resources.items()}
                    _publish(server, name, group, status)
        except SandboxError as refused:
            raise CloudError(f"{group.name}: its machines cannot join: {refused}") from refused


def _publish(server: Any, name: str, group: MachineGroup, further: Mapping[str, str]) -> None:
    """Report of kubelet and device plugin, for nodes without a simulated operand."""
    described = _hardware(group)
    amounts = {
        "cpu": described["cpu"],
        "memory": described["memory"],
        "ephemeral-storage": "100Gi",
        "pods": "110",
        **further,
    }
    body = json.dumps({"status": {"capacity": amounts, "allocatable": amounts}}).encode()
    path = f"/api/v1/nodes/{name}/status"
    server.request("PATCH", path, body, "application/strategic-merge-patch+json")


def _node(group: MachineGroup, name: str, zone: str) -> dict[str, Any]:
    simulated = {} if group.resources else {SIMULATED_LABEL: "true"}
    labels = {
        **group.labels,
        **simulated,
        _OWNER: group.name,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": _architecture(group),
        "node.kubernetes.io/instance-type": group.machine_type,
        "topology.kubernetes.io/region": group.region,
        "topology.kubernetes.io/zone": zone,
    }
    hardware = json.dumps(_hardware(group), sort_keys=True)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {HARDWARE_ANNOTATION: hardware},
        },
        "spec": {"taints": list(group.taints), "providerID": f"{group.provider}:///{zone}/{name}"},
    }


def _architecture(group: MachineGroup) -> str:
    known = load(DEFAULT_EDITION).instances.get(group.machine_type)
    if known is not None:
        return known.architecture
    return group.plain.architecture if group.plain is not None else "amd64"


def _hardware(group: MachineGroup) -> dict[str, Any]:
    catalogue = load(DEFAULT_EDITION)
    known = catalogue.instances.get(group.machine_type)
    if known is None:
        if group.plain is None:
            raise CloudError(f"the stand-in does not know the machine type {group.machine_type}")
        return {"cpu": str(group.plain.vcpu), "memory": f"{group.plain.memory_mib}Mi"}
    gpu, memory = catalogue.gpu(known.accelerator.gpu), catalogue.device_memory(known)
    described: dict[str, Any] = {
        "cpu": str(known.vcpu or 8),
        "memory": f"{(known.memory_bytes or 64 << 30) // _MIB}Mi",
    }
    if is_neuron(gpu):
        return {**described, "neuron": {"chip": gpu.key, "count": known.accelerator.count}}
    if not gpu.product_names or memory is None:
        return described  # a TPU
    product = gpu.product_names[0]
    count = known.accelerator.count
    described["gpus"] = [{"product": product, "memoryMiB": memory // _MIB, "count": count}]
    if group.driver:
        described |= {
            "driver": catalogue.chart("gpu-operator").components["driver"],
            "toolkit": True,
        }
    return described
