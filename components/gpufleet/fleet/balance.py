"""Host resources of a machine for each GPU, and NVIDIA's published requirements for them.

Requirements: NVIDIA AI Enterprise reference architecture, Compute Node Hardware (H200 NVL systems:
at least 7 physical cores and 128 GB of memory for each GPU). Reference: NVIDIA DGX BasePOD, Core
Components (DGX H100 and H200, eight GPUs: 112 cores, 2 TB, eight NVMe disks of 3.84 TB, eight ports
of 400 Gb/s). Both read 2026-11-23. The requirements are for systems with Hopper GPUs: none are
published for older and smaller GPUs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Machine, Pool
from gpufleet.spec.pool import Intent

_finding = findings_in(__file__)

LEAST_CORES = 7
LEAST_MEMORY = 128 * 10**9
HOPPER = (9, 0)
"""First compute capability to which the requirements apply."""
_THREADS = 2
"""Virtual CPUs of a physical core of an x86 machine in the clouds."""


@dataclass(frozen=True, slots=True)
class HostShare:
    """Resources of a machine for each of its GPUs; None if not known."""

    machine: str
    vcpus: float | None
    most_cores: float | None
    """Physical cores: half of the virtual CPUs of an x86 machine of a cloud, which are threads."""
    memory_bytes: float | None
    local_bytes: float | None
    network_gbps: float | None

    def in_words(self) -> str:
        """`24 vCPU, 256 GiB, 3.8 TB local, 400 Gb/s`, of the known figures."""
        parts: list[str] = []
        if self.vcpus is not None:
            parts.append(f"{self.vcpus:g} vCPU")
        if self.memory_bytes is not None:
            parts.append(f"{self.memory_bytes / 2**30:.0f} GiB")
        if self.local_bytes:
            parts.append(f"{self.local_bytes / 1e12:.1f} TB local")
        if self.network_gbps is not None:
            parts.append(f"{self.network_gbps:g} Gb/s")
        return ", ".join(parts)


def host_share(machine: Machine) -> HostShare:
    """The parts of one machine, divided by its devices."""
    row, gpus = machine.instance, machine.gpus

    def each(amount: float | None) -> float | None:
        return None if amount is None else float(amount) / gpus

    vcpus = each(machine.vcpu)
    cores = None if vcpus is None or machine.architecture == "arm64" else vcpus / _THREADS
    most = vcpus if row is None or machine.architecture == "arm64" else cores
    network = None if row is None or row.network_gbps is None else float(row.network_gbps)
    return HostShare(
        machine=machine.name,
        vcpus=vcpus,
        most_cores=most,
        memory_bytes=each(machine.memory_bytes),
        local_bytes=each(machine.local_nvme_bytes),
        network_gbps=each(network),
    )


def validate_balance(pools: Sequence[Pool]) -> Iterator[Finding]:
    """Training pools of whole GPUs whose machines have less than the published requirements. A
    result that depends on the mapping of virtual CPUs to cores is not reported."""
    for pool in pools:
        needs = (pool.gpu.compute_capability or (0, 0)) >= HOPPER and pool.gpu.vendor == "nvidia"
        if pool.intent is not Intent.TRAINING or not needs or pool.partition.fraction != 1:
            continue
        for machine in pool.machines:
            yield from _validate_machine(pool, host_share(machine))


def _validate_machine(pool: Pool, share: HostShare) -> Iterator[Finding]:
    cores, memory = share.most_cores, share.memory_bytes
    path = f"{pool.path}.{'instanceTypes' if pool.machines[0].instance else pool.platform.name}"
    if cores is not None and cores < LEAST_CORES:
        yield _finding(
            "balance-cores-low",
            path,
            machine=share.machine,
            cores=f"{cores:g}",
            gpu=pool.gpu.key,
            limit=LEAST_CORES,
            value=cores,
        )
    if memory is not None and memory < LEAST_MEMORY:
        yield _finding(
            "balance-memory-low",
            path,
            machine=share.machine,
            memory=f"{memory / 1000000000.0:.0f}",
            gpu=pool.gpu.key,
            least_gb=LEAST_MEMORY // 10**9,
            value=int(memory),
            limit=LEAST_MEMORY,
        )
