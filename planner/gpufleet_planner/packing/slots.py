"""What one GPU can be filled with, read from the placements of its geometry; which slots serve
which shares, and what shares cost at least. A slot is a MIG instance, a whole GPU or a share.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, gcd

from gpufleet.catalogue.gpu import MigGeometry, MigProfile
from gpufleet.partition.grant import slice_parts
from gpufleet.partition.placement import MigPlacement, PlacedInstance, Refusal, place
from gpufleet.partition.shares import MIB, gib, mps_memory
from gpufleet.partition.slot_table import slot_table
from gpufleet_planner.packing.problem import (
    REPLICATED,
    Host,
    HostRoom,
    Mode,
    PackingMachine,
    PackingProblem,
    ShareClass,
)

Pattern = tuple[tuple[str, int], ...]
"""Profile -> instances, in the geometry's order, profiles without any left out."""


@lru_cache(maxsize=4096)
def maximal_patterns(
    geometry: MigGeometry, wanted: frozenset[str], occupied: tuple[PlacedInstance, ...] = ()
) -> tuple[Pattern, ...]:
    """Maximal layouts of the requested profiles that fit next to the existing instances.

    A pattern serves every demand that a part of it serves: smaller patterns are not needed. Order
    of the geometry's layouts; empty when nothing fits.
    """
    table = slot_table(geometry)
    names = tuple(geometry.profiles)
    columns = [i for i, name in enumerate(names) if name in wanted]
    used, present = state_of(geometry, occupied)
    fitting = table.fitting(used, present)
    others = [i for i in range(len(names)) if i not in columns]
    found: list[Pattern] = []
    for number in table.numbers(fitting):
        counts = table.counts[number]
        if number == 0 or any(counts[i] for i in others):
            continue
        packed = table.layouts[number]
        larger = (table.number.get(packed + table.unit[i]) for i in columns)
        if any(bigger is not None and fitting >> bigger & 1 for bigger in larger):
            continue
        found.append(tuple((names[i], counts[i]) for i in columns if counts[i]))
    return tuple(found)


@lru_cache(maxsize=65536)
def open_patterns(
    geometry: MigGeometry, occupied: tuple[PlacedInstance, ...], wanted: frozenset[str]
) -> int:
    """Number of layouts that fit next to existing instances, of requested profiles, if any."""
    table, names = slot_table(geometry), tuple(geometry.profiles)
    others = [i for i, name in enumerate(names) if wanted and name not in wanted]
    fitting = table.numbers(table.fitting(*state_of(geometry, occupied)))
    return sum(not any(table.counts[number][i] for i in others) for number in fitting)


@lru_cache(maxsize=65536)
def state_of(geometry: MigGeometry, occupied: tuple[PlacedInstance, ...]) -> tuple[int, int]:
    """Cells in use and packed multiset of instances that are known to be legal."""
    table = slot_table(geometry)
    order = {name: i for i, name in enumerate(geometry.profiles)}
    used = present = 0
    for instance in occupied:
        used |= table.mask_of(instance.start, instance.size)
        present += table.unit[order[instance.profile]]
    return used, present


@lru_cache(maxsize=65536)
def proof(
    geometry: MigGeometry, pattern: Pattern, occupied: tuple[PlacedInstance, ...] = ()
) -> MigPlacement:
    """Start slots of a pattern next to what is there.

    Raises ValueError for a pattern that does not fit, which `maximal_patterns` never gives.
    """
    answer = place(geometry, dict(pattern), occupied)
    if isinstance(answer, Refusal):
        raise ValueError(  # noqa: TRY004  a result, not a type
            f"{dict(pattern)} next to {occupied}: {answer.why}"
        )
    return answer


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """One kind of slot of one machine type."""

    machine: str
    mode: Mode
    profile: str = ""
    """MIG: the geometry's own name."""
    replicas: int = 1
    """MPS and time-slicing: shares the GPU is divided into."""
    gpus: int = 1
    """Whole GPUs on one node."""


def slots_for(share: ShareClass, machine: PackingMachine) -> tuple[Slot, ...]:
    """The largest division of each kind on this machine that serves the share; empty: none does.

    MPS and time-slicing give one slot, of the most replicas the share allows: fewer replicas serve
    it too (`servable`).
    """
    found = slots_or_reason(share, machine)
    return () if isinstance(found, str) else found


def slots_or_reason(share: ShareClass, machine: PackingMachine) -> tuple[Slot, ...] | str:
    """The same, or the reason why nothing of the machine serves the share."""
    gpu, mode, asked = machine.gpu, share.mode, share.memory_bytes
    if share.machines is not None and machine.name not in share.machines:
        return "it is not one of the share's machines"
    if not host_fits(share.host, machine.host):
        return _short(share.host, machine.host)
    if mode is not None and mode not in machine.modes:
        return f"its GPUs are not used as {mode} (modes: {', '.join(sorted(machine.modes))})"
    if mode is Mode.WHOLE and share.gpus > machine.gpus:
        return f"{share.gpus} GPUs on one node, it has {machine.gpus}"
    if mode is not None and mode in REPLICATED:
        if machine.whole_only or gpu.vendor != "nvidia":
            return f"its devices cannot be shared by {mode}"
        if mode is Mode.MPS and gpu.mps_max_clients < 1:
            return f"{gpu.key} has no MPS"
        replicas = most_replicas(share, machine)
        slot = Slot(machine.name, mode, replicas=replicas)
        return (slot,) if replicas else _too_little(share, machine)
    found: list[Slot] = []
    if mode is not Mode.WHOLE:
        profiles = _instances(share, machine)
        found += [Slot(machine.name, Mode.MIG, profile.name) for profile in profiles]
    if (
        mode is not Mode.MIG
        and Mode.WHOLE in machine.modes
        and asked <= (machine.memory_bytes or 0)
    ):
        found.append(Slot(machine.name, Mode.WHOLE, gpus=share.gpus))
    if found:
        return tuple(found)
    if mode is Mode.WHOLE or gpu.mig is None or machine.whole_only:
        if mode is not Mode.MIG:
            return _too_little(share, machine)
        return f"{gpu.key} has no MIG" if gpu.mig_unknown is None else gpu.mig_unknown
    if share.profile is not None and share.profile not in gpu.mig.profiles:
        return f"{gpu.key} has no profile {share.profile} (it has {', '.join(gpu.mig.profiles)})"
    if asked and all(profile.usable_bytes is None for profile in gpu.mig.profiles.values()):
        return f"the usable memory of the profiles of {gpu.key} was not sourced: name a profile"
    wanted = [gib(asked)] if asked else []
    wanted += [f"{share.compute_slices} compute slices"] if share.compute_slices else []
    return f"no profile has {' and '.join(wanted)}"


def _too_little(share: ShareClass, machine: PackingMachine) -> str:
    if machine.memory_bytes is None:
        return f"the memory of {machine.gpu.key} is not known"
    return f"{gib(share.memory_bytes)} needed, {gib(machine.memory_bytes)} available"


def _short(need: Host, room: HostRoom) -> str:
    """The resources that a node lacks: `64 CPUs needed, 4 free`."""
    said: list[str] = []
    if need[0] > (room[0] or 0):
        there = "not known" if room[0] is None else f"{room[0] / 1000:g} free"
        said.append(f"{need[0] / 1000:g} CPUs needed, {there}")
    if need[1] > (room[1] or 0):
        there = "not known" if room[1] is None else f"{gib(room[1] * MIB)} free"
        said.append(f"{gib(need[1] * MIB)} of host memory needed, {there}")
    return " and ".join(said)


def host_fits(need: Host, room: HostRoom) -> bool:
    """Whether CPUs and memory of a node are enough. An unknown amount is not enough."""
    return all(not n or (r is not None and n <= r) for n, r in zip(need, room, strict=True))


def host_parts(need: Host, room: HostRoom) -> tuple[Fraction, Fraction]:
    """Which part of a node's CPUs and memory that is."""
    cpu, memory = (
        Fraction(n, r) if n and r else Fraction(0) for n, r in zip(need, room, strict=True)
    )
    return cpu, memory


def servable(
    share: ShareClass, machines: Mapping[str, PackingMachine], offered: Iterable[Slot]
) -> frozenset[Slot]:
    """Those of the offered slots a share may go to."""
    exact = {slot for machine in machines.values() for slot in slots_for(share, machine)}
    if share.mode not in REPLICATED:
        return frozenset(slot for slot in offered if slot in exact)
    most = {slot.machine: slot.replicas for slot in exact}
    return frozenset(
        slot
        for slot in offered
        if slot.mode == share.mode and slot.replicas <= most.get(slot.machine, 0)
    )


def most_replicas(share: ShareClass, machine: PackingMachine) -> int:
    """Maximum number of shares of a GPU of which each still serves this one; 0: none.

    Time-sliced shares are validated by an even part of the memory, like MPS clients: no program
    enforces it, and the scheduler does not know which shares are on the same GPU.
    """
    most = share.replicas or MOST_TIME_SLICES
    if share.mode is Mode.MPS:
        most = min(most, machine.gpu.mps_max_clients)
    if share.memory_bytes:
        if machine.memory_bytes is None:
            return 0
        need = -(-share.memory_bytes // MIB) * MIB
        most = min(most, machine.memory_bytes // need)
        while most and mps_memory(machine.memory_bytes, most) < share.memory_bytes:
            most -= 1
    return most


MOST_TIME_SLICES = 48
"""Maximum number of time-sliced shares of one GPU that are planned, where the share states no
fraction. The
device plugin has no limit; every further one waits as long as all others together."""


def _instances(share: ShareClass, machine: PackingMachine) -> Iterable[MigProfile]:
    geometry = machine.gpu.mig
    if geometry is None or machine.whole_only or Mode.MIG not in machine.modes:
        return ()
    if share.profile is not None:
        name = geometry.alternate_names.get(share.profile, share.profile)
        found = geometry.profiles.get(name)
        if found is None or not _instance_fits(share, found):
            return ()
        return (found,)
    return [
        profile
        for profile in geometry.profiles.values()
        if not profile.attributes and _instance_fits(share, profile)
    ]


def _instance_fits(share: ShareClass, profile: MigProfile) -> bool:
    if profile.compute_slices < share.compute_slices:
        return False
    if share.memory_bytes == 0:
        return True
    return profile.usable_bytes is not None and profile.usable_bytes >= share.memory_bytes


TOLERANCE = 1e-8
"""Relative error allowed to the solver's bound, which is not an exact number."""


def volume_bound(problem: PackingProblem) -> int:
    """No packing costs less: every share pays its part of the cheapest node that can hold it.

    The part is measured in five ways, and the largest sum is the bound.
    """
    least = [
        [share.count * min(costs) for costs in zip(*_part_costs(problem, share), strict=True)]
        for share in problem.shares
    ]
    return whole_nodes(problem, max(map(sum, zip(*least, strict=True)), default=0))


def _part_costs(problem: PackingProblem, share: ShareClass) -> list[list[Fraction]]:
    """The cost of one share by memory, compute, more than half of a GPU, CPUs and host memory, in
    each slot that serves it; 0 on a machine type of which nodes are there."""
    existing = {node.machine for node in problem.existing}
    found: list[list[Fraction]] = []
    for machine in problem.machines.values():
        cost = 0 if machine.name in existing else problem.cost_of(machine)
        if machine.max_nodes == 0 and machine.name not in existing:
            continue
        for slot in slots_for(share, machine):
            parts = [part / machine.gpus for part in slot_parts(slot, machine)]
            found.append([cost * part for part in (*parts, *host_parts(share.host, machine.host))])
    return found or [[Fraction(0)] * 5]


def whole_nodes(problem: PackingProblem, bound: float | Fraction) -> int:
    """The bound raised to the next amount that nodes can cost together."""
    step = 0
    for machine in problem.machines.values():
        if machine.max_nodes != 0:
            step = gcd(step, problem.cost_of(machine))
    if step == 0:
        return 0
    slack = max(1e-6 * step, TOLERANCE * bound)
    return ceil((bound - slack) / step) * step if bound > slack else 0


def slot_parts(slot: Slot, machine: PackingMachine) -> tuple[Fraction, Fraction, Fraction]:
    """GPUs of a slot by its memory, by its compute, and 1 for more than half of the compute slices,
    of which no GPU holds two, else 0."""
    geometry = machine.gpu.mig
    if slot.mode is not Mode.MIG or geometry is None:
        gpus = Fraction(slot.gpus, slot.replicas)
        return gpus, gpus, gpus
    compute, memory = slice_parts(geometry, slot.profile)
    return memory, compute, Fraction(compute > Fraction(1, 2))
