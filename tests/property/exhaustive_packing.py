"""Packing by trying everything: what the packer is compared with. Slow, and only for small
problems."""

from collections import Counter
from functools import cache
from itertools import combinations_with_replacement, product

from gpufleet.catalogue import Gpu, load
from gpufleet.partition.placement import MigPlacement, PlacedInstance, place
from gpufleet_planner.packing.problem import (
    GpuState,
    Mode,
    PackingMachine,
    PackingProblem,
    ShareClass,
)


def gpu(key: str) -> Gpu:
    return load().gpu(key)


@cache
def fits(key: str, devices: tuple[tuple[str, int], ...]) -> bool:
    geometry = gpu(key).mig
    assert geometry is not None
    return isinstance(place(geometry, dict(devices)), MigPlacement)


def fewest_gpus(key: str, shares: tuple[str, ...]) -> int:
    """Fewest GPUs for MIG instances, by trying every way to divide them."""

    @cache
    def least(rest: tuple[str, ...]) -> int:
        if not rest:
            return 0
        first, others = rest[0], rest[1:]
        best = len(rest)
        for chosen in product((False, True), repeat=len(others)):
            inside = (first, *(o for o, c in zip(others, chosen, strict=True) if c))
            if fits(key, tuple(sorted(Counter(inside).items()))):
                left = tuple(o for o, c in zip(others, chosen, strict=True) if not c)
                best = min(best, 1 + least(left))
        return best

    return least(tuple(sorted(shares)))


def cheapest(problem: PackingProblem) -> int | None:
    """Least cost, by trying node sets by cost and placing share by share. None: none fits."""
    shares = [s for s in problem.shares for _ in range(s.count)]
    names = [m.name for m in problem.machines.values() if m.max_nodes != 0]
    sets = [
        nodes
        for size in range(len(shares) + 1)
        for nodes in combinations_with_replacement(names, size)
    ]
    cost = {n: sum(problem.cost_of(problem.machines[m]) for m in n) for n in sets}
    for nodes in sorted(sets, key=lambda n: (cost[n], n)):
        counts = Counter(nodes)
        within = all(
            m.max_nodes is None or counts[m.name] <= m.max_nodes for m in problem.machines.values()
        )
        if within and _placeable(problem, nodes, shares):
            return cost[nodes]
    return None


def _placeable(problem: PackingProblem, bought: tuple[str, ...], shares: list[ShareClass]) -> bool:
    hosts = {name: m.host for name, m in problem.machines.items()}
    there = [
        (n.machine, [_loads(g) for g in n.gpus], n.host or hosts[n.machine])
        for n in problem.existing
    ]
    new = [(name, [()] * problem.machines[name].gpus, hosts[name]) for name in bought]
    start = tuple(
        (name, tuple(tuple(load) for load in loads), host) for name, loads, host in there + new
    )

    @cache
    def search(position: int, state: tuple[tuple, ...]) -> bool:
        if position == len(shares):
            return True
        share = shares[position]
        tried = set()
        for i, (name, loads, host) in enumerate(state):
            m = problem.machines[name]
            if (name, loads, host) in tried:
                continue
            tried.add((name, loads, host))
            left = tuple((r or 0) - n for r, n in zip(host, share.host, strict=True))
            if any(n and r < 0 for r, n in zip(left, share.host, strict=True)):
                continue
            for after in _ways(m, loads, share):
                grown = (*state[:i], (name, after, left), *state[i + 1 :])
                if search(position + 1, grown):
                    return True
        return False

    return search(0, start)


def _loads(existing: GpuState) -> tuple:
    loads = [("mig", one.profile, one.start) for one in existing.occupied]
    return tuple(sorted([*loads, *[("whole", "", -1)] * existing.full]))


def _ways(m: PackingMachine, loads: tuple, share: ShareClass):
    """Every state of the node's GPUs after one more share of this class."""
    if share.machines is not None and m.name not in share.machines:
        return
    if share.mode in (Mode.MPS, Mode.TIME_SLICING):
        # All GPUs of the node are divided equally; the first share decides the number.
        used = {e[2] for load in loads for e in load if e[0] == share.mode}
        other = any(e[0] != share.mode for load in loads for e in load)
        if other or len(used) > 1:
            return
        for replicas in used or range(1, (share.replicas or 1) + 1):
            if replicas > (share.replicas or 1):
                continue
            for i, load in enumerate(loads):
                if len(load) < replicas:
                    entry = (str(share.mode), "", replicas)
                    yield (*loads[:i], tuple(sorted((*load, entry))), *loads[i + 1 :])
        return
    if any(e[0] in ("mps", "timeSlicing") for load in loads for e in load):
        return
    if share.mode is Mode.WHOLE:
        free = [i for i, load in enumerate(loads) if not load]
        if len(free) >= share.gpus:
            after = list(loads)
            for n, i in enumerate(free[: share.gpus]):
                after[i] = (("whole", "", n - share.gpus),)
            yield tuple(after)
        return
    geometry = m.gpu.mig
    if geometry is None:
        return
    for i, load in enumerate(loads):
        if any(e[0] == "whole" for e in load):
            continue
        for profile in geometry.profiles.values():
            if profile.attributes or (share.profile and share.profile != profile.name):
                continue
            if share.memory_bytes > (profile.usable_bytes or 0):
                continue
            if share.compute_slices > profile.compute_slices:
                continue
            for at in profile.starts:
                entry = ("mig", profile.name, at)
                after = tuple(sorted((*load, entry)))
                if _legal(m.gpu.key, tuple((e[1], e[2]) for e in after)):
                    yield (*loads[:i], after, *loads[i + 1 :])


@cache
def _legal(key: str, instances: tuple[tuple[str, int], ...]) -> bool:
    geometry = gpu(key).mig
    assert geometry is not None
    placed = [PlacedInstance(p, s, geometry.profiles[p].memory_slots) for p, s in instances]
    return isinstance(place(geometry, {}, placed), MigPlacement)
