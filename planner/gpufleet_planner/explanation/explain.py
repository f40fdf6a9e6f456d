"""All numbers of one sizing, or of the option that was chosen for a workload."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from gpufleet.models.architecture import Architecture
from gpufleet.models.inference import CUDA_CONTEXT, Serving, serving_ledger
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.explanation import sources
from gpufleet_planner.explanation.cost import explain_copies, explain_cost
from gpufleet_planner.explanation.line import ExplanationLine
from gpufleet_planner.explanation.memory import (
    explain_cache,
    explain_capacity,
    explain_device,
    explain_ledger,
    explain_model,
)
from gpufleet_planner.explanation.speed import (
    explain_embedding,
    explain_serving,
    explain_training,
)
from gpufleet_planner.planning.need import WorkloadNeed
from gpufleet_planner.planning.network import link_between
from gpufleet_planner.planning.option import Option
from gpufleet_planner.planning.target import Confidence
from gpufleet_planner.sizing.cache_capacity import capacity
from gpufleet_planner.sizing.communication import Link
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.embedding import embedding_ledger
from gpufleet_planner.sizing.embedding_rates import embedding_speed
from gpufleet_planner.sizing.serving_rates import serving_speed
from gpufleet_planner.sizing.training import Training, training_ledger
from gpufleet_planner.sizing.training_rates import training_speed

_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Setting:
    """What was sized, and on what."""

    model: Architecture
    work: Serving | Training
    parallel: Parallelism
    device: Device | None
    link: Link | None = None
    """Training: what joins the machines; None: one machine."""


def explain_setting(setting: Setting) -> tuple[ExplanationLine, ...]:
    """Model, memory, device and speed."""
    return tuple(_setting_lines(setting))


def explain_option(need: WorkloadNeed | None, option: Option) -> tuple[ExplanationLine, ...]:
    """Everything about the option of one workload; `need` None: notebooks, which state memory."""
    if need is None:
        return tuple(_notebook_lines(option))
    work = option.reached.training or _served(need, option)
    across = option.reached.gpus_each > option.machine.gpus
    link = link_between(option.machine) if across else None
    setting = Setting(need.model, work, option.reached.parallel, option.share.device, link)
    return (
        *explain_setting(setting),
        *explain_copies(option, need.replicas, need.confidence),
        *explain_cost(option),
    )


def _served(need: WorkloadNeed, option: Option) -> Serving:
    """The serving of the chosen format, with the sequences each copy holds."""
    reached = option.reached
    chosen = next(s for s in need.serving if s.weights.name == reached.precision)
    if not need.model.causal or reached.asked_tokens_per_second is not None:
        return replace(chosen, batch=reached.batch)
    return replace(chosen, batch=min(reached.batch, ceil(chosen.batch / reached.copies)))


def _setting_lines(setting: Setting) -> Iterator[ExplanationLine]:
    model, work, parallel, device = setting.model, setting.work, setting.parallel, setting.device
    yield from explain_model(model)
    if isinstance(work, Training):
        yield from explain_ledger(training_ledger(model, work, parallel), training=True)
        if device is not None:
            yield from explain_device(device)
            pace = training_speed(model, work, device, parallel, setting.link)
            if pace is not None:
                yield from explain_training(pace, work, device, parallel)
        return
    if not model.causal:
        yield from explain_ledger(embedding_ledger(model, work, parallel), training=False)
        if device is not None:
            yield from explain_device(device)
            passes = embedding_speed(model, work, device, parallel)
            if passes is not None:
                yield from explain_embedding(passes, work)
        return
    yield from explain_cache(model, work, parallel)
    yield from explain_ledger(serving_ledger(model, work, parallel), training=False)
    if device is not None:
        room = capacity(model, work, device.usable_bytes, parallel)
        yield from explain_capacity(room, work, device, parallel)
        yield from explain_device(device)
        speed = serving_speed(model, work, device, parallel)
        if speed is not None:
            yield from explain_serving(speed, work, device, parallel)


def _notebook_lines(option: Option) -> Iterator[ExplanationLine]:
    need = option.reached.need_bytes
    yield ExplanationLine(
        "memory",
        "to plan with",
        f"{need / _GIB:.2f} GiB",
        f"{(need - CUDA_CONTEXT) / _GIB:g} GiB as stated + {CUDA_CONTEXT / _GIB:g} GiB context",
        Basis.ASSUMED,
        sources.ITEMS["cuda_context"],
    )
    yield from explain_device(option.share.device)
    yield from explain_copies(option, option.reached.copies, Confidence.EXPECTED)
    yield from explain_cost(option)
