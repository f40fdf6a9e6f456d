"""Too much or too little: memory and throughput of a choice, the memory of its machine, and the
room of its pods after smaller ones."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

from gpufleet.findings import Finding, findings_in
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.ledger import GIB
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.planning.option import Option
from gpufleet_planner.sizing.device import DeviceShare

if TYPE_CHECKING:  # `size` does not wait for the models of a declaration
    from gpufleet_planner.planning.layouts import FilledPool
    from gpufleet_planner.planning.workloads import PlacedWorkload

_finding = findings_in(__file__)
LOW_MEMORY_USE = 0.35
"""Part of the usable memory below which a GPU is too big: the policies' threshold."""
TIGHT_MEMORY_USE = 0.95
LOW_RATE_USE = 0.35
_CHECKPOINT_BYTES = 14
"""Bytes per parameter in a checkpoint: weights in BF16, FP32 master and both moments."""
_IMAGES_GIB = 60
"""Room for container images and logs on the root disk, assumed."""


def validate_provisioning(need: WorkloadNeed, option: Option, path: str = "") -> Iterator[Finding]:
    """Unused and scarce resources of the option, and host memory that its machine lacks. Figures
    are modelled; an amount that a machine's row does not state is not validated."""
    reached, device, name = option.reached, option.share.label, need.name
    use = reached.need_bytes / reached.usable_bytes
    percent, part = f"{100 * use:.0f}", round(use, 4)
    if use < LOW_MEMORY_USE:
        yield _finding(
            "over-provisioned-memory",
            path,
            workload=name,
            device=device,
            percent=percent,
            binding=reached.binding,
            use=part,
            limit=LOW_MEMORY_USE,
        )
    elif use > TIGHT_MEMORY_USE:
        yield _finding(
            "under-provisioned-memory",
            path,
            workload=name,
            device=device,
            percent=percent,
            use=part,
            limit=TIGHT_MEMORY_USE,
        )
    rate, asked = reached.tokens_per_second, reached.asked_tokens_per_second
    if rate and asked and asked / rate < LOW_RATE_USE:
        yield _finding(
            "over-provisioned-rate",
            path,
            workload=name,
            asked=f"{asked:.0f}",
            rate=f"{rate:.0f}",
            devices=f"{option.devices} x {device}",
            use=round(asked / rate, 4),
        )
    memory, (wanted, what) = option.machine.memory_bytes, _host_memory(need, option)
    if memory is not None and memory < wanted:
        yield _finding(
            "machine-memory-short",
            path,
            machine=option.machine.name,
            has=f"{memory / GIB:.0f}",
            what=f"{what} of {name}",
            takes=f"{wanted / GIB:.0f}",
            found=memory,
            limit=wanted,
        )


def validate_gpu(
    stated: ServingChoice, everything: ServingChoice, gpu: str, path: str = "gpu"
) -> tuple[Finding, ...]:
    """A warning where the request names GPUs and another one keeps the same target for less."""
    mine, best = stated.best, everything.best
    if mine is None or best is None or None in (mine.billed_micro_usd, best.billed_micro_usd):
        return ()
    had, least = mine.rank[1], best.rank[1]
    if least >= 0.75 * had:
        return ()
    found = _finding(
        "over-provisioned",
        path,
        gpu=gpu,
        had=f"{had:.4g}",
        unit=mine.cost_unit,
        choice=best.label,
        costs=f"{least:.4g}",
        device=best.share.label,
        found=had,
        least=least,
    )
    return (found,)


def validate_order(
    placed: "Sequence[PlacedWorkload]", pools: "Mapping[str, FilledPool]"
) -> Iterator[Finding]:
    """A warning for each workload without room for its pods where smaller ones are scheduled
    first: kube-scheduler puts a pod on the emptiest node that it fits (`NodeResourcesFit`,
    LeastAllocated by default), and moves none later."""
    free = {name: Counter({pool.whole_gpus: pool.nodes}) for name, pool in pools.items()}
    works = [work for work in placed if work.option.share.kind is DeviceShare.WHOLE]
    works.sort(key=lambda work: work.pod_gpus)
    for number, work in enumerate(works):
        size, name = work.pod_gpus, work.entry.name
        for _ in range(work.option.devices // size):
            most, pool = max((max(+free[pool], default=0), pool) for pool in work.pools)
            if most < size:
                before = {one.entry.name for one in works[:number] if {*one.pools} & {*work.pools}}
                yield _finding(
                    "larger-pods-wait", work.path, workload=name, gpus=size, before=before
                )
                break
            free[pool].subtract([most])
            free[pool].update([most - size])


def weights_on_disk(need: WorkloadNeed, option: Option) -> int:
    """Bytes of the checkpoint each machine fetches."""
    form = need.training[0].base if need.trains else WEIGHT_FORMATS[option.reached.precision]
    return weight_bytes(need.model, form).stored


def disk_gib(stored: int) -> int:
    """Size of a root disk that holds the images and one copy of the weights, in steps of 50 GiB."""
    return max(200, 50 * ceil((_IMAGES_GIB + 1.1 * stored / GIB) / 50))


def _host_memory(need: WorkloadNeed, option: Option) -> tuple[int, str]:
    """Serving loads weights through the page cache, training gathers its state for checkpoints."""
    if need.trains and need.workload.value in ("full-fine-tuning", "pre-training"):
        whole = _CHECKPOINT_BYTES * weight_bytes(need.model, WEIGHT_FORMATS["int8"]).stored
        return whole // option.machines, "a machine's part of a checkpoint"
    return weights_on_disk(need, option), "the weights"
