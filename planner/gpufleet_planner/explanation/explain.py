"""All numbers of one sizing, or of the option that was chosen for a workload."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine, cache_rule_text, memory_fraction
from gpufleet.models.inference import CUDA_CONTEXT, Serving, serving_ledger
from gpufleet.models.kv_cache import layer_token_bytes, token_bytes
from gpufleet.models.ledger import GIB, Basis, Ledger, modelled, weakest
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.explanation.line import ExplanationLine
from gpufleet_planner.planning.need import Assurance, WorkloadNeed
from gpufleet_planner.planning.option import IDLE_HOURS, Option
from gpufleet_planner.planning.training_choice import link_between
from gpufleet_planner.sizing.cache_capacity import CacheCapacity, capacity
from gpufleet_planner.sizing.communication import Link
from gpufleet_planner.sizing.decode_step import EAGER_DECODE
from gpufleet_planner.sizing.device import Device, DeviceShare
from gpufleet_planner.sizing.serving_rates import ServingSpeed, mean_prompt, serving_speed
from gpufleet_planner.sizing.throughput import EmbeddingSpeed, embedding_ledger, embedding_speed
from gpufleet_planner.sizing.training import Training, training_ledger
from gpufleet_planner.sizing.training_rates import TrainingSpeed, training_speed
from gpufleet_planner.tables import row_of

_PRICING = "docs/planner.md"
_Row = tuple[str, str, str, Basis, str]
"""Figure, value, formula, basis and source."""


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
    cost = _lines("cost", _cost(option))
    if need is None:
        size, device = option.reached.need_bytes, option.share
        formula = f"{(size - CUDA_CONTEXT) / GIB:g} GiB as stated + {CUDA_CONTEXT / GIB:g} GiB"
        row = (
            "to plan with",
            _gib(size),
            f"{formula} context",
            Basis.ASSUMED,
            _source("cuda_context"),
        )
        copies = _copies(option, option.reached.copies, Assurance.EXPECTED)
        memory = ExplanationLine("memory", *row)
        return (memory, *_lines("device", _device(device)), *_lines("choice", copies), *cost)
    work = option.reached.training or _served(need, option)
    across = option.reached.gpus_each > option.machine.gpus
    link = link_between(option.machine) if across else None
    setting = Setting(need.model, work, option.reached.parallel, option.share, link)
    copies = _copies(option, need.replicas, need.confidence)
    return (*explain_setting(setting), *_lines("choice", copies), *cost)


def _source(name: str, of: str = "serving") -> str:
    """Where a formula or constant is from."""
    return row_of("sources", of=of, name=name)["source"]


def _lines(topic: str, rows: Iterator[_Row]) -> Iterator[ExplanationLine]:
    return (ExplanationLine(topic, *row) for row in rows)


def _served(need: WorkloadNeed, option: Option) -> Serving:
    """The serving of the chosen format, with the sequences each copy holds."""
    reached = option.reached
    chosen = next(s for s in need.serving if s.weights.name == reached.precision)
    if not need.model.causal or reached.asked_tokens_per_second is not None:
        return replace(chosen, batch=reached.batch)
    return replace(chosen, batch=min(reached.batch, ceil(chosen.batch / reached.copies)))


def _setting_lines(setting: Setting) -> Iterator[ExplanationLine]:
    model, work, parallel, device = setting.model, setting.work, setting.parallel, setting.device
    yield from _lines("model", _model(model))
    if isinstance(work, Training):
        yield from _lines("memory", _ledger(training_ledger(model, work, parallel), training=True))
    elif model.causal:
        yield from _lines("memory", _cache(model, work, parallel))
        yield from _lines("memory", _ledger(serving_ledger(model, work, parallel)))
    else:
        yield from _lines("memory", _ledger(embedding_ledger(model, work, parallel)))
    if device is None:
        return
    if isinstance(work, Serving) and model.causal:
        room = capacity(model, work, device.usable_bytes, parallel)
        yield from _lines("memory", _capacity(room, work, device, parallel))
    yield from _lines("device", _device(device))
    if isinstance(work, Training):
        pace = training_speed(model, work, device, parallel, setting.link)
        rows = _training(pace, work, device, parallel) if pace else iter(())
    elif model.causal:
        speed = serving_speed(model, work, device, parallel)
        rows = _serving(speed, work, device, parallel) if speed else iter(())
    else:
        passes = embedding_speed(model, work, device, parallel)
        rows = _embedding(passes, work) if passes else iter(())
    yield from _lines("speed", rows)


# -- model and memory ----------------------------------------------------------------------------


def _model(model: Architecture) -> Iterator[_Row]:
    """Parameters, those used per token, and what was assumed about the shape."""
    count, known = count_parameters(model), (model.basis, model.source)
    parts = {
        "attention": count.mixers,
        "feed-forward": count.feed_forward,
        "experts": count.experts,
        "routers": count.router,
        "norms": count.norms,
        "embeddings": count.embeddings,
        "head": count.head,
        "other": count.other,
    }
    formula = " + ".join(f"{size:,} {name}" for name, size in parts.items() if size)
    yield "parameters", f"{count.total:,}", formula, *known
    if count.active != count.total:
        text = "all but the experts a token does not choose"
        yield "active", f"{count.active:,}", text, *known
    for assumption in model.assumptions:
        yield "shape", "assumed", assumption, Basis.ASSUMED, "stated by no one"


def _cache(model: Architecture, serving: Serving, parallel: Parallelism) -> Iterator[_Row]:
    """Bytes of cache one more token takes on one GPU."""
    each = token_bytes(model, serving.kv_cache, parallel.tensor)
    groups = [
        f"{group.count} layers x {float(layer):g} B"
        for group in model.groups
        if (layer := layer_token_bytes(group.mixer, serving.kv_cache, parallel.tensor))
    ]
    formula = f"{' + '.join(groups) or 'no layer caches tokens'} in {serving.kv_cache.name}"
    value, source = f"{float(each):,.0f} B on each GPU", _source("kv_cache")
    yield "cache of one token", value, formula, modelled(model.basis), source


def _ledger(need: Ledger, *, training: bool = False) -> Iterator[_Row]:
    """Every item, the sum, the margin."""
    of = "training" if training else "serving"
    for item in need.items:
        formula = item.formula if item.at_peak else f"{item.formula}; not alive at the peak"
        name = item.key.replace("_", " ")
        yield name, _gib(item.bytes), formula, item.basis, _source(item.key, of)
    alive = " + ".join(f"{i.bytes / GIB:.2f}" for i in need.items if i.at_peak)
    yield "total", _gib(need.total_bytes), alive, need.basis, _source("formulas")
    part, fixed = need.margin.percent, need.margin.fixed_bytes / GIB
    formula = f"{need.total_bytes / GIB:.2f} + {part} % + {fixed:g} GiB"
    yield "to plan with", _gib(need.planning_bytes), formula, Basis.ASSUMED, _source("margin")


def _capacity(
    room: CacheCapacity, serving: Serving, device: Device, parallel: Parallelism
) -> Iterator[_Row]:
    """What is left for the cache, and for how many sequences."""
    taken = "usable memory less everything but the cache"
    if serving.engine is not InferenceEngine.TRANSFORMERS:
        part = memory_fraction(serving.engine, serving.utilisation, device.usable_bytes, parallel)
        taken = cache_rule_text(serving.engine, part, device.usable_bytes)
    known = Basis.MODELLED, _source("kv_cache")
    yield "left for the cache", _gib(room.cache_bytes), taken, *known
    text = f"{room.tokens:,} tokens of cache; {serving.kept_tokens} tokens a sequence on average"
    yield "sequences at once", str(room.sequences), text, *known


def _device(device: Device) -> Iterator[_Row]:
    """What the GPU or share offers."""
    row = f"catalogue, {device.gpu.source.key} of {device.gpu.source.date}"
    formula, source = {
        DeviceShare.WHOLE: ("what the driver reports", row),
        DeviceShare.MIG: ("what the driver reports for the slice", f"{row}; {_source('slices')}"),
        DeviceShare.MPS: ("memory of the GPU / replicas, whole MiB", f"{row}; {_source('mps')}"),
        DeviceShare.TIME_SLICE: ("memory of the GPU / replicas", f"{row}; {_source('turns')}"),
    }[device.kind]
    yield "usable memory", _gib(device.usable_bytes), formula, device.memory_basis, source
    if device.kind is DeviceShare.WHOLE:
        return
    compute, bandwidth = 100 * float(device.compute_share), 100 * float(device.bandwidth_share)
    value = f"{compute:.1f} % of the arithmetic, {bandwidth:.1f} % of the bandwidth"
    cut = device.kind is DeviceShare.MIG
    text = "multiprocessors and memory slots of the slice" if cut else "all sharers busy"
    yield "its part", value, text, Basis.MODELLED if cut else Basis.ASSUMED, source


# -- speed: each time with the work, the rate and the part of it that is reached -------------------


def _serving(
    speed: ServingSpeed, serving: Serving, device: Device, parallel: Parallelism
) -> Iterator[_Row]:
    """First token, token, throughput, saturation."""
    yield from _rates(device, speed.peak_operations, speed.bandwidth_bytes)
    known, reached = f"{_source('prefill')}; {_source('links')}", f"MFU {speed.mfu:g}"
    peak, batch = f"{_tera(speed.peak_operations)}/s", serving.batch
    text = (
        f"{_tera(speed.prompt_operations)} operations of a {mean_prompt(serving):,} token prompt / "
        f"({parallel.prompt_gpus} x {peak} x {reached}) + "
        f"{1000 * speed.prompt_moved_seconds:.1f} ms of communication; idle replica"
    )
    yield "first token", f"{1000 * speed.first_token_seconds:.1f} ms", text, speed.basis, known
    eager = f" x {EAGER_DECODE:g} (eager)" if serving.engine is InferenceEngine.TRANSFORMERS else ""
    opened, started = "", ""
    if speed.step_started_seconds:
        opened = "(" if eager else ""
        started = f" + {1000 * speed.step_started_seconds:.2f} ms to start kernels"
        started += ")" if eager else ""
    text = (
        f"{opened}max({speed.step_read_bytes / 1e9:.2f} GB read / "
        f"({_giga(speed.bandwidth_bytes)}/s x MBU {speed.mbu:g}), {_tera(speed.step_operations)} "
        f"operations / ({max(parallel.tensor, parallel.expert)} x {peak} x {reached}))"
        f"{started}{eager} + {1000 * speed.step_moved_seconds:.2f} ms of communication; "
        f"{batch} sequences, {speed.binding} binds"
    )
    source = f"{_source('decode')}; {known}"
    yield "token", f"{1000 * speed.token_seconds:.2f} ms", text, speed.basis, source
    text = (
        f"of 95 % of the requests, which arrive at random; of {batch} clients that start "
        f"together, as load tests do, {1000 * (speed.together_first_token_seconds or 0):.0f} ms on "
        "average: prompts that come at once are prefilled in groups, as many as fit into a step"
    )
    value = f"{1000 * speed.loaded_first_token_seconds:.0f} ms"
    yield "first token under load", value, text, speed.basis, _source("loads")
    value = f"{speed.tokens_per_second:,.0f} tokens/s"
    text = (
        f"{batch} sequences / (token + prefill of their next prompts per output token + "
        "what the engine's server adds to a step)"
    )
    yield "output of a replica", value, text, speed.basis, _source("prefill")
    value = f"{speed.saturated_tokens_per_second:,.0f} tokens/s at {speed.saturation_sequences}"
    text = "the same at the batch where memory is full or arithmetic takes as long as reading"
    yield "saturated output", value, text, speed.basis, _source("prefill")


def _training(
    speed: TrainingSpeed, job: Training, device: Device, parallel: Parallelism
) -> Iterator[_Row]:
    """Step and throughput."""
    if device.rates is not None and device.rates.memory_bandwidth is not None:
        yield from _rates(device, speed.peak_operations, None)
    each = f"{speed.flops_per_token / 1e9:,.2f} G"
    text = (
        "(2 x active parameters + causal attention) x 3 passes, 2 where the base is frozen, one "
        f"more with full checkpointing (here {job.checkpointing.value})"
    )
    yield "operations of a token", each, text, Basis.MODELLED, _source("formulas")
    group = parallel.tensor * parallel.pipeline * parallel.context
    tokens = job.tokens * job.accumulation
    text = (
        f"{tokens:,} tokens x {each} / ({group} x {_tera(speed.peak_operations)}/s x MFU "
        f"{speed.mfu:.4g}) = {speed.compute_seconds:.3f} s, + {speed.exposed_seconds:.3f} s of "
        f"communication that arithmetic does not hide (of {speed.communication_seconds:.3f} s), + "
        "pipeline bubbles"
    )
    known = f"{_source('training')}; {_source('links')}"
    yield "step", f"{speed.step_seconds:.3f} s", text, speed.basis, known
    value = f"{speed.tokens_per_second:,.0f} tokens/s"
    text = f"{tokens:,} tokens x {parallel.data} data ranks / step"
    yield "training", value, text, speed.basis, _source("training")


def _embedding(speed: EmbeddingSpeed, serving: Serving) -> Iterator[_Row]:
    """One forward pass."""
    known = speed.basis, _source("prefill")
    size = f"{serving.batch} x {serving.context} tokens"
    text = f"{size}, 2 operations a parameter of the layers, MFU {speed.mfu:g}"
    yield "batch", f"{1000 * speed.batch_seconds:.1f} ms", text, *known
    value = f"{speed.tokens_per_second:,.0f} tokens/s"
    yield "input", value, "tokens of a batch / its time", *known


def _rates(device: Device, peak: float, bandwidth: float | None) -> Iterator[_Row]:
    row = f"catalogue, {device.gpu.source.key} of {device.gpu.source.date}, dense rates"
    board = f"{device.board} board" if device.board else "the board"
    part = f" x {float(device.compute_share):.4g} (its part)" if device.compute_share != 1 else ""
    yield "peak", f"{_tera(peak)}/s", board + part, Basis.MEASURED, row
    if bandwidth is not None:
        part = f" x {float(device.bandwidth_share):.4g}" if device.bandwidth_share != 1 else ""
        yield "bandwidth", f"{_giga(bandwidth)}/s", board + part, Basis.MEASURED, row


# -- copies and money ----------------------------------------------------------------------------


def _copies(option: Option, least: int, confidence: Assurance) -> Iterator[_Row]:
    """How many copies, and on how many machines. `least`: copies that were asked for."""
    reached, machine = option.reached, option.machine
    if reached.training is None:
        asked = reached.asked_tokens_per_second
        formula = f"at least {least} as stated"
        if asked and reached.tokens_per_second and reached.tokens_per_second_range:
            each = reached.tokens_per_second / reached.copies
            most = reached.tokens_per_second / reached.tokens_per_second_range[0]
            formula += f", and ceil({asked:,.0f} tokens/s asked / {each:,.0f} of one"
            if confidence is Assurance.WORST:
                formula += f" / {most:g}, the least that published loads leave"
            formula += ")"
        formula += "; as many as hold the stated batch"
        known = Basis.ASSUMED if asked else Basis.MODELLED
        yield "copies", str(reached.copies), formula, known, _PRICING
    text = (
        f"{option.devices} x {option.share.label} on machines of {machine.gpus} GPUs, "
        "nothing else on them"
    )
    yield "machines", f"{option.machines} x {machine.name}", text, Basis.MODELLED, _PRICING


def _cost(option: Option) -> Iterator[_Row]:
    """Price of the machine, the hour, the part, the token, the run."""
    machine, reached, price = option.machine, option.reached, option.machine.usd_per_hour
    if price is None:
        hours = f"{float(option.gpu_hours_per_hour):g} GPU-hours an hour"
        text = f"{option.machines} machines x {machine.gpus} GPUs; no price is known"
        yield "instead of money", hours, text, Basis.MEASURED, _PRICING
        return
    where = f"{machine.buy} in {machine.region}" if machine.region else machine.buy
    listed = machine.price_basis
    yield "machine", f"{price:,.4f} USD/h", where, listed, machine.price_source
    billed = (option.billed_micro_usd or 0) / 1e6
    text = f"{option.machines} x {price:,.4f}, whole machines"
    yield "billed", f"{billed:,.4f} USD/h", text, listed, _PRICING
    part, share = option.part_micro_usd, option.share
    if part is not None and share.kind is not DeviceShare.WHOLE:
        text = (
            f"{price:,.4f} x {option.devices} x {share.part} of a GPU / {machine.gpus} GPUs; of a "
            "slice the larger of compute and memory part"
        )
        yield "its part", f"{part / 1e6:,.4f} USD/h", text, listed, _PRICING
    known, million = weakest((listed, reached.basis)), option.usd_per_million_tokens
    if million is not None:
        done = reached.asked_tokens_per_second or reached.tokens_per_second or 0.0
        text = f"{billed:,.4f} x 10^6 / (3600 x {done:,.0f} tokens/s)"
        yield "million tokens", f"{million:,.4f} USD", text, known, _PRICING
    run, length = option.usd_per_run, reached.run_hours
    if run is not None and length is not None:
        text = "tokens / (tokens per second x 3600)"
        yield "run length", f"{length:,.2f} h", text, reached.basis, _PRICING
        text = f"{billed:,.4f} x ({length:,.2f} + {IDLE_HOURS:.2f} h idle)"
        yield "run", f"{run:,.2f} USD", text, known, _PRICING


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"


def _tera(amount: float) -> str:
    return f"{amount / 1e12:,.2f} T"


def _giga(amount: float) -> str:
    return f"{amount / 1e9:,.0f} GB"
