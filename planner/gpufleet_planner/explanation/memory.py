"""The model, its ledger and the device, explained."""

from collections.abc import Iterator

from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import (
    InferenceEngine,
    cache_rule_text,
    memory_fraction,
)
from gpufleet.models.inference import Serving
from gpufleet.models.kv_cache import layer_token_bytes, token_bytes
from gpufleet.models.ledger import Basis, Ledger, modelled
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.explanation import sources
from gpufleet_planner.explanation.line import ExplanationLine
from gpufleet_planner.sizing.cache_capacity import CacheCapacity
from gpufleet_planner.sizing.device import Device, DeviceShare

_GIB = 1 << 30


def explain_model(model: Architecture) -> Iterator[ExplanationLine]:
    """Parameters, those used per token, and what was assumed about the shape."""
    count = count_parameters(model)
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
    yield ExplanationLine(
        "model", "parameters", f"{count.total:,}", formula, model.basis, model.source
    )
    if count.active != count.total:
        text = "all but the experts a token does not choose"
        yield ExplanationLine(
            "model", "active", f"{count.active:,}", text, model.basis, model.source
        )
    for assumption in model.assumptions:
        yield ExplanationLine(
            "model", "shape", "assumed", assumption, Basis.ASSUMED, "stated by no one"
        )


def explain_cache(
    model: Architecture, serving: Serving, parallel: Parallelism
) -> Iterator[ExplanationLine]:
    """Bytes of cache one more token takes on one GPU."""
    if not model.causal:
        return
    each = token_bytes(model, serving.kv_cache, parallel.tensor)
    groups = [
        f"{group.count} layers x {float(layer):g} B"
        for group in model.groups
        if (layer := layer_token_bytes(group.mixer, serving.kv_cache, parallel.tensor))
    ]
    yield ExplanationLine(
        "memory",
        "cache of one token",
        f"{float(each):,.0f} B on each GPU",
        f"{' + '.join(groups) or 'no layer caches tokens'} in {serving.kv_cache.name}",
        modelled(model.basis),
        sources.ITEMS["kv_cache"],
    )


def explain_ledger(need: Ledger, *, training: bool) -> Iterator[ExplanationLine]:
    """Every item, the sum, the margin."""
    known = {**sources.ITEMS, **(sources.TRAINING_ITEMS if training else {})}
    for item in need.items:
        name = item.key.replace("_", " ")
        formula = item.formula if item.at_peak else f"{item.formula}; not alive at the peak"
        yield ExplanationLine(
            "memory", name, _gib(item.bytes), formula, item.basis, known[item.key]
        )
    alive = " + ".join(f"{i.bytes / _GIB:.2f}" for i in need.items if i.at_peak)
    yield ExplanationLine(
        "memory", "total", _gib(need.total_bytes), alive, need.basis, sources.FORMULAS
    )
    margin = need.margin
    yield ExplanationLine(
        "memory",
        "to plan with",
        _gib(need.planning_bytes),
        f"{need.total_bytes / _GIB:.2f} + {margin.percent} % + {margin.fixed_bytes / _GIB:g} GiB",
        Basis.ASSUMED,
        sources.MARGIN,
    )


def explain_device(device: Device) -> Iterator[ExplanationLine]:
    """What the GPU or share offers."""
    row = f"catalogue, {device.gpu.source.key} of {device.gpu.source.date}"
    formula, source = {
        DeviceShare.WHOLE: ("what the driver reports", row),
        DeviceShare.MIG: ("what the driver reports for the slice", f"{row}; {sources.SLICES}"),
        DeviceShare.MPS: ("memory of the GPU / replicas, whole MiB", f"{row}; {sources.MPS}"),
        DeviceShare.TIME_SLICE: ("memory of the GPU / replicas", f"{row}; {sources.TURNS}"),
    }[device.share]
    usable = _gib(device.usable_bytes)
    yield ExplanationLine("device", "usable memory", usable, formula, device.memory_basis, source)
    if device.share is not DeviceShare.WHOLE:
        compute, bandwidth = float(device.compute_share), float(device.bandwidth_share)
        yield ExplanationLine(
            "device",
            "its part",
            f"{100 * compute:.1f} % of the arithmetic, {100 * bandwidth:.1f} % of the bandwidth",
            "multiprocessors and memory slots of the slice"
            if device.share is DeviceShare.MIG
            else "all sharers busy",
            Basis.MODELLED if device.share is DeviceShare.MIG else Basis.ASSUMED,
            source,
        )


def explain_capacity(
    room: CacheCapacity, serving: Serving, device: Device, parallel: Parallelism
) -> Iterator[ExplanationLine]:
    """What is left for the cache, and for how many sequences."""
    if serving.engine is InferenceEngine.TRANSFORMERS:
        taken = "usable memory less everything but the cache"
    else:
        part = memory_fraction(serving.engine, serving.utilisation, device.usable_bytes, parallel)
        taken = cache_rule_text(serving.engine, part, device.usable_bytes)
    source = sources.ITEMS["kv_cache"]
    yield ExplanationLine(
        "memory", "left for the cache", _gib(room.cache_bytes), taken, Basis.MODELLED, source
    )
    yield ExplanationLine(
        "memory",
        "sequences at once",
        str(room.sequences),
        f"{room.tokens:,} tokens of cache; {serving.kept_tokens} tokens a sequence on average",
        Basis.MODELLED,
        source,
    )


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f} GiB"
