"""Trying one kind of GPU: every split, precision, share and machine, kept or rejected with why."""

from collections.abc import Iterator, Sequence
from math import ceil, inf
from operator import attrgetter

from gpufleet.models.parallel import Parallelism
from gpufleet_planner.planning.need import ServingTarget, WorkloadNeed, allowed_kinds
from gpufleet_planner.planning.offers import OfferedMachine, whole
from gpufleet_planner.planning.option import Miss, Option, Reached, Rejected
from gpufleet_planner.planning.serving_choice import fitting_format, need_bytes, serve, splits
from gpufleet_planner.sizing.device import Device, DeviceShare, shares


def try_services(
    need: WorkloadNeed, group: Sequence[OfferedMachine], ceiling: float | None = None
) -> Iterator[Option | Rejected]:
    """Replicas on whole GPUs and on shares of one kind of GPU.

    `ceiling` is the cost, USD an hour, that something else already keeps: what cannot be cheaper
    even for its part of the machines is not computed.
    """
    first = group[0]
    device = whole(first)
    if device is None:
        return
    formats = fitting_format(need, device)
    if isinstance(formats, Miss):
        yield _rejected(device.label, first, formats)
        return
    kinds = allowed_kinds(need) if first.fraction == 1 else (DeviceShare.WHOLE,)
    gpu_usd = cheapest_gpu(group)
    most = max(machine.gpus for machine in group) if first.fraction == 1 else 1
    # Slices and shares cannot form a group.
    alone = next(iter(splits(need, device, 1)), None)
    shared = kinds != (DeviceShare.WHOLE,) and alone is not None and alone.serving_gpus == 1
    for serving in formats:
        tried: list[tuple[Device, Parallelism, float, str]] = []
        for parallel in splits(need, device, most):
            gpus = parallel.serving_gpus
            what = device.label if gpus == 1 else f"{gpus} x {device.label}"
            tried.append((device, parallel, gpus, what))
        if shared and alone is not None:
            # All sizes are kept: which one others take too shows when pools are filled.
            fitting = shares(first.gpu, kinds, need_bytes(need.model, serving, alone))
            parts = sorted(fitting, key=lambda share: share.part)
            parts = [share for share in parts if share.kind is not DeviceShare.WHOLE]
            tried += [(share, alone, float(share.part), share.label) for share in parts]
        for share, parallel, part, what in tried:
            least = gpu_usd * (part * need.allowed.replicas)
            above = _dearer(least, ceiling, "USD/h at least for its part of the machines")
            found = above or serve(need, serving, share, parallel)
            if isinstance(found, Reached):
                yield from _bought(found, share, group)
            else:
                yield _rejected(f"{what}, {serving.weights.name}", first, found)


def cheapest_gpu(group: Sequence[OfferedMachine]) -> float:
    """Least USD an hour of one GPU on such machines; infinite where no price is known."""
    prices = [machine.micro_usd / machine.gpus / 1e6 for machine in group if machine.micro_usd]
    return min(prices, default=inf)


def _dearer(least: float, ceiling: float | None, of: str) -> Miss | None:
    """Whether any choice of at least this cost is more expensive than one that keeps the target."""
    if ceiling is None or least <= ceiling:
        return None
    if least == inf:
        return Miss("dearer", "its price is unknown, and a priced choice keeps the target")
    return Miss("dearer", f"{least:.2f} {of}, {ceiling:.2f} is enough", least)


def try_jobs(
    need: WorkloadNeed, group: Sequence[OfferedMachine], ceiling: float | None = None
) -> Iterator[Option | Rejected]:
    """A training job on growing numbers of whole GPUs, or on one MIG slice.

    `ceiling` is the cost that something else already keeps, in the unit of `rank`: of the run, or
    of a million tokens.
    """
    # `size` of a service does not wait for what only jobs need.
    from gpufleet_planner.planning.training_choice import OF_THE_GPU, SPLITS_FROM, gpu_counts, train

    above = _job_above(need, group, ceiling)
    if above is not None:
        yield _rejected(group[0].gpu.key, group[0], above)
        return
    # The cheapest machine of each number of GPUs and network.
    each = {(one.gpus, *_wire(one)): one for one in reversed(group)}
    for machine in sorted(each.values(), key=group.index):
        device = whole(machine)
        if device is None or machine.fraction != 1:
            continue
        met = False
        for gpus in gpu_counts(need, machine.gpus):
            if any(gpus <= other.gpus < machine.gpus for other in group):
                continue  # a smaller machine is tried with as many inside it
            what = f"{gpus} x {device.label}"
            found = train(need, device, machine, gpus)
            if isinstance(found, Miss):
                yield _rejected(what, machine, found)
                if found.code in OF_THE_GPU:
                    return
                if found.code == "network" and gpus >= SPLITS_FROM * machine.gpus:
                    break
                continue
            reached, verdict = found
            late = _late(need.target, reached)
            if late is not None:
                yield _rejected(what, machine, late)
                continue
            # The link that is written is the one of its times.
            fabric = "none" if verdict is None else machine.fabric
            link = "a plain network" if fabric == "none" else fabric
            notes = () if verdict is None else (f"{verdict} over {link}",)
            stays: set[bool] = set()
            for offer in group:
                if (offer.gpus, *_wire(offer)) == (machine.gpus, *_wire(machine)):
                    nodes = ceil(gpus / offer.gpus)
                    short = _taken_back(need, reached, offer)
                    stays.add(short is None)
                    if short is not None:
                        yield _rejected(what, offer, short)
                    elif offer.most_nodes is None or nodes <= offer.most_nodes:
                        yield Option(offer, device, reached, nodes, fabric, notes)
                    else:
                        yield _rejected(what, offer, _stock(nodes, offer))
            if met:
                break
            met = stays != {False}  # one size beyond the smallest: time against money
    if DeviceShare.MIG in allowed_kinds(need) and group[0].fraction == 1:
        yield from _sliced_jobs(need, group)


def _job_above(
    need: WorkloadNeed, group: Sequence[OfferedMachine], ceiling: float | None
) -> Miss | None:
    """A job costs at least what one GPU of the kind takes for it were memory unlimited: more of
    them only communicate more."""
    from gpufleet_planner.sizing.training_rates import training_speed

    if ceiling is None:
        return None
    device, gpu_usd = whole(group[0]), cheapest_gpu(group)
    speed = None if device is None else training_speed(need.model, need.training[0], device)
    if speed is None:
        return None
    hours = (need.target.tokens or 1_000_000) / speed.tokens_per_second / 3600
    return _dearer(gpu_usd * hours, ceiling, "USD at least")


def _sliced_jobs(
    need: WorkloadNeed, group: Sequence[OfferedMachine]
) -> Iterator[Option | Rejected]:
    from gpufleet_planner.planning.training_choice import train

    first = group[0]
    for share in shares(first.gpu, (DeviceShare.MIG,)):
        if share.kind is not DeviceShare.MIG:
            continue
        found = train(need, share, first, 1)
        if isinstance(found, Miss):
            yield _rejected(share.label, first, found)
            continue
        late = _late(need.target, found[0])
        if late is not None:
            yield _rejected(share.label, first, late)
            continue
        lasting = [one for one in group if _taken_back(need, found[0], one) is None]
        yield from _bought(found[0], share, lasting)


def _stock(nodes: int, offer: OfferedMachine) -> Miss:
    text = f"{nodes} machines are needed, and hardware has {offer.most_nodes}"
    return Miss("stock", text, float(nodes))


def _bought(
    reached: Reached, share: Device, group: Sequence[OfferedMachine]
) -> Iterator[Option | Rejected]:
    """The same, or that own machines are too few."""
    made = list(bought(reached, share, group))
    yield from made
    for offer in group if not made else ():
        if offer.most_nodes is not None and (held := room(reached.gpus_each, share, offer)):
            what = f"{reached.copies} x {share.label}"
            yield _rejected(what, offer, _stock(ceil(reached.copies / held), offer))


def room(gpus_each: int, share: Device, machine: OfferedMachine) -> int:
    """Copies of so many GPUs or shares that one machine holds."""
    per_gpu = share.replicas
    if share.kind is DeviceShare.MIG:
        assert share.profile is not None
        assert machine.gpu.mig is not None
        per_gpu = machine.gpu.mig.profiles[share.profile].max_instances
    return machine.gpus // gpus_each * (per_gpu if gpus_each == 1 else 1)


def bought(reached: Reached, share: Device, group: Sequence[OfferedMachine]) -> Iterator[Option]:
    """The machines worth buying for these copies: for each way of buying and platform the cheapest
    whole, and the cheapest for its part."""
    found: dict[tuple[str, str], list[Option]] = {}
    for machine in group:
        held = room(reached.gpus_each, share, machine)
        if not held:
            continue
        nodes = ceil(reached.copies / held)
        if machine.most_nodes is not None and nodes > machine.most_nodes:
            continue
        option = Option(machine, share, reached, nodes, "none")
        found.setdefault((machine.platform, machine.buy), []).append(option)
    for options in found.values():
        options.sort(key=attrgetter("rank"))
        part = min(options, key=lambda o: (o.part_micro_usd is None, o.part_micro_usd or 0))
        yield options[0]
        if part is not options[0]:
            yield part


def _wire(machine: OfferedMachine) -> tuple[float | None, str]:
    return machine.network_gbps, machine.fabric


def _late(target: ServingTarget, reached: Reached) -> Miss | None:
    hours, most = reached.run_hours, target.deadline_hours
    if hours is None or most is None or hours <= most:
        return None
    return Miss("deadline", f"the run takes {hours:.1f} h, {most:g} h allowed", hours)


def _taken_back(need: WorkloadNeed, reached: Reached, offer: OfferedMachine) -> Miss | None:
    hours, most = reached.run_hours, offer.most_hours
    if need.allowed.interruptible or hours is None or most is None or hours <= most:
        return None
    text = (
        f"the run takes {hours:.1f} h, and machines bought by {offer.buy} are reclaimed after "
        f"{most:g} h"
    )
    return Miss("taken-back", text, hours)


def over_budget(option: Option, target: ServingTarget) -> Miss | None:
    """A budget is kept only where the price is known."""
    hour, run = target.budget_usd_per_hour, target.budget_usd
    billed = option.billed_micro_usd
    if billed is None:
        if hour is None and run is None:
            return None
        return Miss("price-missing", "no price is known, so no budget can be kept")
    if hour is not None and billed > hour * 1_000_000:
        text = f"{billed / 1e6:.2f} USD/h, {hour} allowed"
        return Miss("budget-hour", text, billed / 1e6)
    cost = option.usd_per_run
    if run is not None and cost is not None and cost > float(run):
        return Miss("budget", f"{cost:.2f} USD for the run, {run} allowed", cost)
    return None


def _rejected(what: str, machine: OfferedMachine, miss: Miss) -> Rejected:
    return Rejected(what, machine.gpu.key, miss)
