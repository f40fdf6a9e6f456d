"""Brings the processes of a sandbox to their target state, from any state."""

import hashlib
import http
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gpufleet_sandbox import custom_resources, ports, processes, system_node
from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.control_plane import DEFINITIONS, Component, ControlPlanePlan, command_line
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.progress import Progress
from gpufleet_sandbox.state import SandboxState

_UNHEALTHY_GRACE_SECONDS = 10.0
"""Seconds for which a running process may fail its health check before it is restarted."""

_SETTLED_SECONDS = 0.5
"""A process without a health check counts as ready when it has survived this long."""

GRACE_SECONDS = 10.0
"""Between SIGTERM and SIGKILL."""

_NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


@dataclass(slots=True)
class Startup:
    """One `up`."""

    plan: ControlPlanePlan
    components: tuple[Component, ...]
    state: SandboxState
    server: ApiServer
    path: str
    """PATH of the processes."""
    progress: Progress
    started: list[str] = field(default_factory=list[str])
    """Processes that this `up` started, in order."""
    _since: dict[str, float] = field(default_factory=dict[str, float])
    _definitions_applied: bool = False

    def run(self, deadline: float) -> None:
        """Start what does not run, or runs otherwise than planned, and wait until all is ready.

        Raises:
            SandboxError: A process ended or did not become ready; the text holds the end of its
                log.
        """
        self._end_outdated()
        waiting = {component.name: component for component in self.components}
        ready: set[str] = set()
        while waiting:
            for component in waiting.values():
                if component.name not in self._since and component.needs <= ready:
                    self._begin(component)
            if "kube-apiserver" in ready and not self._definitions_applied:
                # Here, after the others were begun: they start while the server takes these.
                self._apply_definitions(deadline)
                ready.add(DEFINITIONS)
            for name, component in list(waiting.items()):
                if name in self._since and self._is_ready(component):
                    ready.add(name)
                    del waiting[name]
            if not waiting:
                if "kube-apiserver" in ready and not self._definitions_applied:
                    self._apply_definitions(deadline)
                if "kwok" in ready:
                    system_node.ensure(self.server)
                return
            self._look_for_trouble(waiting, deadline)
            time.sleep(0.05)

    def fingerprint(self, component: Component) -> str:
        """Digest of all that decides how a component runs."""
        digest = hashlib.sha256("\0".join(command_line(component, self.plan)).encode())
        for file in component.configuration(self.plan.layout, self.plan.certificates):
            digest.update(file.read_bytes())
        for file in _program_files(component, self.plan):
            status = file.stat()
            digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}".encode())
        return digest.hexdigest()[:16]

    def _end_outdated(self) -> None:
        outdated: list[int] = []
        for component in self.components:
            record = self.state.processes.get(component.name)
            if record is None or not processes.is_alive(record):
                continue
            if record.fingerprint != self.fingerprint(component):
                self.progress.note(f"{component.name}: its configuration changed, starting again")
                outdated.append(record.pid)
        processes.stop(outdated, GRACE_SECONDS)

    def _begin(self, component: Component) -> None:
        self._since[component.name] = time.monotonic()
        record = self.state.processes.get(component.name)
        if record is not None and processes.is_alive(record):
            return
        if component.name == "kwok":
            self._release_nodes()
        command = processes.Command(
            component.name, command_line(component, self.plan), self.fingerprint(component)
        )
        layout = self.plan.layout
        # Before it starts: if this run is interrupted meanwhile, it stops the process too, by
        # its marks.
        self.started.append(component.name)
        self.state.processes[component.name] = processes.start(
            command, layout.root, layout.log(component.name), self.path
        )
        self.state.save(layout.state)

    def _release_nodes(self) -> None:
        """Delete the leases of the nodes before kwok starts.

        Each kwok process holds them under its own random name and respects those of others: the
        successor of a killed process would ignore every node for 40 s.
        """
        answer = self.server.request("DELETE", _NODE_LEASES)
        if answer.status != http.HTTPStatus.OK:
            raise SandboxError(f"cannot delete the nodes' leases: {answer.status}")

    def _apply_definitions(self, deadline: float) -> None:
        self._definitions_applied = True
        custom_resources.apply(self.server, custom_resources.packaged(), deadline)

    def _is_ready(self, component: Component) -> bool:
        if component.name == "kube-controller-manager":
            return self._healthy(component) and self._has_default_account()
        if component.health is not None:
            return self._healthy(component)
        if component.ports:
            return all(ports.listens(self.plan.ports[name]) for name in component.ports)
        return time.monotonic() - self._since[component.name] >= _SETTLED_SECONDS

    def _healthy(self, component: Component) -> bool:
        assert component.health is not None, "asked only of components with a health path"
        port = self.plan.ports[component.ports[0]]
        own = None if port == self.server.port else port
        return self.server.is_healthy(component.health, own)

    def _has_default_account(self) -> bool:
        """The first pod of a fresh cluster is refused until its service account exists."""
        return self.server.is_healthy(_DEFAULT_ACCOUNT)

    def _look_for_trouble(self, waiting: dict[str, Component], deadline: float) -> None:
        now = time.monotonic()
        for name in self._since:
            if not processes.is_alive(self.state.processes[name]):
                raise SandboxError(self._failure(name, "ended while starting"))
        for name, component in waiting.items():
            if name not in self._since:
                continue
            if name not in self.started and now - self._since[name] > _UNHEALTHY_GRACE_SECONDS:
                self.progress.note(f"{name}: runs but does not answer, starting again")
                processes.stop([self.state.processes[name].pid], 1.0)
                self._begin(component)
        if now > deadline:
            late = ", ".join(waiting)
            first = next(name for name in waiting if name in self._since)
            raise SandboxError(self._failure(first, f"not ready in time (waiting for: {late})"))

    def _failure(self, name: str, what: str) -> str:
        log = self.plan.layout.log(name)
        hint = ""
        if name == "etcd":
            hint = "\nDamaged data (a power cut)? `gpufleet sandbox reset` starts from nothing."
        return f"{name}: {what}. The end of {log}:\n{processes.tail(log)}{hint}"


def _program_files(component: Component, plan: ControlPlanePlan) -> list[Path]:
    """The files whose change means that a new version of the program is installed."""
    if not component.python:
        return [plan.layout.bin / component.name]
    return sorted((Path(__file__).parent / component.name).rglob("*.py"))


def stop_all(
    components: tuple[str, ...], found: dict[int, str], report: Callable[[str], None]
) -> None:
    """End every process, dependent ones first, storage last."""
    order = [*reversed(components)]
    others = [pid for pid, name in found.items() if name != "etcd"]
    storage = [pid for pid, name in found.items() if name == "etcd"]
    for name in sorted(set(found.values()), key=lambda n: order.index(n) if n in order else -1):
        report(name)
    processes.stop(others, GRACE_SECONDS)
    processes.stop(storage, GRACE_SECONDS)
