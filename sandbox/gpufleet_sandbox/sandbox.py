"""Sandbox: the one object that brings a local control plane up and takes it down."""

import datetime
import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Self

from gpufleet_sandbox import (
    bootstrap,
    certificates,
    environment,
    installation,
    kubeconfig,
    layout,
    ports,
    processes,
    startup,
    status,
)
from gpufleet_sandbox.api_server import ApiServer
from gpufleet_sandbox.cloud import credentials
from gpufleet_sandbox.control_plane import (
    COMPONENTS,
    Component,
    ControlPlanePlan,
    component_kubeconfig,
    select,
    stages,
)
from gpufleet_sandbox.errors import SandboxError
from gpufleet_sandbox.orphaned_plugins import end_orphaned_plugins
from gpufleet_sandbox.programs import SANDBOX_PROGRAMS, ProviderPlugin
from gpufleet_sandbox.progress import Progress, SilentProgress
from gpufleet_sandbox.state import SandboxState, write_atomically
from gpufleet_sandbox.turns import turn

READY_WITHIN_SECONDS = 120.0
"""Default limit for the control plane to become ready; warm it takes about four seconds."""


class Sandbox:
    """A real etcd, API server, controller manager and scheduler on loopback, with simulated nodes.

    All files are below one folder; two folders are two sandboxes. Methods may be called at any time
    from several processes: one at a time changes the sandbox, the others wait.

        with Sandbox(folder).up() as sandbox:
            subprocess.run(["pulumi", "up", "--yes"], env=sandbox.environment())

    Args:
        directory: The sandbox folder. Default: `$GPUFLEET_SANDBOX`, else `.sandbox` next to the
            nearest `Pulumi.yaml` upwards, else `.sandbox` here.
        progress: Target of reports; default: none.
    """

    def __init__(
        self, directory: Path | str | None = None, *, progress: Progress | None = None
    ) -> None:
        named = Path(directory) if directory is not None else None
        self.layout = layout.locate(named, os.environ, Path.cwd())
        self.progress: Progress = progress or SilentProgress()
        """Target of this sandbox's reports."""

    @property
    def kubeconfig(self) -> Path:
        """The cluster administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def env(self) -> dict[str, str]:
        """Short for `environment()`."""
        return self.environment()

    def environment(self) -> dict[str, str]:
        """A complete environment for child processes: this process's, with the sandbox on top."""
        return environment.merged(self.layout, os.environ)

    def up(
        self,
        only: Iterable[str] | None = None,
        *,
        timeout: float = READY_WITHIN_SECONDS,
        tools: Iterable[str] = (),
    ) -> Self:
        """Start the sandbox, or repair it: healthy processes are not changed.

        Args:
            only: Components to run, with those they need (`{"kube-apiserver"}` brings etcd too).
                Default: all. With a choice the engine's programs are not prepared.
            timeout: Seconds for the control plane to become ready once all programs are there.
            tools: Further programs to prepare, such as `pulumi-language-yaml`.

        Raises:
            SandboxError: A program is not available, or a process does not become ready. Processes
            that this call started are stopped again; earlier ones keep running.
        """
        components = select(only)
        names = [component.name for component in components if not component.python]
        if only is None:
            names = [*SANDBOX_PROGRAMS]
        # Before the lock: a build takes minutes, and `status` or `down` must not wait for it.
        programs = bootstrap.prepare([*names, *tools], self.progress)
        with self._locked():
            self.layout.etcd.mkdir(parents=True, exist_ok=True, mode=0o700)
            installation.install(self.layout, programs, ProviderPlugin())
            installation.install_command(self.layout)
            self._start(components, timeout)
        return self

    def add(self, names: Iterable[str]) -> dict[str, Path]:
        """Prepare further programs, such as `pulumi-language-yaml`; when there is a sandbox, its
        shell and its engine find them from now on.

        Returns:
            Program name -> executable.

        Raises:
            SandboxError: A program cannot be had.
        """
        programs = bootstrap.prepare(tuple(names), self.progress)
        if self.layout.is_sandbox():
            with self._locked():
                installation.install(self.layout, programs, ProviderPlugin())
        return programs

    def down(self) -> None:
        """Stop every process and free every port. The data stays for the next `up`.

        Providers that a killed engine left behind are ended too; an engine that works is not.
        """
        if not self.layout.is_sandbox():
            return
        with self._locked():
            self._stop()

    def reset(self) -> None:
        """Stop everything and delete the data: objects, stacks, certificates, logs."""
        if not self.layout.is_sandbox():
            return
        with self._locked():
            self._stop()
            for path in self.layout.data:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)

    def status(self) -> status.Status:
        """Processes, resources of the nodes, and places of the pods."""
        state = SandboxState.load(self.layout.state)
        record = state.processes.get("kube-apiserver")
        server = None
        if record is not None and processes.is_alive(record):
            try:
                server = self.server()
            except OSError as problem:  # certificates deleted or damaged while it runs
                state.damaged = f"its certificates cannot be read: {problem}"
        return status.read(self.layout, state, server)

    def server(self) -> ApiServer:
        """Requests to the API server as administrator; the sandbox must have been up.

        Raises:
            OSError: its certificates are missing or damaged.
        """
        port = SandboxState.load(self.layout.state).ports["kube-apiserver"]
        return ApiServer(port, certificates.Certificates(self.layout.certificates))

    def kill(self, name: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to one process: for tests of what happens when a part dies.

        Raises:
            SandboxError: No such process runs.
        """
        record = SandboxState.load(self.layout.state).processes.get(name)
        if record is None or not processes.is_alive(record):
            raise SandboxError(f"{name} does not run in {self.layout.root}")
        processes.send(record, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.down()

    @contextmanager
    def deploying(self) -> Iterator[None]:
        """Held while stacks are deployed, so that two `sandbox up --deploy` wait for each other.

        Raises:
            SandboxError: the other one does not end.
        """
        with turn(self.layout.deploy_lock, f"deploys into {self.layout.root}", self.progress.note):
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.layout.claim()
        with turn(self.layout.lock, f"works on {self.layout.root}", self.progress.note):
            yield

    def _start(self, components: tuple[Component, ...], timeout: float) -> None:
        state = self._state()
        plan = self._plan(components, state)
        state.ports = plan.ports
        state.save(self.layout.state)
        write_atomically(self.layout.environment, environment.shell(self.layout))
        work = startup.Startup(
            plan=plan,
            components=components,
            state=state,
            server=ApiServer(plan.ports["kube-apiserver"], plan.certificates),
            path=f"{self.layout.bin}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            progress=self.progress,
        )
        task = self.progress.task("control plane", 5.0)
        try:
            work.run(time.monotonic() + timeout)
        except BaseException:
            # Also on Ctrl-C: nothing half-started stays behind.
            task.failed("stopping what was started")
            self._stop(set(work.started))
            raise
        begun = f"started {', '.join(work.started)}" if work.started else "already running"
        task.done(f"{begun}; {work.server.url}")

    def _state(self) -> SandboxState:
        """The record, with processes it lost track of stopped."""
        state = SandboxState.load(self.layout.state)
        if state.damaged:
            self.progress.note(
                f"{self.layout.state} was unreadable ({state.damaged}); starting from what runs"
            )
        found = processes.find(self.layout.root, state.processes)
        if lost := processes.strays(found, state.processes):
            names = ", ".join(sorted({found[pid] for pid in lost}))
            self.progress.note(f"ending processes without a record: {names}")
            processes.stop(lost, startup.GRACE_SECONDS)
        state.damaged = None
        return state

    def _plan(self, components: tuple[Component, ...], state: SandboxState) -> ControlPlanePlan:
        keys = certificates.ensure(self.layout.certificates, datetime.datetime.now(datetime.UTC))
        alive = {name for name, r in state.processes.items() if processes.is_alive(r)}
        held = {port for c in COMPONENTS if c.name in alive for port in c.ports}
        chosen = ports.choose(
            [port for component in COMPONENTS for port in component.ports], state.ports, held
        )
        server = chosen["kube-apiserver"]
        write_atomically(self.layout.kubeconfig, kubeconfig.render(keys, "admin", server))
        credentials.install_credentials(self.layout)
        for identity in ("controller-manager", "scheduler"):
            write_atomically(
                component_kubeconfig(self.layout, identity),
                kubeconfig.render(keys, identity, server),
            )
        packaged = files("gpufleet_sandbox") / "kwok_stages.yaml"
        write_atomically(stages(self.layout), packaged.read_text(encoding="utf-8"))
        self.layout.backend.mkdir(parents=True, exist_ok=True)
        self.layout.pulumi_home.mkdir(parents=True, exist_ok=True)
        installation.write_passphrase(self.layout.passphrase)
        # What already runs counts too: a later, smaller `up` must not restart the API server.
        return ControlPlanePlan(
            self.layout, keys, chosen, frozenset(c.name for c in components) | alive
        )

    def _stop(self, only: set[str] | None = None) -> None:
        state = SandboxState.load(self.layout.state)
        found = processes.find(self.layout.root, state.processes)
        if only is not None:
            found = {pid: name for pid, name in found.items() if name in only}
        startup.stop_all(
            tuple(component.name for component in COMPONENTS),
            found,
            lambda name: self.progress.note(f"stopping {name}"),
        )
        if only is None:
            end_orphaned_plugins(self.layout.pulumi_home)
        if self.layout.state.exists():
            stopped = set(state.processes) if only is None else only
            state.processes = {n: r for n, r in state.processes.items() if n not in stopped}
            state.save(self.layout.state)
