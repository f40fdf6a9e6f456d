"""Ways to spread a training job over a kind of machine, and the time of each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from gpufleet.findings import has_errors
from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.ledger import GIB
from gpufleet.models.parallel import Parallelism, Sharding, check_parallelism
from gpufleet_planner.planning.need import ServingTarget, WorkloadNeed
from gpufleet_planner.planning.offers import OfferedMachine
from gpufleet_planner.planning.option import Miss, Reached
from gpufleet_planner.sizing.communication import Link, LinkKind, network
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.throughput import check_capability
from gpufleet_planner.sizing.training import Training, TrainingMethod, training_ledger
from gpufleet_planner.sizing.training_rates import (
    check_arithmetic,
    exchanged_bytes,
    goodput,
    training_speed,
)
from gpufleet_planner.sizing.training_state import Checkpointing, TrainingPrecision

RDMA_SHARE_OF_STEP = 0.30
"""Part of a step that exchanging gradients over a plain network may take."""
_PLAIN_SUSTAINED = 0.7
_KINDS = {
    "efa": LinkKind.EFA,
    "tcpx": LinkKind.ETHERNET,
    "tcpxo": LinkKind.ETHERNET,
    "rdma": LinkKind.INFINIBAND,
    "none": LinkKind.ETHERNET,
}


def link_between(machine: OfferedMachine) -> Link | None:
    """Network between machines of a kind; None where its rate is not sourced."""
    if machine.network_gbps is None:
        return None
    return network(_KINDS[machine.fabric], machine.network_gbps, machine.gpus)


@dataclass(frozen=True, slots=True)
class RdmaVerdict:
    """Data that a job over several machines moves between them."""

    needed: bool
    """Whether a plain network of the machine's rate is too slow for it."""
    bytes_per_step: int
    """Bytes that one machine moves per optimizer step."""
    plain_seconds: float
    """Time of that transfer at the machine's rate over a plain network."""

    def __str__(self) -> str:
        return f"{self.bytes_per_step / 1e9:.0f} GB per machine and step"


def rdma(
    model: Architecture,
    job: Training,
    parallel: Parallelism,
    machine: OfferedMachine,
    compute_seconds: float,
) -> RdmaVerdict | None:
    """The rule: FSDP and ZeRO-3 move 6 bytes per parameter and machine each step, other data
    parallelism 4, and LoRA what its adapters and the gathering of its base take; RDMA is needed
    when that takes more than 30 % of the step over the machine's plain network. Tensor groups never
    leave a machine here. None: the rate is not sourced."""
    if machine.network_gbps is None:
        return None
    moved = exchanged_bytes(model, job, parallel) // parallel.pipeline
    plain = moved / (machine.network_gbps * 1e9 / 8 * _PLAIN_SUSTAINED)
    return RdmaVerdict(plain > RDMA_SHARE_OF_STEP * compute_seconds, moved, plain)


_MACHINES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128)
_STAGES = (2, 4, 8)
SPLITS_FROM = _STAGES[-1]
"""Machines from which on more of them are spread in no further way: each then moves as much or more
for the same arithmetic, and a network that was too slow stays so."""
_MOST_BATCH = 64
_FASTER = 1.01
"""Minimum speed-up of a job by which a larger micro-batch, or less memory, is chosen."""
OF_THE_GPU = frozenset({"precision", "speed-unknown"})
"""Limits that another number of the same GPUs does not change."""
_ANY_LENGTH = ServingTarget()


def gpu_counts(need: WorkloadNeed, on_machine: int) -> tuple[int, ...]:
    """Numbers of GPUs to try: powers of two inside a machine, then whole machines."""
    inside = [n for n in (1, 2, 4, 8, 16) if n <= on_machine]
    across = [on_machine * k for k in _MACHINES] if on_machine in inside else []
    return tuple(n for n in (*inside, *across) if n <= need.allowed.most_gpus)


def training_splits(need: WorkloadNeed, gpus: int, on_machine: int) -> Iterator[Parallelism]:
    """Ways to spread a job, the plainest first: copies (DDP), then FSDP, then tensor groups inside
    a machine, then pipeline stages across machines."""
    if need.parallel is not None:
        if need.parallel.training_gpus == gpus:
            yield need.parallel
        return
    adapter = need.training[0].method is TrainingMethod.LORA
    if gpus == 1:
        yield Parallelism()
        return
    if adapter:
        yield Parallelism(data=gpus)
    yield Parallelism(data=gpus, sharding=Sharding.ZERO3)
    for tensor in (2, 4, 8):
        if tensor > min(gpus, on_machine) or gpus % tensor:
            continue
        data = gpus // tensor
        yield Parallelism(
            tensor=tensor, data=data, sharding=Sharding.ZERO3 if data > 1 else Sharding.NONE
        )
        if tensor == on_machine:
            for pipeline in _STAGES:
                if data % pipeline == 0:
                    rest = data // pipeline
                    level = Sharding.ZERO1 if rest > 1 else Sharding.NONE
                    yield Parallelism(tensor=tensor, pipeline=pipeline, data=rest, sharding=level)


def train(
    need: WorkloadNeed, device: Device, machine: OfferedMachine, gpus: int
) -> tuple[Reached, RdmaVerdict | None] | Miss:
    """The fastest fitting spread of the job over its GPUs, or the limit that it exceeds."""
    # Jobs that differ only in length are spread equally.
    allowed = need.allowed.model_copy(update={"goodput": None})
    alike = replace(need, name="", hub=(), target=_ANY_LENGTH, allowed=allowed)
    found = _fastest(alike, device, machine, gpus)
    if isinstance(found, Miss):
        return found
    stated, hours = need.allowed.goodput, None
    useful = goodput(gpus) if stated is None else stated
    if need.target.tokens is not None:
        hours = need.target.tokens / found.pace / 3600 / useful
    return replace(found.reached, run_hours=hours, goodput=useful), found.verdict


_checked = lru_cache(maxsize=4096)(check_parallelism)


@lru_cache(maxsize=16384)
def _fastest(
    need: WorkloadNeed, device: Device, machine: OfferedMachine, gpus: int
) -> "_Timed | Miss":
    first = need.training[0]
    # A frozen 4-bit base is multiplied in FP16 where BF16 is not.
    unit = WEIGHT_FORMATS["fp32" if first.precision is TrainingPrecision.FP32 else "bf16"]
    unit = first.base if first.method is TrainingMethod.LORA else unit
    capability = (*check_capability(device, unit), *check_arithmetic(device, first.arithmetic))
    if has_errors(capability):
        return Miss("precision", capability[0].message)
    if training_speed(need.model, first, device) is None:
        return Miss("speed-unknown", f"the rates of {device.gpu.key} are not sourced")
    best: _Timed | None = None
    smallest: int | None = None
    network: Miss | None = None
    for parallel in training_splits(need, gpus, machine.gpus):
        if has_errors(_checked(need.model, parallel, training=True)):
            continue
        if need.allowed.global_batch is not None and parallel.data > need.allowed.global_batch:
            continue
        fastest: _Timed | None = None
        for least, found in _ways(need, device, machine, parallel):
            smallest = least if smallest is None else min(smallest, least)
            if isinstance(found, Miss):
                network = network or found
            elif found is not None and (fastest is None or found.pace > _FASTER * fastest.pace):
                fastest = found
        if fastest is not None and (best is None or fastest.pace > best.pace):
            best = fastest
    if (found := best or network) is not None:
        return found
    if smallest is None:
        return Miss("parallelism", f"no way to spread {need.model.name} over {gpus} GPUs")
    text = (
        f"{smallest / GIB:.1f} GiB are needed on each of {gpus} GPUs even with checkpointing, and "
        f"{device.label} has {device.usable_bytes / GIB:.1f} GiB usable"
    )
    return Miss("memory", text)


@dataclass(frozen=True, slots=True)
class _Timed:
    """One way to run the job that fits."""

    reached: Reached
    verdict: RdmaVerdict | None
    pace: float
    """Tokens per second."""
    waits: bool
    """Whether communication takes a part of the step that a larger micro-batch may hide."""


def _ways(
    need: WorkloadNeed, device: Device, machine: OfferedMachine, parallel: Parallelism
) -> Iterator[tuple[int, _Timed | Miss | None]]:
    """Bytes on each GPU and the time of each variant with a growing micro-batch, while the time
    falls; None: it does not fit. Ends with the first variant that has no slow-down, or that memory
    does not bound: the rest needs less memory and is no faster."""
    most = _MOST_BATCH
    if need.allowed.global_batch is not None:
        most = need.allowed.global_batch // parallel.data
    slow: set[bool] = set()
    for variant in need.training:
        recomputes = variant.checkpointing is Checkpointing.FULL
        if recomputes in slow:
            continue  # as fast as one whose network is too slow at any micro-batch
        job = _accumulated(variant, need, parallel)
        found: _Timed | Miss | None = None
        fits = True
        while True:
            least = training_ledger(need.model, job, parallel).planning_bytes
            if least > device.usable_bytes:
                yield least, None
                fits = False
                break
            before, found = found, _timed(need, job, device, machine, parallel)
            yield least, found
            if isinstance(found, _Timed) and (
                not found.waits
                or (isinstance(before, _Timed) and found.pace < _FASTER * before.pace)
            ):
                break
            if need.batch_stated or 2 * job.batch > most:
                break
            if isinstance(found, Miss) and before is None:
                # What is exchanged does not grow with the micro-batch, and arithmetic does.
                largest = job.batch << max((most // job.batch).bit_length() - 1, 0)
                last = _accumulated(replace(job, batch=largest), need, parallel)
                if isinstance(_timed(need, last, device, machine, parallel), Miss):
                    slow.add(recomputes)
                    break
            job = _accumulated(replace(job, batch=2 * job.batch), need, parallel)
        if isinstance(found, _Timed) and (fits or not found.waits):
            return


def _timed(
    need: WorkloadNeed,
    job: Training,
    device: Device,
    machine: OfferedMachine,
    split: Parallelism,
) -> _Timed | Miss:
    across = split.training_gpus > machine.gpus
    link = link_between(machine) if across else None
    if across and link is None:
        return Miss("network", f"the network rate of {machine.name} is not sourced")
    speed = training_speed(need.model, job, device, split, link)
    if speed is None:
        return Miss("speed-unknown", f"the rates of {device.gpu.key} are not sourced")
    verdict = None
    if across:
        verdict = rdma(need.model, job, split, machine, speed.compute_seconds)
    if verdict is not None and verdict.needed and machine.fabric == "none":
        return Miss(
            "network",
            f"{verdict} take {verdict.plain_seconds:.1f} s over {machine.network_gbps:g} Gb/s of "
            f"{machine.name} next to {speed.compute_seconds:.1f} s of arithmetic: RDMA is needed "
            "above 30 %",
        )
    return _Timed(
        Reached(
            copies=1,
            gpus_each=split.training_gpus,
            parallel=split,
            precision=job.base.name if job.method is TrainingMethod.LORA else job.precision.value,
            need_bytes=training_ledger(need.model, job, split).planning_bytes,
            usable_bytes=device.usable_bytes,
            batch=job.batch,
            tokens_per_second=speed.tokens_per_second,
            training=job,
            compute_seconds=speed.compute_seconds,
            binding=speed.binding,
            basis=speed.basis,
        ),
        verdict,
        speed.tokens_per_second,
        speed.exposed_seconds > (_FASTER - 1) * speed.step_seconds,
    )


def _accumulated(job: Training, need: WorkloadNeed, parallel: Parallelism) -> Training:
    """Micro-batches that make up the stated global batch."""
    if need.allowed.global_batch is None:
        return job
    micro = max(ceil(need.allowed.global_batch / (parallel.data * job.batch)), 1)
    return replace(job, accumulation=micro)
