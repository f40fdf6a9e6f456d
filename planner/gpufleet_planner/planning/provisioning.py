"""Too much or too little: memory and throughput of a choice, the balance of its machine, and the
room of its pods after those of others."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil

from gpufleet.findings import Finding, findings_in, info, warning
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.ledger import GIB
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.layouts import FilledPool
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.planning.option import Option, rank
from gpufleet_planner.planning.workloads import PlacedWorkload
from gpufleet_planner.sizing.device import DeviceShare

_finding = findings_in(__file__)
LOW_MEMORY_USE = 0.35
"""Part of the usable memory below which a GPU is too big: the policies' threshold."""
TIGHT_MEMORY_USE = 0.95
LOW_RATE_USE = 0.35
VCPU_PER_GPU = 4
"""Processors next to each GPU: tokenising, sampling, data loading. Assumed; the smallest machines
clouds sell with one GPU have four."""
_CHECKPOINT_BYTES = 14
"""Bytes per parameter in a checkpoint: weights in BF16, FP32 master and both moments."""
_IMAGES_GIB = 60
"""Room for container images and logs on the root disk, assumed."""


def validate_provisioning(
    need: WorkloadNeed, option: Option, path: str = ""
) -> tuple[Finding, ...]:
    """Unused and scarce resources of the option. Figures are modelled."""
    reached = option.reached
    findings: list[Finding] = []
    use = reached.need_bytes / reached.usable_bytes
    if use < LOW_MEMORY_USE:
        findings.append(
            info(
                "over-provisioned-memory",
                path,
                f"{need.name} uses {100 * use:.0f} % of the memory of {option.share.label}; "
                f"it is chosen for its price or its speed ({reached.binding} binds)",
                "allow sharing (isolation), or smaller slices",
                use=round(use, 4),
                limit=LOW_MEMORY_USE,
            )
        )
    elif use > TIGHT_MEMORY_USE:
        findings.append(
            info(
                "under-provisioned-memory",
                path,
                f"{need.name} fills {100 * use:.0f} % of {option.share.label}, margin "
                "included: longer prompts or larger batches need another choice",
                use=round(use, 4),
                limit=TIGHT_MEMORY_USE,
            )
        )
    rate, asked = reached.tokens_per_second, reached.asked_tokens_per_second
    if rate and asked and asked / rate < LOW_RATE_USE:
        findings.append(
            info(
                "over-provisioned-rate",
                path,
                f"{need.name} needs {asked:.0f} of the {rate:.0f} tokens/s that "
                f"{reached.copies} x {option.share.label} serve",
                "lower the latency target, or put it on a share",
                use=round(asked / rate, 4),
            )
        )
    return tuple(findings)


def validate_gpu(
    stated: ServingChoice, everything: ServingChoice, gpu: str, path: str = "gpu"
) -> tuple[Finding, ...]:
    """A warning where the request names GPUs and another one keeps the same target for less."""
    mine, best = stated.best, everything.best
    if mine is None or best is None or mine.billed_micro_usd is None:
        return ()
    had, least = rank(mine)[1], rank(best)[1]
    if best.billed_micro_usd is None or least >= 0.75 * had:
        return ()
    unit = "USD a run" if mine.usd_per_run is not None else "USD/h"
    if mine.reached.training is not None and mine.usd_per_run is None:
        unit = "USD per million tokens"
    return (
        warning(
            "over-provisioned",
            path,
            f"{gpu} costs {had:.4g} {unit} for this, and {best.label} keeps the same target for "
            f"{least:.4g}",
            f"use {best.share.label}, or state the target that needs {gpu}",
            found=had,
            least=least,
            unit=unit,
        ),
    )


def validate_balance(need: WorkloadNeed, option: Option, path: str = "") -> tuple[Finding, ...]:
    """Processors and memory next to the GPUs. Limits are assumed; what a machine's row does not
    state is not validated."""
    machine, name = option.machine, option.machine.name
    findings: list[Finding] = []
    if machine.vcpu is not None and machine.vcpu < VCPU_PER_GPU * machine.gpus:
        findings.append(
            warning(
                "machine-cpu-short",
                path,
                f"{name} has {machine.vcpu} vCPU for {machine.gpus} GPUs; {VCPU_PER_GPU} for each "
                "are assumed to keep them busy",
                "take the next larger machine",
                found=machine.vcpu,
                limit=VCPU_PER_GPU * machine.gpus,
            )
        )
    wanted, what = _host_memory(need, option)
    if machine.memory_bytes is not None and machine.memory_bytes < wanted:
        findings.append(
            warning(
                "machine-memory-short",
                path,
                f"{name} has {machine.memory_bytes / GIB:.0f} GiB of memory, and {what} of "
                f"{need.name} take {wanted / GIB:.0f} GiB",
                "take a machine with more memory, or stream weights from disk",
                found=machine.memory_bytes,
                limit=wanted,
            )
        )
    return tuple(findings)


def validate_order(
    placed: Sequence[PlacedWorkload], pools: Mapping[str, FilledPool]
) -> list[Finding]:
    """A warning for each workload whose pods have no room where smaller ones are scheduled before
    them: kube-scheduler puts a pod on the emptiest node that it fits (`NodeResourcesFit`,
    LeastAllocated by default), and moves none later."""
    free = {name: Counter({_whole_gpus(pool): pool.nodes}) for name, pool in pools.items()}
    works = [work for work in placed if work.option.share.kind is DeviceShare.WHOLE]
    findings: list[Finding] = []
    for work in sorted(works, key=lambda work: work.pod_gpus):
        size = work.pod_gpus
        for _ in range(work.option.devices // size):
            most, name = max((max(+free[name], default=0), name) for name in work.pools)
            if most < size:
                before = [
                    one.entry.name
                    for one in works
                    if one.pod_gpus < size and set(one.pools) & set(work.pools)
                ]
                findings.append(
                    _finding(
                        "larger-pods-wait",
                        work.path,
                        workload=work.entry.name,
                        gpus=size,
                        before=", ".join(before),
                    )
                )
                break
            free[name][most] -= 1
            free[name][most - size] += 1
    return findings


def _whole_gpus(pool: FilledPool) -> int:
    """GPUs of each node that are not partitioned."""
    cut = sum(count for _, count in pool.layout.gpus) if pool.layout is not None else 0
    return pool.key.machine.gpus - cut


def weights_on_disk(need: WorkloadNeed, option: Option) -> int:
    """Bytes of the checkpoint each machine fetches."""
    if need.trains:
        form = need.training[0].base
        return weight_bytes(need.model, form).stored
    return weight_bytes(need.model, WEIGHT_FORMATS[option.reached.precision]).stored


def disk_gib(stored: int) -> int:
    """Size of a root disk that holds the images and one copy of the weights, in steps of 50 GiB."""
    return max(200, 50 * ceil((_IMAGES_GIB + 1.1 * stored / GIB) / 50))


def _host_memory(need: WorkloadNeed, option: Option) -> tuple[int, str]:
    """Serving loads weights through the page cache, training gathers its state for checkpoints."""
    if need.trains and need.workload.value in ("full-fine-tuning", "pre-training"):
        whole = _CHECKPOINT_BYTES * weight_bytes(need.model, WEIGHT_FORMATS["int8"]).stored
        return whole // option.machines, "a machine's part of a checkpoint"
    return weights_on_disk(need, option), "the weights"
