"""All numbers of one sizing, or of the option that was chosen for a workload."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine, memory_fraction, profile_of
from gpufleet.models.inference import CUDA_CONTEXT, Serving
from gpufleet.models.kv_cache import layer_token_bytes, token_bytes
from gpufleet.models.ledger import GIB, Basis, modelled, weakest
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.planning.need import Assurance, WorkloadNeed
from gpufleet_planner.planning.option import IDLE_HOURS, Option
from gpufleet_planner.planning.training_choice import link_between
from gpufleet_planner.sizing.cache_capacity import capacity
from gpufleet_planner.sizing.communication import Link
from gpufleet_planner.sizing.decode_step import EAGER_DECODE, DecodeStep
from gpufleet_planner.sizing.device import Device, DeviceShare
from gpufleet_planner.sizing.relief import ledger_of
from gpufleet_planner.sizing.serving_rates import mean_prompt, serving_replica
from gpufleet_planner.sizing.throughput import embedding_speed
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.sizing.training_rates import training_speed
from gpufleet_planner.tables import WRITTEN, matching, row_of, table, texts


@dataclass(frozen=True, slots=True)
class ExplanationLine:
    """A number with its formula and where it comes from."""

    topic: str
    """`model`, `memory`, `device`, `speed`, `cost`, `choice`."""
    figure: str
    """Name of the figure: `weights`, `first token`."""
    value: str
    """The number with its unit."""
    formula: str
    """The formula with its numbers; empty: the figure is read, not computed."""
    basis: Basis
    source: str
    """Source of formula or number, with repository or edition and date."""


def _lines(of: str, facts: Mapping[str, Any], **more: Any) -> Iterator[ExplanationLine]:
    """The lines of the rows of a text with these facts."""
    facts = {**facts, **more}
    work = "training" if facts.get("trains") else "serving"
    for row in matching("lines", of, facts):
        parts = (row[part] for part in ("figure", "value", "formula", "basis"))
        figure, value, formula, basis = (WRITTEN.vformat(part, (), facts) for part in parts)
        sources = (_source(WRITTEN.vformat(name, (), facts), work) for name in row["source"])
        topic = of.partition("/")[0]
        yield ExplanationLine(topic, figure, value, formula, Basis(basis), "; ".join(sources))


def _source(name: str, work: str) -> str:
    """Source of a formula or constant; training has some other sources."""
    if all(row["name"] != name for row in table("sources")):
        return name
    return row_of("sources", of=work, name=name)["source"]


def lines_as_text(lines: Sequence[ExplanationLine], indent: str = "") -> str:
    """For people: one number a line, its formula and its source below it."""
    shown: list[str] = []
    topic = ""
    for line in lines:
        if line.topic != topic:
            topic = line.topic
            shown.append(f"{indent}{topic}")
        shown.append(f"{indent}  {line.figure}: {line.value} ({line.basis.value})")
        if line.formula:
            shown.append(f"{indent}    = {line.formula}")
        shown.append(f"{indent}    from {line.source}")
    return "\n".join(shown)


def explain_option(need: WorkloadNeed | None, option: Option) -> tuple[ExplanationLine, ...]:
    """Everything about the option of one workload; `need` None: notebooks, which state memory."""
    reached = option.reached
    if need is None:
        facts = {"reached": reached, "device": option.share, "context": CUDA_CONTEXT / GIB}
        memory = _lines("memory/stated", facts, stated=(reached.need_bytes - CUDA_CONTEXT) / GIB)
        device = _lines(f"device/{option.share.kind.value}", facts)
        return (*memory, *device, *_bought(option, reached.copies, Assurance.EXPECTED))
    work = reached.training or _served(need, option)
    across = reached.gpus_each > option.machine.gpus
    link = link_between(option.machine) if across else None
    setting = explain_setting(need.model, work, reached.parallel, option.share, link)
    return (*setting, *_bought(option, need.allowed.replicas, need.confidence))


def _served(need: WorkloadNeed, option: Option) -> Serving:
    """The serving of the chosen format, with the sequences each copy holds."""
    reached = option.reached
    chosen = next(s for s in need.serving if s.weights.name == reached.precision)
    if not need.model.causal or reached.asked_tokens_per_second is not None:
        return replace(chosen, batch=reached.batch)
    return replace(chosen, batch=min(reached.batch, ceil(chosen.batch / reached.copies)))


def explain_setting(
    model: Architecture,
    work: Serving | Training,
    parallel: Parallelism,
    device: Device | None,
    link: Link | None = None,
) -> Iterator[ExplanationLine]:
    """Model, memory, device and speed of a workload on its hardware. `link`: of training, what
    joins the machines; None: one machine."""
    facts: dict[str, Any] = {"model": model, "work": work, "parallel": parallel, "device": device}
    facts |= {"link": link, "trains": isinstance(work, Training), "count": count_parameters(model)}
    yield from _lines("model", facts, parts=_parameters(model))
    for assumption in model.assumptions:
        yield from _lines("model/assumption", facts, assumption=assumption)
    if isinstance(work, Serving) and model.causal:
        yield from _lines("memory/cache", {**facts, **_cache(model, work, parallel)})
    need = ledger_of(model, work, parallel)
    for item in need.items:
        yield from _lines("memory/item", facts, item=item, name=item.key.replace("_", " "))
    alive = " + ".join(f"{i.bytes / GIB:.2f}" for i in need.items if i.at_peak)
    sizes = {"total": need.total_bytes / GIB, "fixed": need.margin.fixed_bytes / GIB}
    yield from _lines("memory/sum", facts, need=need, alive=alive, **sizes)
    if device is None:
        return
    if isinstance(work, Serving) and model.causal:
        room = capacity(model, work, device.usable_bytes, parallel)
        yield from _lines("memory/room", facts, room=room, taken=_taken(work, device, parallel))
        if work.engine is not InferenceEngine.TRANSFORMERS:
            room = capacity(model, work, device.usable_bytes, parallel, worst=True)
            yield from _lines("memory/worst", facts, room=room)
    yield from _lines(f"device/{device.kind.value}", facts)
    if isinstance(work, Training):
        kind, speed = "training", training_speed(model, work, device, parallel, link)
    elif model.causal:
        replica = serving_replica(model, work, device, parallel)
        kind, speed = "serving", None if replica is None else replica.speed(work.batch)
        facts |= {"replica": replica, "step": replica and replica.step}
    else:
        kind, speed = "embedding", embedding_speed(model, work, device, parallel)
    if speed is None:
        return
    facts["speed"] = speed
    facts |= _times(facts)
    if kind != "embedding":
        yield from _lines("speed/rates", facts, **_shares(device))
    yield from _lines(f"speed/{kind}", facts)


def _parameters(model: Architecture) -> str:
    count = count_parameters(model)
    parts = {"attention": "mixers", "feed-forward": "feed_forward", "routers": "router"}
    names = ("attention", "feed-forward", "experts", "routers", "norms", "embeddings", "head")
    sizes = {name: getattr(count, parts.get(name, name)) for name in (*names, "other")}
    return " + ".join(f"{size:,} {name}" for name, size in sizes.items() if size)


def _cache(model: Architecture, serving: Serving, parallel: Parallelism) -> dict[str, Any]:
    """Formula of the bytes of cache that one more token takes on one GPU."""
    groups = [
        f"{group.count} layers x {float(layer):g} B"
        for group in model.groups
        if (layer := layer_token_bytes(group.mixer, serving.kv_cache, parallel.tensor))
    ]
    each = float(token_bytes(model, serving.kv_cache, parallel.tensor))
    text = " + ".join(groups) or "no layer caches tokens"
    return {"each": each, "groups": text, "known": modelled(model.basis)}


def _taken(serving: Serving, device: Device, parallel: Parallelism) -> str:
    if serving.engine is InferenceEngine.TRANSFORMERS:
        return "usable memory less everything but the cache"
    usable, profile = device.usable_bytes, profile_of(serving.engine)
    part = float(memory_fraction(serving.engine, serving.utilisation, usable, parallel))
    facts = {"usable": usable, "part": part, "before": profile.before_bytes / GIB}
    return next(texts(f"room/{profile.cache_rule.value}", facts))


def _shares(device: Device) -> dict[str, str]:
    """The board, and which part of its rates the device has."""
    shares = device.compute_share, device.bandwidth_share
    computes, reads = (f" x {float(part):.4g}" if part != 1 else "" for part in shares)
    board = f"{device.board} board" if device.board else "the board"
    return {"board": board, "computes": computes and f"{computes} (its part)", "reads": reads}


def _times(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of the computed times."""
    work, parallel, speed = facts["work"], facts["parallel"], facts["speed"]
    if isinstance(work, Training):
        group = parallel.tensor * parallel.pipeline * parallel.context
        tokens, each = work.tokens * work.accumulation, speed.flops_per_token / 1e9
        return {"group": group, "tokens": tokens, "each": each, "peak": speed.peak_operations}
    step: DecodeStep | None = facts.get("step")
    if step is None:
        return {}
    eager = work.engine is InferenceEngine.TRANSFORMERS
    read, operations = step.read_bytes(work.batch), step.operations(work.batch)
    times = {"read": read, "operations": operations, "moved": step.parts(work.batch)[2]}
    served = {"prompt": mean_prompt(work), "eager": eager, "slower": EAGER_DECODE}
    return {**served, **times, "peak": step.rate.peak}


def _bought(option: Option, least: int, confidence: Assurance) -> Iterator[ExplanationLine]:
    """Number of copies, of machines, and their cost: machine, hour, part, token, run.
    `least`: number of requested copies."""
    machine, reached, text = option.machine, option.reached, ""
    asked, rate = reached.asked_tokens_per_second, reached.tokens_per_second
    if asked and rate and (rates := reached.tokens_per_second_range):
        text = f", and ceil({asked:,.0f} tokens/s requested /  {rate / reached.copies:,.0f} of one"
        if confidence is Assurance.WORST:
            text += f" / {rate / rates[0]:g}, the least that published loads leave"
        text += ")"
    facts: dict[str, Any] = {"option": option, "machine": machine, "reached": reached}
    facts["price"] = machine.usd_per_hour
    known = Basis.ASSUMED if asked else Basis.MODELLED
    yield from _lines("choice", facts, least=least, asked=text, known=known)
    yield from _lines(
        "cost",
        facts,
        hours=float(option.gpu_hours_per_hour),
        shared=option.share.kind is not DeviceShare.WHOLE,
        both=weakest((machine.price_basis, reached.basis)),
        done=asked or rate or 0.0,
        idle=IDLE_HOURS,
    )
