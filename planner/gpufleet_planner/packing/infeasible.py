"""Why shares find no place, and the nearest thing that would work."""

from gpufleet.catalogue.lookup import nearest_names
from gpufleet.findings import Finding, error
from gpufleet.partition.shares import MIB, gib
from gpufleet_planner.packing.packing import Packing
from gpufleet_planner.packing.problem import (
    REPLICATED,
    Host,
    HostRoom,
    Mode,
    PackingMachine,
    PackingProblem,
    ShareClass,
)
from gpufleet_planner.packing.slots import host_fits, slots_for


def impossible_shares(problem: PackingProblem) -> list[Finding]:
    """Share classes that no GPU of any allowed machine can serve, however many there are."""
    found: list[Finding] = []
    for share in problem.shares:
        machines = [
            m
            for m in problem.machines.values()
            if share.machines is None or m.name in share.machines
        ]
        if not share.count or any(slots_for(share, machine) for machine in machines):
            continue
        reasons = [f"{m.name}: {_reason(share, m)}" for m in machines]
        fix = next((f for m in machines if (f := _nearest(share, m)) is not None), None)
        found.append(
            error(
                "pack-share-impossible",
                share.path,
                f"no machine can hold a share of {share.name}: {'; '.join(reasons)}",
                fix or "allow another machine type",
                share=share.name,
                machines=[m.name for m in machines],
            )
        )
    return found


def _reason(share: ShareClass, machine: PackingMachine) -> str:
    gpu = machine.gpu
    if not host_fits(share.host, machine.host):
        return _short(share.host, machine.host)
    if share.mode is not None and share.mode not in machine.modes:
        return f"its GPUs are not used as {share.mode} (modes: {', '.join(sorted(machine.modes))})"
    if share.mode is Mode.WHOLE and share.gpus > machine.gpus:
        return f"{share.gpus} GPUs on one node, it has {machine.gpus}"
    if machine.memory_bytes is None and share.memory_bytes:
        return f"the memory of {gpu.key} is not known"
    memory = f"{gib(share.memory_bytes)} wanted, {gib(machine.memory_bytes or 0)} there"
    if share.mode is Mode.WHOLE:
        return memory
    if share.mode in REPLICATED:
        if machine.whole_only or gpu.vendor != "nvidia":
            return f"its devices cannot be shared by {share.mode}"
        if share.mode is Mode.MPS and gpu.mps_max_clients < 1:
            return f"{gpu.key} has no MPS"
        return memory
    if gpu.mig is None or machine.whole_only:
        if share.mode is None:
            return memory
        return f"{gpu.key} has no MIG" if gpu.mig_unknown is None else gpu.mig_unknown
    if share.profile is not None and share.profile not in gpu.mig.profiles:
        return f"{gpu.key} has no profile {share.profile} (it has {', '.join(gpu.mig.profiles)})"
    asked = [gib(share.memory_bytes)] if share.memory_bytes else []
    asked += [f"{share.compute_slices} compute slices"] if share.compute_slices else []
    known = [p for p in gpu.mig.profiles.values() if p.usable_bytes is not None]
    if share.memory_bytes and not known:
        return f"the usable memory of the profiles of {gpu.key} was not sourced: name a profile"
    return f"no profile has {' and '.join(asked)}"


def _short(need: Host, room: HostRoom) -> str:
    """What a node lacks: `64 CPUs wanted, 4 there`."""
    said: list[str] = []
    if need[0] > (room[0] or 0):
        there = "not known" if room[0] is None else f"{room[0] / 1000:g} there"
        said.append(f"{need[0] / 1000:g} CPUs wanted, {there}")
    if need[1] > (room[1] or 0):
        there = "not known" if room[1] is None else f"{gib(room[1] * MIB)} there"
        said.append(f"{gib(need[1] * MIB)} of host memory wanted, {there}")
    return " and ".join(said)


def _nearest(share: ShareClass, machine: PackingMachine) -> str | None:
    if share.mode is Mode.WHOLE and share.gpus > machine.gpus:
        return f"ask for at most {machine.gpus} GPUs, or split the share over nodes"
    geometry = machine.gpu.mig
    if share.profile is not None and geometry is not None:
        near = nearest_names(share.profile, geometry.profiles)
        if near and share.profile not in geometry.profiles:
            return f"nearest on {machine.gpu.key}: {', '.join(near)}"
    if share.memory_bytes and machine.memory_bytes and share.memory_bytes > machine.memory_bytes:
        return f"ask for at most {gib(machine.memory_bytes)}, or spread the share over several GPUs"
    return None


def explain(
    problem: PackingProblem, unplaced: dict[str, int], unlimited: Packing | None
) -> list[Finding]:
    """Findings for shares without a place: the limits that stand in the way, and what would help.

    `unlimited` is the packing of the same problem without quotas and limits of nodes; None or
    incomplete: it is not the limits.
    """
    if not unplaced:
        return []
    raised = _raised(problem, unlimited) if unlimited is not None and unlimited.complete else []
    limits = [f"{path} = {limit}" for path, limit, _ in raised]
    found: list[Finding] = []
    for name, count in unplaced.items():
        share = problem.by_name[name]
        if raised:
            why = f"the limits in the way are {', '.join(limits)}"
            fixes = [f"set {path} to {need}" for path, _, need in raised]
        else:
            why = "nothing with room for them may be bought"
            fixes = ["allow a machine type that serves them to be bought (maxNodes above 0)"]
        found.append(
            error(
                "pack-no-room",
                share.path,
                f"{count} of {share.count} shares of {name} have no place: {why}",
                f"{' and '.join(fixes)}, or ask for at most {share.count - count} of {name}",
                share=name,
                unplaced=count,
                limits={path: need for path, _, need in raised},
            )
        )
    return found


def _raised(problem: PackingProblem, unlimited: Packing) -> list[tuple[str, int, int]]:
    """Limits the unlimited packing exceeds: path, limit, what it needs."""
    counts: dict[str, int] = {}
    for node in unlimited.nodes:
        if not node.existing:
            counts[node.machine] = counts.get(node.machine, 0) + 1
    found: list[tuple[str, int, int]] = []
    for machine in problem.machines.values():
        need = counts.get(machine.name, 0)
        if machine.max_nodes is not None and need > machine.max_nodes:
            found.append((f"{machine.path}.maxNodes", machine.max_nodes, need))
    for quota in problem.quotas:
        need = sum(problem.machines[m].gpus * counts.get(m, 0) for m in quota.machines)
        if need > quota.gpus:
            found.append((f"{quota.path}.gpus", quota.gpus, need))
    return found
