"""The limits a layout can break, in words."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.partition.slot_table import engine_budget, takes_media_extension


@dataclass(frozen=True, slots=True)
class Reason:
    """One limit the request breaks."""

    code: str
    """`profile-unknown`, `count-invalid`, `compute-instance-too-large`, `too-many-instances`,
    `compute-exceeded`, `memory-exceeded`, `media-extension-exceeded`, `engines-exceeded`,
    `no-start-free`, `occupied-illegal`."""
    message: str
    value: object = None
    limit: object = None
    profile: str | None = None
    similar: tuple[str, ...] = ()
    """For an unknown profile: this GPU's nearest ones, best first."""


def broken_limits(
    geometry: MigGeometry, counts: Mapping[str, int], occupied: Iterable[str]
) -> list[Reason]:
    """Limits that the instances and the existing ones break together; at least one.

    `occupied` names the profile of each existing instance.
    """
    there = Counter(occupied)
    total = Counter(there)
    total.update(counts)
    alongside = " together with the present instances" if there else ""
    profiles = geometry.profiles
    reasons: list[Reason] = []
    for name in profiles:
        count, most = total[name], profiles[name].max_instances
        if count > most:
            message = f"{count} x {name}{alongside}, at most {most} fit on one GPU"
            reasons.append(Reason("too-many-instances", message, count, most, name))
    compute = sum(count * profiles[name].compute_slices for name, count in total.items())
    if compute > geometry.compute_slices:
        message = f"{compute} of {geometry.compute_slices} compute slices{alongside}"
        reasons.append(Reason("compute-exceeded", message, compute, geometry.compute_slices))
    memory = sum(count * profiles[name].memory_slots for name, count in total.items())
    if memory > geometry.memory_slots:
        message = f"{memory} of {geometry.memory_slots} memory slots{alongside}"
        reasons.append(Reason("memory-exceeded", message, memory, geometry.memory_slots))
    media = {n: c for n, c in total.items() if takes_media_extension(profiles[n]) and c}
    if sum(media.values()) > 1:
        listed = " + ".join(f"{count} x {name}" for name, count in sorted(media.items()))
        message = f"{listed}{alongside}: one GPU has one media extension (+me, +me.all) to give"
        reasons.append(Reason("media-extension-exceeded", message, sum(media.values()), 1))
    # Engines come with the slices: worth a word only where slices and counts are not the cause.
    for engine, most in (engine_budget(geometry) if not reasons else {}).items():
        needed = sum(c * (profiles[n].engines.get(engine) or 0) for n, c in total.items())
        if needed > most:
            message = f"{needed} of {most} {engine} engines{alongside}"
            reasons.append(Reason("engines-exceeded", message, needed, most))
    if not reasons:
        message = (
            "no start slot is free: every legal position of some instance overlaps "
            f"another{alongside}"
        )
        reasons.append(Reason("no-start-free", message))
    return reasons
