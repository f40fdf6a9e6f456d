"""The checker: validates a packing against the problem, with other code than the packers use."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpufleet.findings import Finding, error
from gpufleet.partition.placement import PlacedInstance, Refusal, place
from gpufleet.partition.shares import mps_memory
from gpufleet_planner.packing.problem import (
    REPLICATED,
    Assignment,
    ExistingNode,
    GpuState,
    Mode,
    Packing,
    PackingMachine,
    PackingProblem,
)


def verify(problem: PackingProblem, packing: Packing) -> tuple[Finding, ...]:
    """Everything that is wrong with a packing; empty for a correct one.

    Instances are proven by `partition.place`, with all of them handed in as occupied.
    """
    return tuple(
        error("packing-broken", "", message, "report this: the packing is not used")
        for message in _Checker(problem, packing).problems()
    )


class _Checker:
    def __init__(self, problem: PackingProblem, packing: Packing) -> None:
        self.problem, self.packing = problem, packing
        self.machine = {n.name: problem.machines[n.machine] for n in packing.nodes}
        self.existing: dict[str, ExistingNode] = {n.name: n for n in problem.existing}
        self.on_gpu: dict[tuple[str, int], list[Assignment]] = defaultdict(list)
        self.proven: set[tuple[str, tuple[PlacedInstance, ...]]] = set()
        for assignment in packing.assignments:
            for gpu in assignment.gpus:
                self.on_gpu[assignment.node, gpu].append(assignment)

    def problems(self) -> Iterator[str]:
        yield from self._counts()
        yield from self._cost()
        by_node: dict[str, list[Assignment]] = defaultdict(list)
        for assignment in self.packing.assignments:
            yield from self._assignment(assignment)
            by_node[assignment.node].append(assignment)
        for (node, gpu), assignments in self.on_gpu.items():
            yield from self._gpu(node, gpu, assignments)
        for node, assignments in by_node.items():
            yield from self._node(node, assignments)

    def _counts(self) -> Iterator[str]:
        placed = Counter(a.share for a in self.packing.assignments)
        for share in self.problem.shares:
            total = placed.pop(share.name, 0) + self.packing.unplaced.get(share.name, 0)
            if total != share.count:
                yield f"{share.name}: {total} of {share.count} shares accounted for"
        indices = {(a.share, a.index) for a in self.packing.assignments}
        if len(indices) != len(self.packing.assignments):
            yield "a share is placed twice"
        yield from (f"{name} was never requested" for name in placed)

    def _cost(self) -> Iterator[str]:
        bought = Counter(n.machine for n in self.packing.nodes if not n.existing)
        machines = self.problem.machines
        cost = sum(self.problem.cost_of(machines[m]) * n for m, n in bought.items())
        if cost != self.packing.cost:
            yield f"the nodes cost {cost}, not {self.packing.cost}"
        if self.packing.complete and self.packing.lower_bound > cost:
            yield f"the bound {self.packing.lower_bound} is above the cost {cost}"
        gpus = sum(machines[m].gpus * n for m, n in bought.items())
        if gpus != self.packing.gpus:
            yield f"{gpus} GPUs are bought, not {self.packing.gpus}"
        for name, count in bought.items():
            most = machines[name].max_nodes
            if most is not None and count > most:
                yield f"{count} nodes of {name} are more than {most}"
        for node in self.packing.nodes:
            if node.existing != (node.name in self.existing):
                yield f"{node.name}: bought and existing are mixed up"

    def _assignment(self, a: Assignment) -> Iterator[str]:
        share, machine = self.problem.by_name[a.share], self.machine[a.node]
        what = f"{a.share}[{a.index}] on {a.node}"
        if len(set(a.gpus)) != len(a.gpus) or any(not 0 <= g < machine.gpus for g in a.gpus):
            yield f"{what}: GPUs {a.gpus} of {machine.gpus}"
        if share.machines is not None and machine.name not in share.machines:
            yield f"{what}: {machine.name} is not allowed"
        if a.mode not in machine.modes:
            yield f"{what}: {a.mode} is not allowed on {machine.name}"
        if share.mode is not None and share.mode is not a.mode:
            yield f"{what}: {a.mode} instead of {share.mode}"
        if len(a.gpus) != (share.gpus if a.mode is Mode.WHOLE else 1):
            yield f"{what}: {len(a.gpus)} GPUs instead of {share.gpus}"
        memory = self._memory(a, machine)
        if share.memory_bytes and (memory is None or memory < share.memory_bytes):
            yield f"{what}: {memory} bytes are less than {share.memory_bytes}"
        if share.replicas is not None and a.replicas > share.replicas:
            yield f"{what}: 1/{a.replicas} of a GPU is less than 1/{share.replicas}"
        geometry = machine.gpu.mig
        if a.mode is Mode.MIG and geometry is not None:
            profile = geometry.profiles[a.profile or ""]
            if profile.compute_slices < share.compute_slices:
                yield f"{what}: {a.profile} has too few compute slices"
            if share.profile is not None and a.profile != geometry.alternate_names.get(
                share.profile, share.profile
            ):
                yield f"{what}: {a.profile} instead of {share.profile}"

    @staticmethod
    def _memory(a: Assignment, machine: PackingMachine) -> int | None:
        if a.mode is Mode.MIG:
            geometry = machine.gpu.mig
            return None if geometry is None else geometry.profiles[a.profile or ""].usable_bytes
        if a.mode in REPLICATED and machine.memory_bytes is not None:
            return mps_memory(machine.memory_bytes, a.replicas)
        return machine.memory_bytes

    def _gpu(self, node: str, gpu: int, assignments: list[Assignment]) -> list[str]:
        machine = self.machine[node]
        there = self.existing[node].gpus[gpu] if node in self.existing else GpuState()
        modes = {a.mode for a in assignments} | _modes_of(there)
        what = f"{node} GPU {gpu}"
        if len(modes) > 1:
            return [f"{what}: {', '.join(sorted(modes))} on one GPU"]
        mode = modes.pop()
        if mode is Mode.WHOLE:
            taken = len(assignments) + there.full
            other = there.mig or there.mode is not None
            return [f"{what}: {taken} shares have all of it"] if taken > 1 or other else []
        if mode in REPLICATED:
            replicas = {a.replicas for a in assignments}
            if there.mode is not None:
                replicas.add(there.replicas)
            taken = len(assignments) + there.taken
            if len(replicas) != 1 or taken > max(replicas):
                return [f"{what}: {taken} shares where there are {sorted(replicas)}"]
            if mode is Mode.MPS and max(replicas) > machine.gpu.mps_max_clients:
                return [f"{what}: {max(replicas)} MPS clients"]
            return []
        geometry = machine.gpu.mig
        if geometry is None:
            return [f"{what}: {machine.gpu.key} has no MIG"]
        pairs = [(a.profile, a.start) for a in assignments]
        pairs += [(one.profile, one.start) for one in there.occupied]
        placed = tuple(
            PlacedInstance(name, start, geometry.profiles[name].memory_slots)
            for name, start in sorted((p or "", s if s is not None else -1) for p, s in pairs)
        )
        if (machine.gpu.key, placed) in self.proven:
            return []
        answer = place(geometry, {}, placed)
        if isinstance(answer, Refusal):
            return [f"{what}: {answer.why}"]
        self.proven.add((machine.gpu.key, placed))
        return []

    def _node(self, node: str, assignments: list[Assignment]) -> Iterator[str]:
        machine, there = self.machine[node], self.existing.get(node)
        divided = {(a.mode, a.replicas) for a in assignments if a.mode in REPLICATED}
        for gpu in there.gpus if there is not None else ():
            if gpu.mode is not None:
                divided.add((gpu.mode, gpu.replicas))
        states = there.gpus if there else ()
        modes = {a.mode for a in assignments}.union(*map(_modes_of, states))
        if len(divided) > 1 or (divided and not modes <= set(REPLICATED)):
            yield f"{node}: a node has one sharing configuration"
        if machine.single_strategy and Mode.MIG in modes:
            profiles = {a.profile for a in assignments if a.mode is Mode.MIG}
            profiles |= {one.profile for state in states for one in state.occupied}
            if len(profiles) > 1 or modes != {Mode.MIG}:
                yield f"{node}: strategy single allows one profile"
        room = machine.host if there is None or there.host is None else there.host
        for part, what in enumerate(("milli-CPUs", "MiB of memory")):
            taken = sum(self.problem.by_name[a.share].host[part] for a in assignments)
            if taken > (room[part] or 0):
                yield f"{node}: {taken} {what} are more than {room[part]}"


def _modes_of(there: GpuState) -> set[Mode]:
    """Use of a GPU by its existing shares."""
    found = {Mode.WHOLE} if there.full else set[Mode]()
    if there.occupied:
        found.add(Mode.MIG)
    return found | ({there.mode} if there.taken and there.mode is not None else set())
