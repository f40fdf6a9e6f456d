"""The pools of a plan as rows of a packing picture.

A plan says what each pool holds, and the scheduler decides who sits where; drawn is one way that
works: workloads in the order of the file, each into the next free places.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

from gpufleet.partition.placement import MigPlacement, place
from gpufleet_planner.pictures.packing_picture import Blocks, GpuPart, PictureRow
from gpufleet_planner.planning.layouts import WHOLE_GPU, FilledPool
from gpufleet_planner.planning.plan import PlannedFleet
from gpufleet_planner.sizing.device import DeviceShare

_WHOLE = (Fraction(0), Fraction(1))


def plan_rows(plan: PlannedFleet) -> tuple[PictureRow, ...]:
    """Every pool, equal nodes once."""
    return tuple(row for name, pool in plan.pools for row in _pool_rows(name, pool))


def _pool_rows(name: str, pool: FilledPool) -> Iterator[PictureRow]:
    machine = pool.key.machine
    if pool.layout is not None:
        gpus = list(_slices(pool))
    elif pool.key.kind is DeviceShare.WHOLE:
        gpus = list(_whole(pool))
    else:
        gpus = list(_parts(pool))
    each = machine.gpus
    gpus += [()] * (pool.nodes * each - len(gpus))
    nodes = Counter(tuple(gpus[n * each : (n + 1) * each]) for n in range(pool.nodes))
    for node, count in nodes.items():
        yield PictureRow(count, f"{machine.name} ({machine.gpu.key})", f"pool {name}", node)


def _slices(pool: FilledPool) -> Iterator[Blocks]:
    geometry = pool.key.machine.gpu.mig
    assert geometry is not None
    assert pool.layout is not None
    waiting: dict[str, list[str]] = defaultdict(list)
    for name, option in pool.members:
        waiting[option.share.profile or WHOLE_GPU] += [name] * option.devices
    for profile, names in waiting.items():
        if profile not in pool.layout.asked:
            continue
        first = pool.layout.before.get(profile, 0)
        names[:] = reversed(names[first : first + pool.layout.asked[profile]])
    for _ in range(pool.nodes):
        for devices, count in pool.layout.gpus:
            proof = place(geometry, dict(devices))
            assert isinstance(proof, MigPlacement), proof
            for _ in range(count):
                yield tuple(
                    GpuPart(
                        Fraction(instance.start, geometry.memory_slots),
                        Fraction(instance.size, geometry.memory_slots),
                        waiting[instance.profile].pop() if waiting[instance.profile] else None,
                        instance.profile,
                    )
                    for instance in sorted(proof.instances, key=lambda i: i.start)
                )
        for _ in range(pool.key.machine.gpus - sum(count for _, count in pool.layout.gpus)):
            whole = waiting[WHOLE_GPU]
            yield (GpuPart(*_WHOLE, whole.pop(), "GPU"),) if whole else ()


def _whole(pool: FilledPool) -> Iterator[Blocks]:
    """Large copies first: what they leave of a node is a multiple of the smaller ones."""
    for name, option in sorted(pool.members, key=lambda row: -row[1].reached.gpus_each):
        each = option.reached.gpus_each
        text = "GPU" if each == 1 else f"1 of {each} GPUs"
        for _ in range(option.devices):
            yield (GpuPart(*_WHOLE, name, text),)


def _parts(pool: FilledPool) -> Iterator[Blocks]:
    replicas = pool.members[0][1].share.replicas
    kind = "MPS" if pool.members[0][1].share.kind is DeviceShare.MPS else "turns"
    owners = [name for name, option in pool.members for _ in range(option.devices)]
    for first in range(0, len(owners), replicas):
        yield tuple(
            GpuPart(Fraction(n, replicas), Fraction(1, replicas), owner, f"1/{replicas} {kind}")
            for n, owner in enumerate(owners[first : first + replicas])
        )
