"""A packing in the making: nodes that are there or bought, and what each of their GPUs holds."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition.placement import PlacedInstance
from gpufleet.partition.slot_table import slot_table
from gpufleet_planner.packing.problem import (
    Assignment,
    GpuState,
    HostRoom,
    Mode,
    PackedNode,
    PackingMachine,
    PackingProblem,
)
from gpufleet_planner.packing.slots import Slot, host_fits, proof, state_of


@dataclass(slots=True)
class OpenGpu:
    """One GPU and what was put on it."""

    node: "OpenNode"
    index: int
    state: GpuState
    whole: str | None = None
    """Share class that has all of it."""
    instances: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """MIG profile -> share class of each instance put on it."""
    clients: list[str] = field(default_factory=list[str])
    """MPS or time-slicing: share class of each client put on it."""

    @property
    def free_whole(self) -> bool:
        """Whether nothing is on it and nothing was."""
        return self.state.untouched and not (self.whole or self.instances or self.clients)

    def pattern(self, geometry: MigGeometry) -> tuple[tuple[str, int], ...]:
        """Its shares, as a pattern."""
        return tuple((n, len(self.instances[n])) for n in geometry.profiles if n in self.instances)

    def placed(self, geometry: MigGeometry) -> tuple[PlacedInstance, ...]:
        """Instances put on it, with start slots that leave most open."""
        if not self.instances:
            return ()
        return proof(geometry, self.pattern(geometry), self.state.occupied).instances

    def room_for(self, geometry: MigGeometry, profile: str) -> bool:
        """Whether one more instance fits next to what is there and what was put on it."""
        if self.whole is not None or self.clients or self.state.full or self.state.mode:
            return False
        table = slot_table(geometry)
        order = list(geometry.profiles)
        used, present = state_of(geometry, self.state.occupied)
        wanted = sum(table.unit[order.index(n)] * len(c) for n, c in self.instances.items())
        wanted += table.unit[order.index(profile)]
        number = table.number.get(wanted)
        return number is not None and bool(table.fitting(used, present) >> number & 1)


@dataclass(slots=True)
class OpenNode:
    """One node and its GPUs."""

    name: str
    machine: PackingMachine
    existing: bool
    gpus: list[OpenGpu] = field(default_factory=list[OpenGpu])
    profile: str = ""
    """Single strategy: the profile of all GPUs; empty: not decided."""
    mode: Mode | None = None
    """MPS or time-slicing, once decided."""
    replicas: int = 1
    gangs: list[tuple[str, tuple[int, ...]]] = field(
        default_factory=list[tuple[str, tuple[int, ...]]]
    )
    """Shares of several GPUs: class and GPU indices."""
    host: HostRoom = (None, None)
    """CPUs and memory that are left."""

    @property
    def used(self) -> bool:
        """Whether anything was put on it."""
        return any(g.whole or g.instances or g.clients for g in self.gpus)


class Workspace:
    """All nodes of a packing, and the only way to put a share on one."""

    def __init__(self, problem: PackingProblem) -> None:
        self.problem = problem
        self.nodes: list[OpenNode] = []
        self._named: Counter[str] = Counter()
        self._bought: Counter[str] = Counter()
        self.existing: dict[str, OpenNode] = {}
        taken = {node.name for node in problem.existing}
        self._taken = taken
        for there in problem.existing:
            machine = problem.machines[there.machine]
            node = OpenNode(there.name, machine, True)
            node.host = machine.host if there.host is None else there.host
            for index, gpu in enumerate(there.gpus):
                node.gpus.append(OpenGpu(node, index, gpu))
            divided = next((g.state for g in node.gpus if g.state.mode), None)
            if divided is not None:
                node.mode, node.replicas = divided.mode, divided.replicas
            profiles = {i.profile for g in node.gpus for i in g.state.occupied}
            if node.machine.single_strategy and len(profiles) == 1:
                node.profile = profiles.pop()
            self.nodes.append(node)
            self.existing[node.name] = node

    def buy(self, machine: PackingMachine) -> OpenNode:
        """Open a new node. Limits are the caller's business (`may_buy`)."""
        while True:
            name = f"{machine.name}-{self._named[machine.name]}"
            self._named[machine.name] += 1
            if name not in self._taken:
                break
        node = OpenNode(name, machine, False, host=machine.host)
        node.gpus = [OpenGpu(node, index, GpuState()) for index in range(machine.gpus)]
        self.nodes.append(node)
        self._bought[machine.name] += 1
        return node

    def may_buy(self, machine: PackingMachine) -> bool:
        """Whether one more node of this type may be bought."""
        return machine.max_nodes is None or self._bought[machine.name] < machine.max_nodes

    def allows(self, share: str, node: OpenNode) -> bool:
        """Whether CPUs and memory of the node let one more share go there."""
        return host_fits(self.problem.by_name[share].host, node.host)

    def fits(self, slot: Slot, gpu: OpenGpu) -> bool:
        """Whether the GPU can still give this slot (of one GPU)."""
        node = gpu.node
        if node.machine.name != slot.machine:
            return False
        if slot.mode is Mode.MIG:
            if node.mode is not None or (node.profile and node.profile != slot.profile):
                return False
            if node.machine.single_strategy and not self._may_be_single(node, slot.profile):
                return False
            geometry = node.machine.gpu.mig
            return geometry is not None and gpu.room_for(geometry, slot.profile)
        if slot.mode is Mode.WHOLE:
            single = node.profile or (
                node.machine.single_strategy and any(g.state.mig for g in node.gpus)
            )
            return node.mode is None and not single and gpu.free_whole
        if node.mode is None:
            return all(g.free_whole for g in node.gpus)
        if node.mode != slot.mode or node.replicas != slot.replicas:
            return False
        state = gpu.state
        if node.existing and state.mode is None and any(g.state.mode for g in node.gpus):
            return False
        return state.taken + len(gpu.clients) < node.replicas

    @staticmethod
    def _may_be_single(node: OpenNode, profile: str) -> bool:
        if any(g.whole or g.state.full for g in node.gpus):
            return False
        there = {i.profile for g in node.gpus for i in g.state.occupied}
        there.update(name for g in node.gpus for name in g.instances)
        return there <= {profile}

    def put(self, share: str, slot: Slot, gpu: OpenGpu) -> None:
        """Put a share into a slot of one GPU. Call `fits` and `allows` first."""
        node = gpu.node
        self._take(share, node)
        if slot.mode is Mode.MIG:
            gpu.instances.setdefault(slot.profile, []).append(share)
            if node.machine.single_strategy:
                node.profile = slot.profile
        elif slot.mode is Mode.WHOLE:
            gpu.whole = share
        else:
            node.mode, node.replicas = slot.mode, slot.replicas
            gpu.clients.append(share)

    def _take(self, share: str, node: OpenNode) -> None:
        cpu, memory = self.problem.by_name[share].host
        free_cpu, free_memory = node.host
        node.host = (
            None if free_cpu is None else free_cpu - cpu,
            None if free_memory is None else free_memory - memory,
        )

    def free_gpus(self, node: OpenNode) -> list[OpenGpu]:
        """GPUs a share of several may take."""
        slot = Slot(node.machine.name, Mode.WHOLE)
        return [gpu for gpu in node.gpus if self.fits(slot, gpu)]

    def put_gang(self, share: str, node: OpenNode, size: int) -> None:
        """Put a share on the first free GPUs of a node."""
        self._take(share, node)
        chosen = self.free_gpus(node)[:size]
        for gpu in chosen:
            gpu.whole = share
        node.gangs.append((share, tuple(gpu.index for gpu in chosen)))

    def assignments(self) -> tuple[tuple[Assignment, ...], tuple[PackedNode, ...]]:
        """Every share in its place, and the nodes in use. Unused bought nodes are left out."""
        found: dict[str, list[Assignment]] = defaultdict(list)
        nodes = [n for n in self.nodes if n.used]
        for node in nodes:
            for name, indices in node.gangs:
                found[name].append(Assignment(name, 0, node.name, indices, Mode.WHOLE))
            several = {index for _, indices in node.gangs for index in indices}
            for gpu in node.gpus:
                if gpu.whole is not None and gpu.index not in several:
                    place = (gpu.index,)
                    found[gpu.whole].append(Assignment(gpu.whole, 0, node.name, place, Mode.WHOLE))
                for assignment in self._on(node, gpu):
                    found[assignment.share].append(assignment)
        ordered = [
            replace(one, index=index)
            for share in self.problem.shares
            for index, one in enumerate(found[share.name])
        ]
        packed = tuple(PackedNode(n.name, n.machine.name, n.existing) for n in nodes)
        return tuple(ordered), packed

    @staticmethod
    def _on(node: OpenNode, gpu: OpenGpu) -> Iterator[Assignment]:
        place = (gpu.index,)
        geometry = node.machine.gpu.mig
        if geometry is not None:
            names = {profile: iter(shares) for profile, shares in gpu.instances.items()}
            for instance in gpu.placed(geometry):
                share = next(names[instance.profile])
                yield Assignment(
                    share, 0, node.name, place, Mode.MIG, instance.profile, instance.start
                )
        mode = node.mode
        if mode is not None:
            yield from [
                Assignment(name, 0, node.name, place, mode, replicas=node.replicas)
                for name in gpu.clients
            ]
