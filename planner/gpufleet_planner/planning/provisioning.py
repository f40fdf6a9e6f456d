"""Too much or too little: memory and throughput of a choice, and the balance of its machine."""

from math import ceil

from gpufleet.findings import Finding, findings_in
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.ledger import GIB
from gpufleet.models.weights import weight_bytes
from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.planning.option import Option, rank

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
    facts = {"workload": need.name, "share": option.share.label}
    findings: list[Finding] = []
    use = reached.need_bytes / reached.usable_bytes
    if not LOW_MEMORY_USE <= use <= TIGHT_MEMORY_USE:
        row, limit = "under-provisioned-memory", TIGHT_MEMORY_USE
        if use < LOW_MEMORY_USE:
            row, limit = "over-provisioned-memory", LOW_MEMORY_USE
            facts["binding"] = reached.binding
        percent = f"{100 * use:.0f}"
        findings = [_finding(row, path, **facts, percent=percent, use=round(use, 4), limit=limit)]
    rate, asked = reached.tokens_per_second, reached.asked_tokens_per_second
    if rate and asked and asked / rate < LOW_RATE_USE:
        facts |= {"asked": f"{asked:.0f}", "rate": f"{rate:.0f}", "copies": f"{reached.copies}"}
        findings.append(
            _finding("over-provisioned-rate", path, **facts, use=round(asked / rate, 4))
        )
    return tuple(findings)


def validate_gpu(stated: ServingChoice, everything: ServingChoice, gpu: str) -> tuple[Finding, ...]:
    """A warning where the request names a GPU and another one keeps the same target for less."""
    mine, best = stated.best, everything.best
    if mine is None or best is None or mine.billed_micro_usd is None:
        return ()
    had, least = rank(mine)[1], rank(best)[1]
    if best.billed_micro_usd is None or least >= 0.75 * had:
        return ()
    unit = "USD a run" if mine.usd_per_run is not None else "USD/h"
    if mine.reached.training is not None and mine.usd_per_run is None:
        unit = "USD per million tokens"
    facts = {"gpu": gpu, "had": f"{had:.4g}", "other": best.label, "lower": f"{least:.4g}"}
    facts |= {"share": best.share.label, "unit": unit}
    return (_finding("over-provisioned", "gpu", **facts, found=had, least=least),)


def validate_balance(need: WorkloadNeed, option: Option, path: str = "") -> tuple[Finding, ...]:
    """Processors and memory next to the GPUs. Limits are assumed; what a machine's row does not
    state is not validated."""
    machine, name = option.machine, option.machine.name
    findings: list[Finding] = []
    least, cpus = VCPU_PER_GPU * machine.gpus, machine.vcpu
    if cpus is not None and cpus < least:
        row, gpus = "machine-cpu-short", machine.gpus
        findings = [
            _finding(row, path, machine=name, gpus=gpus, each=VCPU_PER_GPU, found=cpus, limit=least)
        ]
    (wanted, what), memory = _host_memory(need, option), machine.memory_bytes
    if memory is not None and memory < wanted:
        facts = {"machine": name, "what": what, "workload": need.name}
        facts |= {"gib": f"{memory / GIB:.0f}", "wanted": f"{wanted / GIB:.0f}"}
        findings.append(_finding("machine-memory-short", path, **facts, found=memory, limit=wanted))
    return tuple(findings)


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
