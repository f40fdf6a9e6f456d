"""Reads a packing file into a problem: resolves names, parses units, and reports all errors."""

from collections.abc import Iterable
from typing import Any

from gpufleet.catalogue import Catalogue, Gpu, UnknownKeyError
from gpufleet.catalogue.frozen import frozen
from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, findings_in, has_errors
from gpufleet.partition.placement import PlacedInstance, Refusal, place
from gpufleet.partition.shares import MIB
from gpufleet_planner.packing.problem import (
    ExistingNode,
    GpuState,
    Mode,
    PackingMachine,
    PackingProblem,
    ShareClass,
)
from gpufleet_planner.packing.request import (
    ExistingGpuRequest,
    ExistingRequest,
    MachineRequest,
    PackRequest,
    ShareRequest,
)

_finding = findings_in(__file__)


def read_problem(
    request: PackRequest, catalogue: Catalogue
) -> tuple[PackingProblem | None, tuple[Finding, ...]]:
    """The problem of a file. None exactly when a finding is an error."""
    reader = _Reader(request, catalogue)
    problem = reader.problem()
    findings = tuple(reader.findings)
    return (None if has_errors(findings) else problem), findings


class _Reader:
    def __init__(self, request: PackRequest, catalogue: Catalogue) -> None:
        self.request = request
        self.catalogue = catalogue
        self.findings: list[Finding] = []
        self.machines: dict[str, PackingMachine] = {}

    def problem(self) -> PackingProblem:
        for i, entry in enumerate(self.request.machines):
            machine = self._machine(entry, f"machines[{i}]")
            if machine is None:
                continue
            if machine.name in self.machines:
                self._twice(f"{machine.path}.name", machine.name, "machine")
            self.machines[machine.name] = machine
        shares = [self._share(s, f"shares[{i}]") for i, s in enumerate(self.request.shares)]
        self._repeated("shares", [s.name for s in shares], "name")
        existing = [self._node(n, f"existing[{i}]") for i, n in enumerate(self.request.existing)]
        self._repeated("existing", [n.node for n in self.request.existing], "node")
        nodes = tuple(node for node in existing if node is not None)
        self._known_hosts(shares, nodes)
        problem = PackingProblem(frozen(self.machines), tuple(shares), nodes)
        for machine in self.machines.values():
            if machine.max_nodes != 0 and machine.micro_usd_per_hour is None:
                self.say("pack-price-unknown", machine.path, machine=machine.name)
        return problem

    def say(self, row: str, path: str, *, fix: str | None = None, **facts: object) -> None:
        self.findings.append(_finding(row, path, fix=fix, **facts))

    # -- names ----------------------------------------------------------------------------------

    def _repeated(self, section: str, names: list[str], key: str) -> None:
        for i, name in enumerate(names):
            if name in names[:i]:
                self._twice(f"{section}[{i}].{key}", name, section)

    def _twice(self, path: str, name: str, what: str) -> None:
        self.say("pack-name-repeated", path, name=name, what=what)

    def _unknown(self, path: str, name: str, known: Iterable[str], what: str) -> None:
        names = list(known)
        near = nearest_names(name, names)
        fix = f"write {' or '.join(near or names)}"
        self.say("pack-name-unknown", path, fix=fix, value=name, what=what)

    def _chosen(self, names: Iterable[str], path: str) -> frozenset[str]:
        """Machines by name, or all that carry a GPU."""
        found: set[str] = set()
        for i, name in enumerate(names):
            by_gpu = {m.name for m in self.machines.values() if m.gpu.key == name}
            if name in self.machines:
                found.add(name)
            elif by_gpu:
                found |= by_gpu
            else:
                known = [*self.machines, *sorted({m.gpu.key for m in self.machines.values()})]
                self._unknown(f"{path}[{i}]", name, known, "machine or GPU")
        return frozenset(found)

    # -- machines -------------------------------------------------------------------------------

    def _machine(self, entry: MachineRequest, path: str) -> PackingMachine | None:
        price = None if entry.usd_per_hour is None else int(entry.usd_per_hour * MICRO_USD)
        cpu, memory, whole_only = entry.cpu, entry.host_memory, False
        try:
            if entry.instance_type is None:
                gpu: Gpu = self.catalogue.find_gpu(entry.gpu or "")
                name, count, device = gpu.key, entry.gpus_per_node or 1, gpu.memory_bytes
            else:
                instance = self.catalogue.instance(entry.instance_type)
                gpu, name = self.catalogue.gpu(instance.accelerator.gpu), instance.name
                count, device = instance.accelerator.count, self.catalogue.device_memory(instance)
                whole_only, memory = instance.fractional, memory or instance.memory_bytes
                cpu = cpu or (instance.vcpu and instance.vcpu * 1000)
                if price is None:
                    price = instance.price(entry.purchase).micro_usd_per_hour
        except UnknownKeyError as problem:
            near = f"write {' or '.join(problem.nearest)}" if problem.nearest else None
            if entry.instance_type is None:
                return self.say("pack-gpu-unknown", path, fix=near, problem=str(problem))
            return self.say("pack-instancetype-unknown", path, fix=near, problem=str(problem))
        if count is None:
            return self.say("pack-gpus-unknown", path, name=name)
        return PackingMachine(
            entry.name or name,
            gpu,
            count,
            device,
            whole_only,
            frozenset(entry.modes),
            entry.mig_strategy == "single",
            price,
            entry.max_nodes,
            path,
            (cpu, _mib(memory)),
        )

    # -- shares ---------------------------------------------------------------------------------

    def _share(self, entry: ShareRequest, path: str) -> ShareClass:
        mode: Mode | None = Mode.WHOLE
        asked: dict[str, Any] = {"gpus": entry.gpus or 1, "memory_bytes": entry.memory or 0}
        if entry.slice is not None:
            mode = Mode.MIG if entry.slice.mig_only else None
            memory, compute = entry.slice.memory or 0, entry.slice.compute_slices
            asked = {"memory_bytes": memory, "compute_slices": compute}
        elif entry.mig is not None:
            mode, asked = Mode.MIG, {"profile": entry.mig}
        elif (part := entry.mps or entry.time_slicing) is not None:
            mode = Mode.MPS if entry.mps is not None else Mode.TIME_SLICING
            replicas = None if part.part is None else int(1 / part.part)
            asked = {"memory_bytes": part.memory or 0, "replicas": replicas}
        if entry.machines is not None:
            asked["machines"] = self._chosen(entry.machines, f"{path}.machines")
        host = (entry.cpu or 0, -(-(entry.host_memory or 0) // MIB))
        return ShareClass(entry.name, entry.count, mode, path=path, host=host, **asked)

    # -- what is there --------------------------------------------------------------------------

    def _node(self, entry: ExistingRequest, path: str) -> ExistingNode | None:
        machine = self.machines.get(entry.machine)
        if machine is None:
            if len(self.machines) == len(self.request.machines):
                self._unknown(f"{path}.machine", entry.machine, self.machines, "machine")
            return None
        stated, gpus_there = len(entry.gpus), machine.gpus
        if stated > gpus_there:
            name = machine.name
            return self.say(
                "pack-gpus-too-many", path, machine=name, found=stated, limit=gpus_there
            )
        gpus = [self._gpu(machine, gpu, f"{path}.gpus[{i}]") for i, gpu in enumerate(entry.gpus)]
        gpus += [GpuState()] * (gpus_there - stated)
        divided = {(g.mode, g.replicas) for g in gpus if g.mode is not None}
        if len(divided) > 1 or (divided and any(g.mig for g in gpus)):
            self.say("pack-sharing-mixed", path)
        # Existing shares take CPUs and memory too, and only the file has the amount.
        in_use = any(gpu.occupied or gpu.full or gpu.taken for gpu in gpus)
        cpu, memory = (None, None) if in_use else machine.host
        cpu = cpu if entry.free_cpu is None else entry.free_cpu
        memory = memory if entry.free_host_memory is None else _mib(entry.free_host_memory)
        node = ExistingNode(entry.node, machine.name, tuple(gpus), path, (cpu, memory))
        for part, (left, whole) in enumerate(zip((cpu, memory), machine.host, strict=True)):
            if (left or 0) > (whole or 0) > 0:
                at, name = f"{path}.{_FREE_KEYS[part]}", machine.name
                self.say("pack-host-too-much", at, what=_HOST[part], node=node.name, machine=name)
        return node

    def _known_hosts(self, shares: list[ShareClass], nodes: Iterable[ExistingNode]) -> None:
        """Errors for machines and nodes without the CPUs or memory that shares request."""
        for machine in self.machines.values():
            open_to = [s for s in shares if s.machines is None or machine.name in s.machines]
            for part, what in enumerate(_HOST):
                if not any(share.host[part] for share in open_to):
                    continue
                unknown = [(machine.name, f"{machine.path}.{_MACHINE_KEYS[part]}")]
                if machine.host[part] is not None:
                    unknown = [
                        (node.name, f"{node.path}.{_FREE_KEYS[part]}")
                        for node in nodes
                        if node.machine == machine.name and node.host and node.host[part] is None
                    ]
                for name, path in unknown:
                    key = path.rpartition(".")[2]
                    self.say("pack-host-unknown", path, what=what, name=name, key=key)

    def _gpu(self, machine: PackingMachine, entry: ExistingGpuRequest, path: str) -> GpuState:
        clients = entry.mps or entry.time_slicing
        if clients is not None:
            mode = Mode.MPS if entry.mps is not None else Mode.TIME_SLICING
            if clients.used > clients.replicas:
                self.say("pack-replicas-exceeded", path, found=clients.used, limit=clients.replicas)
            return GpuState(mode=mode, replicas=clients.replicas, taken=clients.used)
        if entry.mig is None:
            return GpuState(full=entry.whole)
        geometry = machine.gpu.mig
        if geometry is None or machine.whole_only:
            self.say("pack-existing-impossible", path, gpu=machine.gpu.key, machine=machine.name)
            return GpuState()
        placed: list[PlacedInstance] = []
        for instance in entry.mig:
            name = geometry.alternate_names.get(instance.profile, instance.profile)
            profile = geometry.profiles.get(name)
            memory, compute = (
                (1, 0) if profile is None else (profile.memory_slots, profile.compute_slices)
            )
            placed.append(PlacedInstance(name, instance.start, memory, compute))
        answer = place(geometry, {}, placed)
        if isinstance(answer, Refusal):
            self.say("pack-existing-impossible/together", path, gpu=machine.gpu.key, why=answer.why)
            return GpuState()
        return GpuState(tuple(sorted(placed, key=lambda one: one.start)), mig=True)


_HOST = ("CPU", "memory")
_MACHINE_KEYS = ("cpu", "hostMemory")
_FREE_KEYS = ("freeCpu", "freeHostMemory")


def _mib(size: int | None) -> int | None:
    return None if size is None else size // MIB
