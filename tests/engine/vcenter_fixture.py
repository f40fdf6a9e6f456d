"""A simulated vCenter with GPUs, a proxy before it, and the provider in a process one may kill."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pyVim.connect import Disconnect, SmartConnect
from pyVmomi import vim

from gpufleet_vcenter.identity import OWNER
from tests.engine.conftest import require
from tests.vcenter.fault_proxy import FaultProxy, fault_proxy
from tests.vcenter.mortal import MortalVcenter
from tests.vcenter.simulator import (
    RunningVcenter,
    SimulatedGpu,
    SimulatedHost,
    SimulatedVcenter,
    start,
)

PASSWORD = "correct-horse-battery"
USER = "operator"
PROFILE = "grid_a100d-10c"
SECRET = "kubeadm-token-abcdef.0123456789abcdef"
DYNAMIC = {"mode": "dynamic", "deviceIds": ["20b5"], "count": 1}
VGPU = {"mode": "vgpu", "profile": PROFILE, "count": 1}
FIXED = {"mode": "fixed", "pciAddresses": ["0000:5e:00.0"]}


def gpu_hosts(hosts: int = 3, gpus: int = 2) -> dict[str, SimulatedHost]:
    slots = (0x3B, 0x5E, 0x86, 0xAF)
    each = tuple(SimulatedGpu(f"0000:{slot:02x}:00.0", label="a100") for slot in slots[:gpus])
    return {f"DC0_C0_H{number}": SimulatedHost(each, (PROFILE,)) for number in range(hosts)}


@dataclass
class Worker:
    """The provider's process."""

    process: "subprocess.Popen[str]"
    said: list[str]
    """All of its responses."""
    pid: int | None = None

    def run(self, operation: str, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"operation": operation, **request}) + "\n")
        self.process.stdin.flush()
        self.pid = json.loads(self.process.stdout.readline())["pid"]
        answer = self.process.stdout.readline()
        self.pid = None
        self.said.append(answer)
        return json.loads(answer)

    def kill(self) -> None:
        """End the running operation, as a power failure would."""
        self._signal(signal.SIGKILL)

    def interrupt(self) -> None:
        """Interrupt the operation that runs, as Ctrl-C does."""
        self._signal(signal.SIGUSR1)  # vsphere_worker.INTERRUPT

    def _signal(self, number: int) -> None:
        if self.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


@contextmanager
def worker(said: list[str]) -> Iterator[Worker]:
    environment = {
        **os.environ,
        "VSPHERE_USER": USER,
        "VSPHERE_PASSWORD": PASSWORD,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.vsphere_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
    try:
        yield Worker(process, said)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.wait(30)
        process.stdout.close()


LIFE = "0123456789ab"
"""Id of the group in the tests."""


@dataclass
class Vcenter:
    """Interface of a test."""

    first: RunningVcenter
    proxy: FaultProxy
    stack: ExitStack
    inventory: SimulatedVcenter
    said: list[str] = field(default_factory=list)
    """All responses of the worker, for a search for secrets."""

    @cached_property
    def mortal(self) -> MortalVcenter:
        """Function that kills the simulator; read it before any change."""
        return MortalVcenter(_program(), self.inventory, self.first, self.proxy)

    @property
    def running(self) -> RunningVcenter:
        """The simulator as it runs now."""
        return self.mortal.running if "mortal" in self.__dict__ else self.first

    @cached_property
    def worker(self) -> Worker:
        """The provider's process, started on first use."""
        return self.stack.enter_context(worker(self.said))

    def node(self, ordinal: int, gpu: dict[str, Any] = DYNAMIC, **more: Any) -> dict[str, Any]:
        """Inputs of one node, reached through the proxy."""
        return {
            "owner": f"organisation/project/stack/group/{ordinal}",
            "generation": "0123456789ab",
            "life": LIFE,
            "endpoint": {
                "server": "127.0.0.1",
                "port": float(self.proxy.port),  # the engine hands numbers on as floats
                "plainHttp": True,
            },
            "place": {"datacenter": "DC0", "cluster": "DC0_C0", "template": "gpu-template"},
            "name": f"gpu-{ordinal}",
            "cpus": 8.0,
            "memoryMib": 65_536.0,
            "gpu": gpu,
            "gpuMemoryGib": 80.0,
            "userData": f"#cloud-config\nruncmd: [join {SECRET}]\n",
            **more,
        }

    @contextmanager
    def service(self) -> Iterator[Any]:
        """A connection of the test's own, past the proxy."""
        found = SmartConnect(
            protocol="http",
            host=self.running.host,
            port=self.running.port,
            user=USER,
            pwd=PASSWORD,
        )
        try:
            yield found
        finally:
            Disconnect(found)

    def machines(self) -> dict[str, str]:
        """Owner mark (or empty) of every machine, by name and reference."""
        with self.service() as service:
            content = service.RetrieveContent()
            view = content.viewManager.CreateContainerView(
                content.rootFolder, [vim.VirtualMachine], True
            )
            return {
                f"{machine.name} {machine._moId}": next(
                    (e.value for e in machine.config.extraConfig if e.key == OWNER), ""
                )
                for machine in view.view
            }

    @contextmanager
    def machine(self, name: str) -> Iterator[Any]:
        """One machine, past the proxy: what an administrator does to it."""
        with self.service() as service:
            content = service.RetrieveContent()
            view = content.viewManager.CreateContainerView(
                content.rootFolder, [vim.VirtualMachine], True
            )
            (found,) = [machine for machine in view.view if machine.name == name]
            yield found

    def remove_owned(self) -> None:
        """Destroy every machine of ours, past the proxy and the provider."""
        with self.service() as service:
            content = service.RetrieveContent()
            view = content.viewManager.CreateContainerView(
                content.rootFolder, [vim.VirtualMachine], True
            )
            for machine in list(view.view):
                if any(entry.key == OWNER for entry in machine.config.extraConfig):
                    power_off = machine.PowerOffVM_Task()
                    while power_off.info.state in ("queued", "running"):
                        time.sleep(0.01)
                    destroy = machine.Destroy_Task()
                    while destroy.info.state in ("queued", "running"):
                        time.sleep(0.01)
        if "mortal" in self.__dict__:
            self.mortal.forget_changes()

    def owned(self) -> list[str]:
        """Owner marks of all machines of ours."""
        return sorted(owner for owner in self.machines().values() if owner)


def _program() -> Path:
    return require(("vcsim",))["vcsim"]


@contextmanager
def simulated(inventory: SimulatedVcenter) -> Iterator[Vcenter]:
    first = start(_program(), inventory)
    made: Vcenter | None = None
    try:
        with fault_proxy(first.host, first.port) as proxy, ExitStack() as stack:
            made = Vcenter(first, proxy, stack, inventory)
            yield made
    finally:
        (first if made is None else made.running).stop()


def inventory(hosts: int = 3, gpus: int = 2, **more: Any) -> SimulatedVcenter:
    return SimulatedVcenter(
        hosts=hosts, gpu_hosts=gpu_hosts(hosts, gpus), user=USER, password=PASSWORD, **more
    )


def without(rows: Sequence[str], secret: str) -> bool:
    return not any(secret in row for row in rows)
