"""`size`: one request -> model, ledger, device, fit, capacity and speed, with all findings."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from gpufleet.catalogue import Catalogue
from gpufleet.findings import Finding, findings_in, has_errors, ordered
from gpufleet.models.architecture import Architecture
from gpufleet.models.engine_profile import InferenceEngine, memory_fraction
from gpufleet.models.formats import (
    WEIGHT_FORMATS,
    KvFormat,
    WeightFormat,
    find_kv_format,
    find_weight_format,
)
from gpufleet.models.inference import Serving
from gpufleet.models.ledger import GIB, Ledger
from gpufleet.models.parallel import Parallelism, check_parallelism
from gpufleet_planner.sizing.cache_capacity import (
    CacheCapacity,
    capacity,
    not_known,
    refusal_of,
    starts,
    unsure,
)
from gpufleet_planner.sizing.communication import Link, LinkKind, network
from gpufleet_planner.sizing.device import (
    Device,
    DeviceShare,
    find_gpu,
    mig_slice,
    mps_share,
    time_slice,
    whole_gpu,
)
from gpufleet_planner.sizing.model_choice import ChosenModel, choose_model
from gpufleet_planner.sizing.relief import ledger_of, relief
from gpufleet_planner.sizing.request import (
    SizedWorkload,
    SizeRequest,
    check_expert_span,
    find_workload,
)
from gpufleet_planner.sizing.serving_rates import ServingSpeed, serving_replica
from gpufleet_planner.sizing.throughput import EmbeddingSpeed, check_capability, embedding_speed
from gpufleet_planner.sizing.training import Training, TrainingMethod
from gpufleet_planner.sizing.training_state import Loss

if TYPE_CHECKING:
    from gpufleet_planner.sizing.load_test import LoadFigures
    from gpufleet_planner.sizing.training_rates import TrainingSpeed

_finding = findings_in(__file__)


def choose_device(
    request: SizeRequest, catalogue: Catalogue
) -> tuple[Device | None, tuple[Finding, ...]]:
    """The device of a request: its GPU, then its MIG profile, then sharing on top. None without a
    GPU, or with the errors that explain it."""
    if request.gpu is None:
        asked = [
            name
            for name in ("mig", "mps", "time_slicing", "board")
            if getattr(request, name) is not None
        ]
        if asked:
            return None, (_finding("gpu-missing", asked=" and ".join(asked)),)
        return None, ()
    gpu = find_gpu(request.gpu, catalogue)
    if isinstance(gpu, Finding):
        return None, (gpu,)
    notes: tuple[Finding, ...] = ()
    found: Device | Finding | None
    if request.mig is not None:
        found, notes = mig_slice(gpu, request.mig, request.board)
    else:
        found = whole_gpu(gpu, request.board)
    if isinstance(found, Device) and request.mps is not None:
        found = mps_share(found, request.mps)
    if isinstance(found, Device) and request.time_slicing is not None:
        found = time_slice(found, request.time_slicing)
    if isinstance(found, Finding):
        return None, (*notes, found)
    return found, notes


def check_group(
    device: Device | None, parallel: Parallelism, workload: SizedWorkload | None
) -> tuple[Finding, ...]:
    """An error where several processes of one replica or job would have to communicate from slices
    or shares: MIG instances have no peer-to-peer, and processes of a shared GPU are scheduled
    separately."""
    if device is None or device.kind is DeviceShare.WHOLE or workload is None:
        return ()
    gpus = parallel.training_gpus if workload.trains else parallel.serving_gpus
    if gpus == 1:
        return ()
    return (_finding("share-cannot-communicate", value=gpus, limit=1, device=device.label),)


_ALONE = Parallelism()
QLORA_BASE = WEIGHT_FORMATS["nf4-double"]
"""Default format of QLoRA's frozen base."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """The result of one request. Parts are None where a finding explains it."""

    model: Architecture | None
    ledger: Ledger | None
    device: Device | None
    gpus: int
    """GPUs of one replica or of the whole training job."""
    fits: bool | None
    """Whether the need with its margin is at most the usable memory and the engine starts; None
    without a device, or where that is not known."""
    capacity: CacheCapacity | None
    """Serving on a device: what is left for the cache."""
    speed: "ServingSpeed | TrainingSpeed | EmbeddingSpeed | None"
    findings: tuple[Finding, ...]
    work: Serving | Training | None = None
    """The request with every default filled in."""
    parallel: Parallelism = _ALONE
    link: Link | None = None
    """Network between training's data ranks, where the request states it."""
    load_test: "LoadFigures | None" = None
    """The modelled result of the request's load test."""
    worst_capacity: CacheCapacity | None = None
    """`capacity` with the least room that public starts leave."""


def size(request: SizeRequest, catalogue: Catalogue) -> Sizing:
    """Size one workload. Never raises for an invalid request: findings report all errors."""
    findings: list[Finding] = []
    workload, chosen, cache = request_parts(request, catalogue, findings)
    weights = _keep(_weight_format(request, chosen, workload), findings)
    device, notes = choose_device(request, catalogue)
    findings += notes
    parallel = Parallelism(**request.parallelism.model_dump())
    if chosen is not None and workload is not None:
        findings += check_parallelism(chosen.architecture, parallel, training=workload.trains)
        if not workload.trains:
            inside = 8 if request.network is None else request.network.gpus_per_node
            findings += check_expert_span(parallel.expert, inside, "parallelism.expert")
    findings += check_group(device, parallel, workload)
    findings += validate_load_test(request, workload, device)
    if chosen is None or workload is None or weights is None or cache is None:
        return _refused(chosen, device, findings)
    if device is not None:
        findings += check_capability(device, weights)
        if workload.trains:
            # Jobs alone need it.
            from gpufleet_planner.sizing.training_rates import check_arithmetic

            findings += check_arithmetic(device, request.arithmetic)
    model = chosen.architecture if request.images else chosen.architecture.language_part
    findings += context_rules(model, request, workload)
    if has_errors(findings):
        return _refused(chosen, device, findings)
    if workload.trains:
        work: Training | Serving = training_of(request, workload, weights)
    else:
        work = serving_of(request, chosen, weights, cache)
    if workload is SizedWorkload.EMBEDDING:
        model = replace(model, causal=False, has_head=False)
    return _answer(model, work, request, device, parallel, findings)


def request_parts(
    request: SizeRequest, catalogue: Catalogue, findings: list[Finding]
) -> tuple[SizedWorkload | None, ChosenModel | None, KvFormat | None]:
    """Workload, model and cache that a request names; None with a finding that explains it."""
    workload = _keep(find_workload(request.workload), findings)
    found = choose_model(request.model, catalogue, request.active_parameters)
    findings += found.findings if isinstance(found, ChosenModel) else found
    chosen = found if isinstance(found, ChosenModel) else None
    return workload, chosen, _keep(find_kv_format(request.kv_cache), findings)


def serving_of(
    request: SizeRequest, chosen: ChosenModel, weights: WeightFormat, cache: KvFormat
) -> Serving:
    """The serving part of a request, in one weight format."""
    measured = request.images and chosen.weight_format == weights.name
    return Serving(
        context=request.context,
        batch=request.batch,
        prompt_tokens=request.prompt,
        output_tokens=request.output,
        engine=request.engine,
        weights=weights,
        kv_cache=cache,
        head_apart=bool(chosen.head_apart) and request.engine is InferenceEngine.TRANSFORMERS,
        stored_bytes=chosen.stored_bytes if measured else None,
        utilisation=None if request.utilisation is None else Fraction(request.utilisation),
        batched_tokens=request.batched_tokens,
        max_sequences=max(request.max_sequences, request.batch),
        chunked_prefill=request.chunked_prefill,
        # Transformers captures none: its speed is that without them.
        graphs=request.graphs or request.engine is InferenceEngine.TRANSFORMERS,
    )


_Part = TypeVar("_Part")


def _keep(found: _Part | Finding, findings: list[Finding]) -> _Part | None:
    if isinstance(found, Finding):
        findings.append(found)
        return None
    return found


def _refused(chosen: ChosenModel | None, device: Device | None, findings: list[Finding]) -> Sizing:
    model = None if chosen is None else chosen.architecture
    return Sizing(model, None, device, 0, None, None, None, ordered(findings))


def _weight_format(
    request: SizeRequest, chosen: ChosenModel | None, workload: SizedWorkload | None
) -> WeightFormat | Finding:
    if request.weights is not None:
        return find_weight_format(request.weights)
    if workload is SizedWorkload.QLORA:
        return QLORA_BASE
    if chosen is None or workload is None:
        return WEIGHT_FORMATS["bf16"]
    return WEIGHT_FORMATS[chosen.default_weights(workload) or "bf16"]


def context_rules(
    model: Architecture, request: SizeRequest, workload: SizedWorkload
) -> Iterator[Finding]:
    """Errors of lengths in a request that contradict each other, a warning of an unused engine."""
    if model.max_context is not None and request.context > model.max_context:
        yield _finding(
            "context-beyond-model",
            value=request.context,
            limit=model.max_context,
            model=model.name,
        )
    if workload.trains and "engine" in request.model_fields_set:
        yield _finding("engine-unused", value=request.engine, workload=workload)
    if (request.prompt is None) != (request.output is None) and not workload.trains:
        yield _finding("mean-length-incomplete")
    asked = (request.prompt or 0) + (request.output or 0)
    if asked > request.context and not workload.trains:
        yield _finding("mean-beyond-context", value=request.context, limit=asked)


def validate_load_test(
    request: SizeRequest, workload: SizedWorkload | None, device: Device | None
) -> Iterator[Finding]:
    """Inputs of a load test that the request does not have."""
    if request.load_test is None:
        return
    if workload is not None and workload is not SizedWorkload.INFERENCE:
        yield _finding("load-test-not-followed/answers", workload=workload)
    if request.engine is InferenceEngine.TRANSFORMERS:
        yield _finding("load-test-not-followed/transformers")
    if request.gpu is None:
        yield _finding("load-test-not-followed/gpu")
    elif device is not None and device.rates is None:
        yield _finding("load-test-not-followed/rates", gpu=device.gpu.key)
    missing = [name for name in ("prompt", "output") if getattr(request, name) is None]
    yield from (_finding("load-test-not-followed/mean", name, name=name) for name in missing)
    if request.load_test.rate is not None and request.load_test.clients is not None:
        yield _finding("load-test-not-followed/both")


def training_of(request: SizeRequest, workload: SizedWorkload, weights: WeightFormat) -> Training:
    """The training part of a request."""
    loss = request.loss or (Loss.COMPILED if request.compile else Loss.EAGER)
    base = QLORA_BASE if workload is SizedWorkload.QLORA and request.weights is None else weights
    adapter = workload in (SizedWorkload.LORA, SizedWorkload.QLORA)
    alike = SizeRequest.model_fields.keys() & {one.name for one in fields(Training)} - {"loss"}
    return Training(
        **{name: getattr(request, name) for name in alike},
        method=TrainingMethod.LORA if adapter else TrainingMethod.FULL,
        compiled=request.compile,
        loss=loss,
        base=base,
    )


_SMALLER = {
    True: "shorten context or batch, divide the state (data ranks, zero3), or take a larger GPU",
    False: "quantise, shorten context or batch, add GPUs, or take a larger one",
}
"""Whether it trains -> what is left where no single step suffices."""


def _answer(
    model: Architecture,
    work: Training | Serving,
    request: SizeRequest,
    device: Device | None,
    parallel: Parallelism,
    findings: list[Finding],
) -> Sizing:
    trains, asked, link = isinstance(work, Training), request.network, None
    need = ledger_of(model, work, parallel)
    room = worst = speed = tested = None
    if trains and asked is not None and asked.kind not in (LinkKind.NVLINK, LinkKind.PCIE):
        link = network(asked.kind, asked.gigabits_per_second, asked.gpus_per_node)
    if device is None:
        pass
    elif isinstance(work, Training):
        from gpufleet_planner.sizing.training_rates import training_speed

        speed = training_speed(model, work, device, parallel, link)
        if device.kind in (DeviceShare.MPS, DeviceShare.TIME_SLICE):
            findings.append(_finding("training-on-shared-gpu", device=device.label))
    elif not model.causal:
        speed = embedding_speed(model, work, device, parallel)
    elif not_known(model, work.engine) is None:
        room = capacity(model, work, device.usable_bytes, parallel)
        if work.engine is not InferenceEngine.TRANSFORMERS:
            worst = capacity(model, work, device.usable_bytes, parallel, worst=True)
        replica = serving_replica(model, work, device, parallel)
        if replica is not None:
            speed = replica.speed(work.batch)
            if request.load_test is not None and replica.room:
                tested = replica.tested(request.load_test)
    fits = None if device is None else need.planning_bytes <= device.usable_bytes
    if device is not None and not fits:
        findings.append(
            _finding(
                "does-not-fit",
                fix=relief(model, work, parallel, device) or _SMALLER[trains],
                need=need.planning_bytes,
                limit=device.usable_bytes,
                need_gib=f"{need.planning_bytes / GIB:.2f}",
                device=device.label,
                usable_gib=f"{device.usable_bytes / GIB:.2f}",
            )
        )
    if isinstance(work, Serving) and model.causal and device is not None:
        fits = _starts(model, work, parallel, device, room, fits, findings)
        if fits and worst and (note := unsure(model, work, worst)):
            findings.append(note)
    gpus = parallel.training_gpus if trains else parallel.serving_gpus
    reported = ordered(findings)
    return Sizing(
        model, need, device, gpus, fits, room, speed, reported, work, parallel, link, tested, worst
    )


def _starts(
    model: Architecture,
    serving: Serving,
    parallel: Parallelism,
    device: Device,
    room: CacheCapacity | None,
    fits: bool | None,
    findings: list[Finding],
) -> bool | None:
    """Whether an engine starts, and holds the batch at once; None: not known."""
    if room is not None and (refusal := refusal_of(model, serving, room)) is not None:
        fits = False
        findings.append(refusal)
    if fits and room is not None and room.sequences < serving.batch:
        fits, part, usable = False, "", device.usable_bytes
        if serving.engine is not InferenceEngine.TRANSFORMERS:
            taken = memory_fraction(serving.engine, serving.utilisation, usable, parallel)
            part = f" at utilisation {float(taken):.2f}"
        findings.append(
            _finding(
                "cache-too-small",
                value=serving.batch,
                limit=room.sequences,
                device=device.label,
                kept_tokens=serving.kept_tokens,
                part=part,
            )
        )
    return starts(model, serving, room, findings) if fits else fits
