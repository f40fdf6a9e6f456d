"""Starting vcsim with hosts that have GPUs. It ends with the process that started it."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gpufleet_sandbox.errors import SandboxError

_STOP_SECONDS = 10
_STARTS = 60
_UNLUCKY = "a population needs a machine"
"""The program's error when it takes the template for the machine to copy. It lists the machines in
the order of a Go map, which differs at each start."""


@dataclass(frozen=True, slots=True)
class SimulatedGpu:
    """One GPU of a host."""

    pci_id: str
    """`0000:3b:00.0`"""
    device_id: str = "20b5"
    """PCI device id, four hexadecimal digits. Default: A100 PCIe 80 GB."""
    name: str = "NVIDIA A100 80GB PCIe"
    memory_mib: int = 81_920
    passthrough: str = "active"
    """`none`, `capable`, `enabled` or `active`."""
    label: str = ""
    graphics_type: str = "sharedDirect"
    """Empty: no graphics device, as a NIC."""
    vendor_id: str = "10de"
    """PCI vendor id. Default: NVIDIA's."""


@dataclass(frozen=True, slots=True)
class SimulatedHost:
    """The GPUs of one host and the vGPU profiles it offers."""

    gpus: tuple[SimulatedGpu, ...] = ()
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SimulatedTemplate:
    """The virtual machine template one clones."""

    name: str = "gpu-template"
    firmware: str = "efi"
    hardware: str = "vmx-20"
    memory_mib: int = 4096
    cpus: int = 2


@dataclass(frozen=True, slots=True)
class SimulatedVcenter:
    """A datacenter `DC0` with the cluster `DC0_C0` and hosts `DC0_C0_H0`, `DC0_C0_H1`, …"""

    hosts: int = 3
    machines: int = 1
    """Machines next to the template, none with a GPU."""
    population: int = 0
    """Further machines that can be listed and read but not changed; thousands take no time."""
    memory_gib: int = 512
    """CPU cores of each host."""
    cores: int = 64
    """Of each host, of 3.6 GHz."""
    gpu_hosts: Mapping[str, SimulatedHost] = field(default_factory=dict[str, SimulatedHost])
    template: SimulatedTemplate = SimulatedTemplate()
    user: str = "operator"
    password: str = field(default="simulated", repr=False)
    api_version: str = "8.0.3.0"
    tls: bool = False
    delay_ms: int = 0
    """Delay of every call."""
    method_delay_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    """`CloneVm` delays the task, `CloneVM_Task` the call."""

    def document(self) -> str:
        """The inventory as the program reads it."""
        return json.dumps({_camel(key): _camelled(value) for key, value in asdict(self).items()})


def _camelled(value: Any) -> Any:
    if isinstance(value, Mapping):
        # Names of hosts and methods are data; names of fields are ours.
        return {_camel(key): _camelled(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_camelled(item) for item in value]
    return value


def _camel(name: str) -> str:
    if name[:1].isupper():
        return name
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


@dataclass(frozen=True, slots=True)
class RunningVcenter:
    """A simulator that serves."""

    host: str
    port: int
    process: "subprocess.Popen[str]"
    folder: "tempfile.TemporaryDirectory[str]"
    """Its datastores: gone with it, however it ends."""

    def stop(self) -> None:
        """End it in its own way, and by force when that takes too long."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._forget()

    def kill(self) -> None:
        """End it as a power failure would."""
        self.process.kill()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._forget()

    def _forget(self) -> None:
        self.process.wait()
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        self.folder.cleanup()


def start(program: Path, inventory: SimulatedVcenter) -> RunningVcenter:
    """Start the simulator; the caller stops it.

    Raises:
        SandboxError: it does not start; the text has its output.
    """
    for _ in range(_STARTS if inventory.machines else 0):
        try:
            return _start_once(program, inventory)
        except SandboxError as problem:
            if _UNLUCKY not in str(problem):
                raise
    return _start_once(program, inventory)


def _start_once(program: Path, inventory: SimulatedVcenter) -> RunningVcenter:
    folder = tempfile.TemporaryDirectory(prefix="vcsim-")
    process = subprocess.Popen(
        [str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": folder.name},
    )
    running = RunningVcenter("", 0, process, folder)
    try:
        host, port = _address(process, inventory)
    except BaseException:
        running.kill()
        raise
    return replace(running, host=host, port=port)


def _address(process: "subprocess.Popen[str]", inventory: SimulatedVcenter) -> tuple[str, int]:
    """Its address, once it serves."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(inventory.document() + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SandboxError(f"vcsim did not start: {process.stderr.read().strip()}")
    address = urlsplit(json.loads(line)["url"])
    return str(address.hostname), int(address.port or 0)


@contextmanager
def vcenter(program: Path, inventory: SimulatedVcenter) -> Iterator[RunningVcenter]:
    """Run the simulator.

    Args:
        inventory: Its inventory.

        Raises:
            SandboxError: it does not start; the text has its output.
    """
    running = start(program, inventory)
    try:
        yield running
    finally:
        running.stop()
