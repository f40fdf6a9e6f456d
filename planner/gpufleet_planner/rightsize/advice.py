"""The sufficient device for a measured workload, with the saving and the risks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from gpufleet.catalogue import Catalogue, Gpu, Rates, UnknownKeyError
from gpufleet.models.ledger import Basis
from gpufleet.render.pod_request import MPS_USER
from gpufleet_planner.planning.need import ISOLATED, Isolation
from gpufleet_planner.planning.offers import Market, OfferedMachine, machines
from gpufleet_planner.rightsize.usage import DeviceUse, MeasuredWorkload
from gpufleet_planner.sizing.device import Device, DeviceShare, mig_slice, shares, whole_gpu

MEMORY_MARGIN = Fraction(21, 20)
"""A share has at least the measured peak times this. Assumed."""
HEADROOM = Fraction(9, 10)
"""Maximum part of a share's compute and bandwidth that the measured use may take. Assumed."""
IDLE = 0.001
"""Compute in use up to which a device did nothing: DCGM reports parts of a thousandth."""
CONTEXT_BYTES = 1 << 30
"""Memory below which an idle device holds no more than a CUDA context (0.3 to 0.5 GiB)."""
RESERVED_PART = Fraction(7, 10)
"""Part of a device from which memory that never changes may be reserved rather than used: vLLM
takes 0.9 or 0.92 of it at the start, JAX 0.75 (JAX documentation, GPU memory allocation)."""
STEADY = Fraction(98, 100)
NEARLY = 1.02
"""Options up to this many times the cheapest count as equally cheap. Assumed."""


class Conclusion(StrEnum):
    """Result of the measurements."""

    IDLE = "idle"
    """No device of it ever worked: it can be scaled to zero."""
    FEWER = "fewer"
    """Some of its devices or pods never worked."""
    SMALLER = "smaller"
    """A share, slice or smaller GPU would have been enough."""
    FITS = "fits"
    """Nothing that is enough costs less."""
    UNKNOWN = "unknown"
    """The measurements do not tell."""


class Confidence(StrEnum):
    """Coverage of the samples."""

    HIGH = "high"
    """At least 7 days, and 95 % of that time."""
    MEDIUM = "medium"
    """At least one day, and 80 % of it."""
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Proposal:
    """The proposed device of each pod."""

    machine: OfferedMachine
    share: Device
    devices_each: int
    pods: int

    @property
    def micro_usd(self) -> float | None:
        """Per hour for all pods: their part of the machines."""
        return self.machine.part_micro_usd(self.devices_each * self.pods, self.share.part)


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice for one workload."""

    workload: MeasuredWorkload
    gpu: Gpu | None
    """None where the catalogue does not have the GPU that DCGM names."""
    holds: str
    """Current device of each pod: `2 x A100-80GB`, `A100-80GB 3g.40gb`."""
    micro_usd: float | None
    """Per hour for all pods now; None without a price."""
    verdict: Conclusion
    reason: str
    confidence: Confidence
    proposal: Proposal | None = None
    slowdown: Fraction | None = None
    """Maximum slow-down of the same work while it has the proposed share alone."""
    risks: tuple[str, ...] = ()

    @property
    def saving_micro_usd(self) -> float | None:
        """Per hour, once others use what becomes free or its nodes go away; None without prices."""
        if self.micro_usd is None or self.verdict in {Conclusion.FITS, Conclusion.UNKNOWN}:
            return None
        if self.verdict is Conclusion.IDLE:
            return self.micro_usd
        if self.proposal is None or self.proposal.micro_usd is None:
            return None
        return self.micro_usd - self.proposal.micro_usd


def advise(
    workload: MeasuredWorkload,
    market: Market,
    catalogue: Catalogue,
    *,
    isolation: Isolation,
    least_saving: Fraction,
    max_slowdown: Fraction,
) -> Advice:
    """The cheapest share that would have been enough, if it saves at least `least_saving`.

    A share is enough when it has the measured peak of memory with a margin of 5 %, and the
    measured compute and bandwidth take at most 90 % of it, and if the same work takes at most
    `max_slowdown` times as long there (assumed: peaks of a service meet their deadline at twice the
    time, not at ten times). It must have every number format that the present GPU computes in:
    which of them a program uses is not measured. Pods that use several devices get whole GPUs, as
    shares cannot talk to each other.
    """
    confidence = _confidence(workload)
    unknown = Advice(workload, None, "", None, Conclusion.UNKNOWN, "", confidence)
    device = _present(workload, catalogue)
    if isinstance(device, str):
        return replace(unknown, reason=device)
    each, pods = _devices_each(workload.uses), workload.pods_at_once
    now = _cheapest(device.gpu, each, market, catalogue)
    price = None if now is None else now.part_micro_usd(each * pods, device.part)
    label = f"{each} x {device.label}" if each > 1 else device.label
    unknown = replace(unknown, gpu=device.gpu, holds=label, micro_usd=price)
    measured = [use.most_compute for use in workload.uses]
    if any(use.shared for use in workload.uses):
        text = "other pods use the same devices, and DCGM counts by device"
        return replace(unknown, reason=text)
    if any(use.exceeds(device.usable_bytes) for use in workload.uses):
        text = "samples exceed the device: they have another unit"
        return replace(unknown, reason=text)
    if all(most is not None and most <= IDLE for most in measured):
        risks = (*_coverage_risk(unknown), "work between two samples is not seen")
        text = "no sample shows any work"
        return replace(unknown, verdict=Conclusion.IDLE, reason=text, risks=risks)
    if any(most is None for most in measured):
        return replace(unknown, reason="compute in use is not measured on its devices")
    working = [
        use
        for use in workload.uses
        if (use.most_compute or 0.0) > IDLE or use.peak_memory >= CONTEXT_BYTES
    ]
    needed = _devices_each(working)
    # Without pods of which no device ever worked.
    busy_pods = replace(workload, uses=tuple(working)).pods_at_once
    option = _best(device, working, needed, busy_pods, market, catalogue, isolation, max_slowdown)
    if option is None or price is None or option.micro_usd is None:
        return _fits(unknown, device, "no machine with a price in the market is enough")
    if float(price - option.micro_usd) < float(least_saving) * price:
        return _fits(unknown, device, "no sufficient device costs noticeably less")
    slowdown = max(Fraction(1), *_stretches(device, option.share))
    fewer = option.share.label == device.label and (needed < each or busy_pods < pods)
    return replace(
        unknown,
        verdict=Conclusion.FEWER if fewer else Conclusion.SMALLER,
        reason=_used(device, working),
        risks=tuple(_risks(unknown, device, option, slowdown)),
        proposal=option,
        slowdown=slowdown,
    )


def _used(device: Device, uses: Sequence[DeviceUse]) -> str:
    """The measured peaks in words."""
    return (
        f"peak of {max(u.peak_memory for u in uses) / 2**30:.1f} GiB of "
        f"{device.usable_bytes / 2**30:.1f}, "
        f"{100 * max(u.compute or 0.0 for u in uses):.0f} % of the compute at most"
    )


def _fits(unknown: Advice, device: Device, reason: str) -> Advice:
    """Nothing else costs less; not known without a price or rates to compare."""
    rates = device.rates
    if rates is None or rates.memory_bandwidth is None or not any(_matrix(rates)):
        reason = f"no rates of {device.gpu.key} are published to compare other GPUs with"
    elif unknown.micro_usd is not None:
        text = f"{_used(device, unknown.workload.uses)}: {reason}"
        return replace(unknown, verdict=Conclusion.FITS, reason=text)
    return replace(unknown, reason=reason)


def _risks(now: Advice, held: Device, option: Proposal, slowdown: Fraction) -> Iterator[str]:
    device = option.share
    yield from _coverage_risk(now)
    if slowdown > Fraction(11, 10):
        yield f"one request or step takes up to {float(slowdown):.1f} times as long"
    if device.gpu.key != held.gpu.key:
        yield f"the program must run on {device.gpu.name}: kernels and images built for it"
    if option.machine.price_basis is Basis.ASSUMED:
        yield f"the price of {option.machine.name} is not one of the region: it is estimated"
    if not device.grant.is_enforced:
        yield "no memory limit is enforced between pods that share by time"
    if device.kind is DeviceShare.MPS:
        yield f"its pods run as user {MPS_USER}: an MPS server serves one user at a time"


def _coverage_risk(one: Advice) -> Iterator[str]:
    if one.confidence is not Confidence.HIGH:
        hours = f"{one.workload.coverage:.0%} of {one.workload.hours:.0f} hours"
        yield f"the samples cover {hours}: a rarer peak is not seen"


def _present(workload: MeasuredWorkload, catalogue: Catalogue) -> Device | str:
    """The device that its pods hold, or the reason why it is not known."""
    kinds = {(use.model, use.profile) for use in workload.uses}
    if len(kinds) > 1:
        names = ", ".join(sorted(f"{model} {profile}".strip() for model, profile in kinds))
        return f"its pods ran on several kinds of device: {names}"
    ((model, profile),) = kinds
    try:
        gpu = catalogue.gpu_by_product_label(model.replace(" ", "-"))
    except UnknownKeyError:
        return f"the catalogue does not know the GPU {model!r}"
    if not profile:
        device = whole_gpu(gpu)
        return device if isinstance(device, Device) else device.message
    device, findings = mig_slice(gpu, profile)
    return findings[0].message if device is None else device


def _best(
    present: Device,
    working: Sequence[DeviceUse],
    needed: int,
    pods: int,
    market: Market,
    catalogue: Catalogue,
    isolation: Isolation,
    max_slowdown: Fraction,
) -> Proposal | None:
    memory = max(use.peak_memory for use in working) * MEMORY_MARGIN
    # Programs may hold memory that they do not use: much of the device, unchanged.
    reserved = any(
        use.peak_memory >= RESERVED_PART * present.usable_bytes
        and use.usual_memory >= STEADY * use.peak_memory
        for use in working
    )
    found: list[tuple[float, bool, bool, str, Proposal]] = []
    for machine in machines(market, catalogue, interruptible=False, job=False):
        if machine.gpus < needed or machine.fraction != 1 or machine.micro_usd is None:
            continue
        # Shares of a pod with one device; whole GPUs where it has several.
        kinds = ISOLATED[isolation] if needed == 1 else (DeviceShare.WHOLE,)
        for share in shares(machine.gpu, kinds):
            enough = share.usable_bytes >= (present.usable_bytes if reserved else memory)
            if not (enough and _keeps_up(present, share, working, max_slowdown)):
                continue
            option = Proposal(machine, share, needed, pods)
            assert option.micro_usd is not None
            shared = share.kind is not DeviceShare.WHOLE
            other = machine.gpu.key != present.gpu.key
            name = f"{share.label} {machine.name}"
            found.append((option.micro_usd, other, shared, name, option))
    if not found:
        return None
    # Of about the same cost, the choice that changes less.
    limit = min(one[0] for one in found) * NEARLY
    return min((one for one in found if one[0] <= limit), key=lambda one: one[1:4])[4]


def _keeps_up(
    present: Device, other: Device, working: Sequence[DeviceUse], slowest: Fraction
) -> bool:
    """Whether the measured compute and bandwidth take at most `HEADROOM` of the other share."""
    stretches = _stretches(present, other)
    if not stretches or max(stretches) > slowest:
        return False
    compute = max(use.compute or 0.0 for use in working)
    # Memory moves only while the engine works: without its own measure compute bounds it.
    measured = [use.bandwidth if use.bandwidth is not None else use.compute for use in working]
    bandwidth = max(one or 0.0 for one in measured)
    arithmetic, memory = stretches
    if present.label == other.label:
        return True
    return compute * arithmetic <= HEADROOM and bandwidth * memory <= HEADROOM


def _stretches(present: Device, other: Device) -> tuple[Fraction, ...]:
    """Slow-down of arithmetic and memory traffic on the share; empty where a rate is not known, or
    the GPU lacks a format of the present one. The format with the largest slow-down counts.

    For an MPS client the even part counts: a gain from concurrent clients is not guaranteed.
    """
    most = other.part if other.kind is DeviceShare.MPS else Fraction(1)
    compute = present.compute_share / min(most, other.compute_share)
    traffic = present.bandwidth_share / min(most, other.bandwidth_share)
    if present.gpu.key == other.gpu.key:
        return compute, traffic
    if present.rates is None or other.rates is None:
        return ()
    mine, theirs = present.rates.memory_bandwidth, other.rates.memory_bandwidth
    if mine is None or theirs is None:
        return ()
    pairs = zip(_matrix(present.rates), _matrix(other.rates), strict=True)
    formats = [(here, there) for here, there in pairs if here]
    ratios = [Fraction(here, there) for here, there in formats if there]
    if not ratios or len(ratios) < len(formats):
        return ()
    return compute * max(ratios), traffic * Fraction(mine, theirs)


def _matrix(rates: Rates) -> tuple[int | None, ...]:
    return rates.tf32, rates.bf16, rates.fp16, rates.fp8, rates.int8, rates.fp4


def _devices_each(uses: Sequence[DeviceUse]) -> int:
    """Maximum number of devices of one pod."""
    pods = {use.pod for use in uses}
    return max(len({use.device for use in uses if use.pod == pod}) for pod in pods)


def _cheapest(gpu: Gpu, each: int, market: Market, catalogue: Catalogue) -> OfferedMachine | None:
    """The machine with this GPU whose GPUs cost least."""
    sold = [
        machine
        for machine in machines(market, catalogue, interruptible=False, job=False)
        if machine.gpu.key == gpu.key and machine.gpus >= each and machine.fraction == 1
    ]
    priced = [machine for machine in sold if machine.micro_usd is not None]
    return min(
        priced, key=lambda one: ((one.micro_usd or 0) / one.gpus, one.gpus, one.name), default=None
    )


def _confidence(workload: MeasuredWorkload) -> Confidence:
    covered = workload.coverage
    if workload.hours >= 7 * 24 and covered >= 0.95:
        return Confidence.HIGH
    return Confidence.MEDIUM if workload.hours >= 24 and covered >= 0.8 else Confidence.LOW
