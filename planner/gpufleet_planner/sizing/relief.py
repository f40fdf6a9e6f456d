"""The cheapest change that makes a workload fit, tried on the ledger itself."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from gpufleet.findings import has_errors
from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.inference import Serving, serving_ledger
from gpufleet.models.ledger import GIB, Ledger
from gpufleet.models.parallel import Parallelism, check_parallelism
from gpufleet_planner.sizing.cache_capacity import capacity
from gpufleet_planner.sizing.communication import nvlink
from gpufleet_planner.sizing.device import Device, DeviceShare
from gpufleet_planner.sizing.throughput import check_capability, embedding_ledger
from gpufleet_planner.sizing.training import Training, TrainingMethod, training_ledger
from gpufleet_planner.sizing.training_state import Checkpointing, Loss

_NARROWER = ("fp8", "awq-int4")
"""Formats to try, the one with least loss of quality first."""


def relief(
    model: Architecture, work: Training | Serving, parallel: Parallelism, device: Device
) -> str | None:
    """The change that makes it fit the device, with its need then; None: no change here suffices.

    Training: chunked loss, selective, then full checkpointing, then a 4-bit base under an adapter.
    Serving: FP8 weights, then 4-bit weights of another checkpoint, where the GPU runs them, then
    more whole GPUs of a machine.
    """
    steps: Iterator[tuple[str, Training | Serving, Parallelism]]
    if isinstance(work, Training):
        steps = ((text, job, parallel) for text, job in _jobs(work))
    else:
        formats = ((text, serving, parallel) for text, serving in _formats(work, device))
        steps = chain(formats, _spread(model, work, parallel, device))
    for text, changed, split in steps:
        need = ledger_of(model, changed, split).planning_bytes
        fits = need <= device.usable_bytes
        if fits and isinstance(changed, Serving) and model.causal:
            # An engine has to hold the batch in the part of the GPU that it takes.
            fits = capacity(model, changed, device.usable_bytes, split).sequences >= changed.batch
        if fits:
            return f"{text}: {need / GIB:.2f} GiB with margin"
    return None


def ledger_of(model: Architecture, work: Training | Serving, parallel: Parallelism) -> Ledger:
    """Memory of the fullest GPU: of a training step, of a forward pass of an encoder, or of a
    replica that generates."""
    if isinstance(work, Training):
        return training_ledger(model, work, parallel)
    return (serving_ledger if model.causal else embedding_ledger)(model, work, parallel)


def _jobs(job: Training) -> Iterator[tuple[str, Training]]:
    here, said = job, list[str]()
    if job.loss is not Loss.CHUNKED:
        here = replace(here, loss=Loss.CHUNKED)
        said.append("`loss: chunked`")
        yield f"write {said[0]}", here
    for level in (Checkpointing.SELECTIVE, Checkpointing.FULL):
        if list(Checkpointing).index(level) <= list(Checkpointing).index(job.checkpointing):
            continue
        here = replace(here, checkpointing=level)
        yield f"write {' and '.join([*said, f'`checkpointing: {level.value}`'])}", here
    if here.checkpointing is not job.checkpointing:
        said.append(f"`checkpointing: {here.checkpointing.value}`")
    if job.method is TrainingMethod.LORA and not job.base.quantised:
        said.append("`workload: qlora`")
        yield f"write {' and '.join(said)}", replace(here, base=WEIGHT_FORMATS["nf4-double"])


def _formats(serving: Serving, device: Device) -> Iterator[tuple[str, Serving]]:
    for name in _NARROWER:
        form = WEIGHT_FORMATS[name]
        findings = check_capability(device, form)
        narrower = form.bytes_per_parameter < serving.weights.bytes_per_parameter
        if narrower and not has_errors(findings):
            yield f"write `weights: {name}`", replace(serving, weights=form, stored_bytes=None)


def _spread(
    model: Architecture, serving: Serving, parallel: Parallelism, device: Device
) -> Iterator[tuple[str, Serving, Parallelism]]:
    """The same on 2, 4 or 8 whole GPUs: tensor groups over NVLink, else stages beyond two."""
    if device.kind is not DeviceShare.WHOLE or parallel.serving_gpus > 1:
        return
    linked = nvlink(device.gpu, device.board) is not None
    for gpus in (2, 4, 8):
        wide = linked or gpus == 2
        kind = "tensor" if wide else "pipeline"
        split = Parallelism(tensor=gpus) if wide else Parallelism(pipeline=gpus)
        if not has_errors(check_parallelism(model, split)):
            yield f"write `parallelism: {{{kind}: {gpus}}}`", serving, split
