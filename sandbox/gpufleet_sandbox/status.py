"""Status of a sandbox: processes, ports, nodes with their resources, pods."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gpufleet_sandbox import processes, system_node
from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.control_plane import COMPONENTS
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.layout import SandboxLayout
from gpufleet_sandbox.state import SandboxState

_PATIENCE = 5.0
"""Seconds. An API server that lost its etcd keeps a caller waiting for a minute."""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One process that runs or should run."""

    name: str
    running: bool
    pid: int | None
    ports: dict[str, int]
    uptime_seconds: int | None
    log: str


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node as the scheduler sees it."""

    name: str
    ready: bool
    product: str | None
    """Label `nvidia.com/gpu.product`, set by GPU feature discovery."""
    advertised: dict[str, str]
    """Allocatable extended resources: those with a domain, `nvidia.com/gpu`."""
    allocatable: dict[str, str]


@dataclass(frozen=True, slots=True)
class PodStatus:
    """One pod and where it landed."""

    namespace: str
    name: str
    phase: str
    node: str | None
    requests: dict[str, str]
    """Extended resources its containers request, by the limit of each, joined."""
    reason: str | None
    """Reason of the wait in the scheduler's words."""


@dataclass(frozen=True, slots=True)
class Status:
    """The whole sandbox."""

    directory: str
    running: bool
    """Whether every recorded process runs and the API server responds."""
    server: str | None
    kubeconfig: str
    processes: tuple[ProcessStatus, ...]
    nodes: tuple[NodeStatus, ...]
    pods: tuple[PodStatus, ...]
    problem: str | None
    """Why nodes and pods cannot be listed, or None."""

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def read(layout: SandboxLayout, state: SandboxState, server: ApiServer | None) -> Status:
    """Look at everything; never fails because a part is down."""
    found = _processes(layout, state)
    up = bool(found) and all(process.running for process in found)
    nodes: tuple[NodeStatus, ...] = ()
    pods: tuple[PodStatus, ...] = ()
    problem = state.damaged and f"{layout.root} is damaged, `up` repairs it: {state.damaged}"
    if server is not None:
        try:
            nodes = tuple(
                _node(item) for item in server.get(system_node.OTHERS, _PATIENCE)["items"]
            )
            pods = tuple(_pod(item) for item in server.get("/api/v1/pods", _PATIENCE)["items"])
        except SandboxError as failure:
            problem, up = str(failure), False
    return Status(
        directory=str(layout.root),
        running=up and server is not None,
        server=server.url if server else None,
        kubeconfig=str(layout.kubeconfig),
        processes=found,
        nodes=nodes,
        pods=pods,
        problem=problem or None,
    )


def _processes(layout: SandboxLayout, state: SandboxState) -> tuple[ProcessStatus, ...]:
    result: list[ProcessStatus] = []
    for component in COMPONENTS:
        record = state.processes.get(component.name)
        if record is None:
            continue
        alive = processes.is_alive(record)
        result.append(
            ProcessStatus(
                name=component.name,
                running=alive,
                pid=record.pid if alive else None,
                ports={name: state.ports[name] for name in component.ports if name in state.ports},
                uptime_seconds=max(0, round(time.time() - record.started)) if alive else None,
                log=str(layout.log(component.name)),
            )
        )
    return tuple(result)


def _extended(resources: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(amount) for name, amount in resources.items() if "/" in name}


def _node(item: dict[str, Any]) -> NodeStatus:
    allocatable = item["status"].get("allocatable") or {}
    conditions = item["status"].get("conditions") or []
    return NodeStatus(
        name=item["metadata"]["name"],
        ready=any(c["type"] == "Ready" and c["status"] == "True" for c in conditions),
        product=item["metadata"].get("labels", {}).get("nvidia.com/gpu.product"),
        advertised=_extended(allocatable),
        allocatable={name: str(amount) for name, amount in allocatable.items()},
    )


def _pod(item: dict[str, Any]) -> PodStatus:
    requests: dict[str, str] = {}
    for container in item["spec"].get("containers", []):
        for name, amount in _extended(container.get("resources", {}).get("limits", {})).items():
            requests[name] = f"{requests[name]}+{amount}" if name in requests else amount
    waiting = [
        condition.get("message")
        for condition in item["status"].get("conditions") or []
        if condition["type"] == "PodScheduled" and condition["status"] == "False"
    ]
    return PodStatus(
        namespace=item["metadata"]["namespace"],
        name=item["metadata"]["name"],
        phase=item["status"].get("phase", "Unknown"),
        node=item["spec"].get("nodeName"),
        requests=requests,
        reason=waiting[0] if waiting else None,
    )
