"""Number of further machines of one kind that fit on a host's GPUs, and limits of the next one.

One physical GPU serves either passthrough, whole, or vGPUs: one that a machine holds runs no vGPU,
and one that runs vGPUs cannot be passed through. A machine that is off keeps its fixed devices and
will want its dynamic ones back; of vGPUs only running machines count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpufleet_vcenter.errors import said
from gpufleet_vcenter.inventory import Host, PassthroughState, PhysicalGpu, per_gpu


@dataclass(frozen=True, slots=True)
class Slots:
    """Number of further machines of one kind that fit on a host, and limits of the next one."""

    free: int
    limits: tuple[str, ...] = ()
    """Missing resources of the host, a phrase for each; empty: it has room."""
    certain: bool = True
    """False: an upper bound, because the host does not report the GPUs of its vGPUs."""


@dataclass(frozen=True, slots=True)
class Uses:
    """Current use of each GPU of a host."""

    passthrough: dict[str, str]
    """Address -> machine that holds the whole GPU, also while the machine is off."""
    placed: dict[str, list[str]]
    """Address -> profiles that the host reports there."""
    vgpus: dict[str, list[str]]
    """Address -> profiles. vGPUs that the host does not place are packed as closely as possible."""
    certain: bool
    """Whether the host reports the GPU of every vGPU."""

    def whole(self, address: str) -> bool:
        """Whether nothing uses the GPU."""
        return address not in self.passthrough and not self.vgpus.get(address)


def uses(host: Host) -> Uses:
    """Use of a host's GPUs by the machines on it.

    vGPUs whose GPU the host does not report are placed next to their own type, else on an empty
    GPU. This is the densest packing, so the free part is an upper bound.
    """
    held = {address: holding.name for holding in host.holdings for address in holding.held}
    gpus = [gpu for gpu in host.gpus if gpu.graphics_type == "sharedDirect"]
    placed: dict[str, list[str]] = {gpu.address: [] for gpu in gpus}
    unplaced: list[str] = []
    for holding in host.holdings:
        if not holding.is_on:
            continue
        where = [gpu.address for gpu in gpus if holding.moref in gpu.machines]
        if where:
            for number, name in enumerate(holding.profiles):
                placed[where[min(number, len(where) - 1)]].append(name)
        else:
            unplaced.extend(holding.profiles)
    laid = {address: list(names) for address, names in placed.items()}
    # GPUs that passthrough cannot use are filled first.
    order = sorted(gpus, key=lambda gpu: gpu.passthrough is PassthroughState.ACTIVE)
    able = [gpu.address for gpu in order if gpu.address not in held]
    for name in unplaced:
        most = per_gpu(name) or 1
        same = [a for a in able if set(laid[a]) == {name} and len(laid[a]) < most]
        target = same or [a for a in able if not laid[a]] or able
        if target:
            laid[target[0]].append(name)
    return Uses(held, placed, laid, not unplaced)


def takeable(host: Host, free: Iterable[PhysicalGpu], wanted: Sequence[frozenset[str]]) -> int:
    """Number of requested devices that are free together, besides those that machines wait for.

    Args:
        free: GPUs that nothing uses.
        wanted: For each device, the suitable addresses.
    """
    active = _active(free)
    holders: dict[str, frozenset[str]] = {}
    # Each dynamic device that a machine will need and that has no address yet.
    for lacking in (one for holding in host.holdings for one in holding.waiting):
        alike = (gpu for gpu in active if gpu.device_id in lacking.what.split(","))
        suitable = (gpu.address for gpu in alike if lacking.label in ("", gpu.label))
        _give(frozenset(suitable), holders, set())
    return sum(_give(ask, holders, set()) for ask in wanted)


def _give(ask: frozenset[str], holders: dict[str, frozenset[str]], tried: set[str]) -> bool:
    """Assign an address to the request; its holder moves to another suitable address (an augmenting
    path of a matching), so that no request loses its device."""
    for address in sorted(ask - tried):
        tried.add(address)
        if address not in holders or _give(holders[address], holders, tried):
            holders[address] = ask
            return True
    return False


def fixed_slots(host: Host, addresses: tuple[str, ...]) -> Slots:
    """Whether the host has exactly these devices free (1 or 0)."""
    known = {gpu.address: gpu for gpu in host.gpus}
    used = uses(host)
    lacking: list[str] = []
    for address in addresses:
        if address not in known:
            lacking.append(f"no device {address}")
        elif known[address].passthrough is not PassthroughState.ACTIVE:
            lacking.append(said(f"gpu-capacity/{known[address].passthrough}", gpu=known[address]))
        elif address in used.passthrough:
            lacking.append(f"{address} is held by {used.passthrough[address]}")
        elif used.placed.get(address):
            lacking.append(_runs_vgpus(address, used.placed))
    if lacking:
        return Slots(0, tuple(lacking))
    free = [
        gpu
        for gpu in host.gpus
        if gpu.address not in used.passthrough and not used.placed.get(gpu.address)
    ]
    if takeable(host, free, [frozenset((address,)) for address in addresses]) < len(addresses):
        return Slots(0, (f"{' and '.join(addresses)} would leave too few for {_waiting(host)}",))
    return Slots(1, (), used.certain)


def dynamic_slots(host: Host, device_ids: tuple[str, ...], label: str, count: int) -> Slots:
    """Number of machines with `count` such devices that still fit."""
    of_kind = [gpu for gpu in host.gpus if gpu.device_id in device_ids]
    if not of_kind:
        has = ", ".join(sorted({f"{gpu.name} ({gpu.device_id})" for gpu in host.gpus})) or "none"
        return Slots(0, (f"no device {' or '.join(device_ids)}, it has {has}",))
    labelled = [gpu for gpu in of_kind if not label or gpu.label == label]
    if not labelled:
        has = ", ".join(sorted({repr(gpu.label) for gpu in of_kind}))
        return Slots(0, (f"no device labelled {label!r}, the labels are {has}",))
    active = _active(labelled)
    if not active:
        return Slots(0, tuple(said(f"gpu-capacity/{gpu.passthrough}", gpu=gpu) for gpu in labelled))
    used = uses(host)
    whole = [gpu for gpu in host.gpus if used.whole(gpu.address)]
    will_do = frozenset(gpu.address for gpu in active if gpu in whole)
    free = takeable(host, whole, [will_do] * len(active))
    if free < count:
        holders = sorted({h.name for h in host.holdings if h.held or h.waiting})
        by = f", held by {', '.join(holders)}" if holders else ""
        shared = "".join(
            f"; {_runs_vgpus(gpu.address, used.vgpus)}"
            for gpu in active
            if used.vgpus.get(gpu.address)
        )
        text = f"{free} of {len(active)} devices free and a machine needs {count}{by}{shared}"
        return Slots(0, (text,))
    return Slots(free // count, (), used.certain)


def profile_slots(host: Host, profile: str, count: int) -> Slots:
    """Number of machines with `count` vGPUs of the profile that still fit.

    A GPU that runs vGPUs takes only the same profile, and is either MIG-backed or time-sliced,
    never both. One that a machine holds by passthrough takes none.
    """
    if profile not in host.profiles:
        offered = ", ".join(sorted(host.profiles)) or "none"
        direct = any(gpu.graphics_type == "sharedDirect" for gpu in host.gpus)
        why = "" if direct or not host.gpus else " (no GPU is in sharedDirect mode)"
        return Slots(0, (f"profile {profile} is not offered{why}; offered: {offered}",))
    gpus = [gpu for gpu in host.gpus if gpu.graphics_type == "sharedDirect"]
    used = uses(host)
    ours = [gpu for gpu in gpus if gpu.address not in used.passthrough]
    others = (gpu.address for gpu in gpus if gpu not in ours)
    taken = [f"{address} is passed through to {used.passthrough[address]}" for address in others]
    if gpus and not ours:
        return Slots(0, tuple(taken))
    most = per_gpu(profile)
    if most is None or not gpus:
        return Slots(max(1, len(ours)), (), False)
    there = [used.vgpus[gpu.address] for gpu in ours]
    partly = sum(most - len(held) for held in there if set(held) == {profile})
    empty = frozenset(gpu.address for gpu in ours if not used.vgpus[gpu.address])
    whole = [gpu for gpu in host.gpus if used.whole(gpu.address)]
    free = partly + most * takeable(host, whole, [empty] * len(empty))
    if free < count:
        held = ", ".join(sorted({name for each in there for name in each})) or "nothing"
        lacking = [f"{free} x {profile} free and a machine needs {count}; its GPUs run {held}"]
        lacking += taken
        if waiting := _waiting(host):
            lacking.append(f"whole ones are left for {waiting}")
        return Slots(0, tuple(lacking))
    return Slots(free // count, (), used.certain)


def _waiting(host: Host) -> str:
    """Machines that will want dynamic devices, by name."""
    return ", ".join(sorted(holding.name for holding in host.holdings if holding.waiting))


def _active(gpus: Iterable[PhysicalGpu]) -> list[PhysicalGpu]:
    return [gpu for gpu in gpus if gpu.passthrough is PassthroughState.ACTIVE]


def _runs_vgpus(address: str, profiles: Mapping[str, Iterable[str]]) -> str:
    return f"{address} runs vGPUs of {', '.join(sorted(set(profiles[address])))}"
