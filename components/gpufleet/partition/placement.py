"""Can these MIG instances be placed on one GPU? Proof with start slots, or why not.

The search is exact over the published placements (`nvidia-smi mig -lgipp`): two instances never
share a memory slot, and count, compute and engine limits hold. A placement proves that the layout
exists; mig-parted tries every order of creation, so the driver may choose other starts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from gpufleet.catalogue.frozen import FrozenDict, frozen
from gpufleet.catalogue.gpu import EVIDENCE_ORDER, Evidence, MigGeometry
from gpufleet.partition.limits import Reason, broken_limits
from gpufleet.partition.nearest import NearestLayout, nearest_layouts
from gpufleet.partition.profile_name import parse, similar
from gpufleet.partition.slot_table import SlotTable, slot_table

# Reading a request: names resolved, compute instances packed into GPU instances.


@dataclass(slots=True)
class MigRequest:
    """The request in the geometry's own names."""

    counts: dict[str, int] = field(default_factory=dict[str, int])
    """GPU instances by the geometry's own names."""
    inside: dict[str, list[list[str]]] = field(default_factory=dict[str, list[list[str]]])
    """GPU instance profile -> the compute instances of each GPU instance that is divided."""
    unknown: dict[str, int] = field(default_factory=dict[str, int])
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    reasons: list[Reason] = field(default_factory=list[Reason])


def read_request(geometry: MigGeometry, devices: Mapping[str, int]) -> MigRequest:
    """The request, with a reason for every invalid name or count."""
    request = MigRequest()
    parts: dict[str, list[tuple[int, str]]] = {}
    for name, count in sorted(devices.items()):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            found = "a truth value" if isinstance(count, bool) else repr(count)
            message = f"{name}: {found} is not a count, whole numbers from 0 on are"
            request.reasons.append(Reason("count-invalid", message, count, 0, name))
            continue
        if count == 0:
            continue
        own, slices = _resolve(geometry, name)
        profile = geometry.profiles.get(own)
        if profile is None:
            request.unknown[name] = request.unknown.get(name, 0) + count
            near = similar(name.removeprefix("nvidia.com/mig-"), geometry.profiles)
            nearest = f", nearest is {near[0]}" if near else ""
            request.reasons.append(
                Reason(
                    "profile-unknown",
                    f"there is no profile {name}{nearest} (it has {', '.join(geometry.profiles)})",
                    name,
                    tuple(geometry.profiles),
                    name,
                    near,
                )
            )
            continue
        if slices is not None and slices > profile.compute_slices:
            message = (
                f"{name}: a compute instance of {slices} slices does not fit into {own}, which has "
                f"{profile.compute_slices}"
            )
            request.reasons.append(
                Reason("compute-instance-too-large", message, slices, profile.compute_slices, name)
            )
            continue
        if slices is None or slices == profile.compute_slices:
            if own != name:
                request.renamed[name] = own
            request.counts[own] = request.counts.get(own, 0) + count
            continue
        resolved = f"{slices}c.{own}"
        if resolved != name:
            request.renamed[name] = resolved
        parts.setdefault(own, []).extend((slices, resolved) for _ in range(min(count, 64)))
    for own, instances in parts.items():
        room = geometry.profiles[own].compute_slices
        request.inside[own] = _share_instances(instances, room)
        request.counts[own] = request.counts.get(own, 0) + len(request.inside[own])
    return request


def _resolve(geometry: MigGeometry, name: str) -> tuple[str, int | None]:
    """The geometry's own profile name and the compute slices of a `<c>c.` prefix."""
    if name in geometry.profiles:
        return name, None
    parsed = parse(name)
    if parsed is None:
        return geometry.alternate_names.get(name, name), None
    plain = parsed.gpu_instance
    return geometry.alternate_names.get(plain, plain), parsed.compute_instance_slices


def _share_instances(instances: list[tuple[int, str]], room: int) -> list[list[str]]:
    """Compute instances packed into GPU instances of `room` slices, largest first into the first
    that has room. With at most seven slices this is the smallest number of GPU instances."""
    shared: list[tuple[int, list[str]]] = []
    for slices, name in sorted(instances, key=lambda part: (-part[0], part[1])):
        for i, (left, names) in enumerate(shared):
            if left >= slices:
                names.append(name)
                shared[i] = (left - slices, names)
                break
        else:
            shared.append((room - slices, [name]))
    return [names for _, names in shared]


@dataclass(frozen=True, slots=True)
class PlacedInstance:
    """One GPU instance on one GPU."""

    profile: str
    """The geometry's own name of the GPU instance profile."""
    start: int
    """First memory slot."""
    size: int
    """Memory slots."""
    compute_slices: int = 0
    """Compute slices; may be left out (0) in instances handed to `place` as occupied."""
    compute_instances: tuple[str, ...] = ()
    """Names of the compute instances inside (`1c.3g.40gb`, ...); empty: one that takes it all."""


@dataclass(frozen=True, slots=True)
class MigPlacement:
    """Proof that a layout can exist, and the free part of the GPU."""

    instances: tuple[PlacedInstance, ...]
    """The requested instances by start slot."""
    occupied: tuple[PlacedInstance, ...]
    """Instances that existed before, by start slot."""
    free: Mapping[str, int]
    """Number of further instances of each profile that fit, each profile alone; 0 is left out."""
    completions: tuple[Mapping[str, int], ...]
    """The largest sets of further instances that fit together; empty: nothing more fits."""
    free_slots: tuple[int, ...]
    """Memory slots no instance uses."""
    used_compute: int
    used_memory: int
    unused_compute: int
    """Compute slices in no instance: free ones and stranded ones."""
    unused_memory: int
    stranded_compute: int
    """Compute slices that stay unused whatever is added."""
    stranded_memory: int
    """Memory slots that stay unused whatever is added."""
    evidence: Evidence
    """The weakest evidence among the placements this rests on."""
    renamed: Mapping[str, str] = field(default_factory=FrozenDict[str, str])
    """Names of other boards or drivers in the request -> the geometry's own name."""

    @property
    def devices(self) -> dict[str, int]:
        """The requested GPU instances as a multiset, in order of name."""
        return dict(sorted(Counter(i.profile for i in self.instances).items()))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a layout cannot exist, and the nearest ones that can."""

    reasons: tuple[Reason, ...]
    """The broken limits, in the order profiles, counts, compute, memory, media; engines and starts
    only if nothing else explains the refusal."""
    alternatives: tuple[NearestLayout, ...]
    """Nearest legal layouts, best first; empty: no layout is near."""
    evidence: Evidence
    renamed: Mapping[str, str] = field(default_factory=FrozenDict[str, str])

    @property
    def why(self) -> str:
        """All reasons as one clause."""
        return "; ".join(reason.message for reason in self.reasons)


def place(
    geometry: MigGeometry,
    devices: Mapping[str, int],
    occupied: Sequence[PlacedInstance] = (),
) -> MigPlacement | Refusal:
    """Decide whether the GPU can hold these instances together with the existing ones.

    `devices` maps profile names, NVIDIA's spelling, to counts; a count of zero requests nothing.
    `1c.3g.40gb` requests a compute instance: compute instances of one profile share as few GPU
    instances as can hold them. Names that `geometry.alternate_names` knows are resolved and
    reported. The answer depends on the multiset only, never on the order of the mapping.
    """
    request = read_request(geometry, devices)
    table = slot_table(geometry)
    used, present, reasons = _read_occupied(geometry, table, occupied)
    evidence = _evidence(geometry, (*request.counts, *(i.profile for i in occupied)))
    reasons = [*request.reasons, *reasons]
    if not reasons:
        wanted = [request.counts.get(name, 0) for name in geometry.profiles]
        packed = table.pack(wanted) if _representable(table, wanted) else -1
        starts = table.starts(packed, used, present) if packed >= 0 else None
        if starts is not None:
            return _placement(
                geometry, table, request, occupied, starts, used, packed + present, evidence
            )
        reasons = broken_limits(geometry, request.counts, [i.profile for i in occupied])
    elif request.unknown:
        # The rest of the request may be wrong too: report all reasons at once.
        known = [request.counts.get(name, 0) for name in geometry.profiles]
        if not _representable(table, known) or table.pack(known) not in table.number:
            reasons += broken_limits(geometry, request.counts, ())
    substitutes: Counter[str] = Counter()
    for name, count in request.unknown.items():
        for near in similar(name, geometry.profiles, limit=1):
            substitutes[near] += count
    alternatives: tuple[NearestLayout, ...] = ()
    if (request.counts or substitutes) and present in table.number:
        alternatives = nearest_layouts(geometry, table, request.counts, substitutes, used, present)
    return Refusal(tuple(reasons), alternatives, evidence, frozen(request.renamed))


# -- reading what is there ----------------------------------------------------------------------


def _read_occupied(
    geometry: MigGeometry, table: SlotTable, occupied: Sequence[PlacedInstance]
) -> tuple[int, int, list[Reason]]:
    """Cells and packed multiset of the existing instances, and reasons why they are invalid."""
    used = present = 0
    counts: Counter[str] = Counter()
    reasons: list[Reason] = []
    order = list(geometry.profiles)
    for instance in occupied:
        profile = geometry.profiles.get(instance.profile)
        what = f"occupied instance {instance.profile} at slot {instance.start}"
        if profile is None:
            message = f"{what}: there is no such profile (it has {', '.join(geometry.profiles)})"
            reasons.append(Reason("occupied-illegal", message, instance.profile, tuple(order)))
            continue
        if instance.start not in profile.starts or instance.size != profile.memory_slots:
            message = (
                f"{what} with {instance.size} memory slots: {instance.profile} starts at "
                f"{', '.join(map(str, profile.starts))} and takes {profile.memory_slots}"
            )
            reasons.append(Reason("occupied-illegal", message, instance.start, profile.starts))
            continue
        mask = table.mask_of(instance.start, instance.size)
        if used & mask:
            message = f"{what} overlaps another occupied instance"
            reasons.append(Reason("occupied-illegal", message, instance.start))
            continue
        used |= mask
        counts[instance.profile] += 1
        present += table.unit[order.index(instance.profile)]
    if not reasons and present not in table.number:
        message = "the occupied instances break a limit: " + "; ".join(
            reason.message for reason in broken_limits(geometry, counts, ())
        )
        reasons.append(Reason("occupied-illegal", message, dict(counts)))
    return used, present, reasons


def _representable(table: SlotTable, counts: Sequence[int]) -> bool:
    return all(count <= most for count, most in zip(counts, table.profile_max, strict=True))


# -- answering -----------------------------------------------------------------------------------


def _placement(
    geometry: MigGeometry,
    table: SlotTable,
    request: MigRequest,
    occupied: Sequence[PlacedInstance],
    starts: tuple[int, ...],
    used: int,
    total: int,
    evidence: Evidence,
) -> MigPlacement:
    left = iter(starts)
    instances: list[PlacedInstance] = []
    for name, profile in geometry.profiles.items():
        count = request.counts.get(name, 0)
        inside = request.inside.get(name, [])
        whole = count - len(inside)
        for position in range(count):
            start = next(left)
            used |= table.mask_of(start, profile.memory_slots)
            divided = tuple(inside[position - whole]) if position >= whole else ()
            instances.append(
                PlacedInstance(name, start, profile.memory_slots, profile.compute_slices, divided)
            )
    taken = {slot for i in (*instances, *occupied) for slot in range(i.start, i.start + i.size)}
    return MigPlacement(
        instances=tuple(sorted(instances, key=lambda i: i.start)),
        occupied=tuple(sorted(occupied, key=lambda i: i.start)),
        free_slots=tuple(s for s in range(geometry.memory_slots) if s not in taken),
        evidence=evidence,
        renamed=frozen(request.renamed),
        **_room(geometry, used, total),
    )


@lru_cache(maxsize=8192)
def _room(geometry: MigGeometry, used: int, total: int) -> Mapping[str, Any]:
    """Fields of `MigPlacement` about the free part of a GPU with these instances on these cells.
    Equal for all nodes with one layout, so it is computed once."""
    table = slot_table(geometry)
    bits = table.fitting(used, total)
    names = tuple(geometry.profiles)
    number = table.number[total]
    used_compute, used_memory = table.compute[number], table.memory[number]
    unused_compute = geometry.compute_slices - used_compute
    unused_memory = geometry.memory_slots - used_memory
    return {
        "free": frozen(_free(table, names, bits)),
        "completions": tuple(
            frozen(
                {name: count for name, count in zip(names, table.counts[i], strict=True) if count}
            )
            for i in reversed(table.maximal(bits))
            if i != 0
        ),
        "used_compute": used_compute,
        "used_memory": used_memory,
        "unused_compute": unused_compute,
        "unused_memory": unused_memory,
        "stranded_compute": unused_compute - table.most_compute(bits),
        "stranded_memory": unused_memory - table.most_memory(bits),
    }


def _free(table: SlotTable, names: tuple[str, ...], bits: int) -> dict[str, int]:
    free: dict[str, int] = {}
    for name, unit in zip(names, table.unit, strict=True):
        count = 0
        while (number := table.number.get((count + 1) * unit)) is not None and bits >> number & 1:
            count += 1
        if count:
            free[name] = count
    return free


def _evidence(geometry: MigGeometry, names: Sequence[str]) -> Evidence:
    known = {geometry.profiles[n].evidence for n in names if n in geometry.profiles}
    return next((e for e in reversed(EVIDENCE_ORDER) if e in known), geometry.evidence)
