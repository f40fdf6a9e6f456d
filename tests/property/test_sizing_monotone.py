"""Never less memory for more context, batch, precision or parameters, in any request."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpufleet.catalogue import load
from gpufleet.models.architecture import Architecture
from gpufleet.models.formats import KV_FORMATS, WEIGHT_FORMATS
from gpufleet.models.inference import InferenceEngine, Serving, serving_ledger
from gpufleet.models.parallel import Parallelism, Sharding, check_parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet.models.stated_size import from_parameter_count
from gpufleet.models.weights import stage_weights, weight_bytes
from gpufleet_planner.sizing.cache_capacity import capacity
from gpufleet_planner.sizing.throughput import embedding_ledger
from gpufleet_planner.sizing.training import Training, TrainingMethod, training_ledger
from gpufleet_planner.sizing.training_state import (
    AdapterTargets,
    Checkpointing,
    Loss,
    Optimizer,
    TrainingPrecision,
)
from tests.planner.sizing.measurements import model

CATALOGUE = load()
MODELS = {name: model(name) for name in CATALOGUE.models}
WIDER = [(form.name, form.wider) for form in WEIGHT_FORMATS.values() if form.wider]

models = st.sampled_from(list(MODELS.values())) | st.integers(10**7, 10**12).map(
    from_parameter_count
)
tokens = st.integers(1, 1 << 18)
degrees = st.sampled_from((1, 2, 4, 8))


@st.composite
def servings(draw: st.DrawFn) -> Serving:
    return Serving(
        context=draw(tokens),
        batch=draw(st.integers(1, 4096)),
        engine=draw(st.sampled_from(InferenceEngine)),
        weights=draw(st.sampled_from(list(WEIGHT_FORMATS.values()))),
        kv_cache=draw(st.sampled_from(list(KV_FORMATS.values()))),
        batched_tokens=draw(st.sampled_from((512, 8192))),
        chunked_prefill=draw(st.booleans()),
    )


@st.composite
def trainings(draw: st.DrawFn) -> Training:
    return Training(
        context=draw(st.integers(1, 1 << 16)),
        batch=draw(st.integers(1, 64)),
        method=draw(st.sampled_from(TrainingMethod)),
        precision=draw(st.sampled_from(TrainingPrecision)),
        optimizer=draw(st.sampled_from(Optimizer)),
        fused_optimizer=draw(st.booleans()),
        accumulation=draw(st.integers(1, 4)),
        checkpointing=draw(st.sampled_from(Checkpointing)),
        compiled=draw(st.booleans()),
        loss=draw(st.sampled_from(Loss)),
        base=draw(st.sampled_from(list(WEIGHT_FORMATS.values()))),
        rank=draw(st.sampled_from((8, 64))),
        targets=draw(st.sampled_from(AdapterTargets)),
    )


@st.composite
def spreads(draw: st.DrawFn, model: Architecture, *, training: bool) -> Parallelism:
    parallel = Parallelism(
        tensor=draw(degrees),
        pipeline=draw(degrees),
        expert=draw(degrees) if model.is_mixture else 1,
        context=draw(degrees),
        data=draw(degrees) if training else 1,
        sharding=draw(st.sampled_from(Sharding)) if training else Sharding.NONE,
        sequence=draw(st.booleans()),
    )
    findings = check_parallelism(model, parallel, training=training)
    assume(not any(finding.severity == "error" for finding in findings))
    return parallel


@given(st.data(), models, servings(), tokens, st.integers(0, 4096))
def test_serving_grows_with_context_and_batch(
    data: st.DataObject, model: Architecture, serving: Serving, context: int, batch: int
) -> None:
    parallel = data.draw(spreads(model, training=False))
    more = replace(serving, context=serving.context + context, batch=serving.batch + batch)
    small = serving_ledger(model, serving, parallel)
    assert small.total_bytes <= serving_ledger(model, more, parallel).total_bytes
    assert small.total_bytes == sum(item.bytes for item in small.items)
    assert small.planning_bytes > small.total_bytes


@given(st.data(), models, trainings(), st.integers(0, 1 << 16), st.integers(0, 64))
def test_training_grows_with_context_and_batch(
    data: st.DataObject, model: Architecture, training: Training, context: int, batch: int
) -> None:
    parallel = data.draw(spreads(model, training=True))
    more = replace(training, context=training.context + context, batch=training.batch + batch)
    small, large = (training_ledger(model, job, parallel) for job in (training, more))
    assert small.total_bytes <= large.total_bytes
    assert small.total_bytes == sum(item.bytes for item in small.items if item.at_peak)


@given(models, servings(), st.sampled_from(WIDER))
def test_serving_grows_with_precision(
    model: Architecture, serving: Serving, pair: tuple[str, str]
) -> None:
    narrow, wide = (
        serving_ledger(model, replace(serving, weights=WEIGHT_FORMATS[name])) for name in pair
    )
    assert narrow.total_bytes <= wide.total_bytes + 1
    for small, large in (("fp8", "bf16"), ("nvfp4", "fp8"), ("bf16", "fp32")):
        narrow, wide = (
            serving_ledger(model, replace(serving, kv_cache=KV_FORMATS[name]))
            for name in (small, large)
        )
        assert narrow.total_bytes <= wide.total_bytes


@given(models, trainings())
def test_training_grows_with_precision_and_falls_with_thrift(
    model: Architecture, training: Training
) -> None:
    def need(**changes: object) -> int:
        return training_ledger(model, replace(training, **changes)).total_bytes

    order = (
        TrainingPrecision.BF16,
        TrainingPrecision.MIXED,
        TrainingPrecision.MIXED_FP32_GRADIENTS,
    )
    by_precision = [need(precision=precision) for precision in order]
    assert by_precision == sorted(by_precision)
    assert need(precision=TrainingPrecision.BF16) <= need(precision=TrainingPrecision.FP32)
    assert need(compiled=True) <= need(compiled=False)
    assert need(checkpointing=Checkpointing.SELECTIVE) <= need(checkpointing=Checkpointing.NONE)
    by_loss = [need(loss=loss) for loss in (Loss.CHUNKED, Loss.COMPILED, Loss.EAGER)]
    assert by_loss == sorted(by_loss)
    by_moment = [need(optimizer=o) for o in (Optimizer.ADAMW_8BIT, Optimizer.ADAMW)]
    assert by_moment == sorted(by_moment)


@given(servings(), trainings(), st.integers(10**6, 10**12), st.integers(0, 10**12))
def test_memory_grows_with_parameters(
    serving: Serving, training: Training, parameters: int, more: int
) -> None:
    small, large = (from_parameter_count(n) for n in (parameters, parameters + more))
    assert count_parameters(small).total == parameters
    for account in (
        lambda model: serving_ledger(model, serving),
        lambda model: embedding_ledger(model, serving),
        lambda model: training_ledger(model, training),
    ):
        assert account(small).total_bytes <= account(large).total_bytes


@given(st.data(), models, st.sampled_from(list(WEIGHT_FORMATS.values())), st.booleans())
def test_sharding_conserves(
    data: st.DataObject, model: Architecture, form: object, training: bool
) -> None:
    assert form in WEIGHT_FORMATS.values()
    parallel = replace(data.draw(spreads(model, training=training)), expert=1)
    whole = weight_bytes(model, WEIGHT_FORMATS["bf16"])
    stages = stage_weights(model, whole, parallel, training=training)
    tower = Fraction(model.tower_parameters * 2)
    held = whole.other if training else whole.other - tower
    copies = (held + whole.replicated) * (parallel.tensor - 1)
    if whole.head == 0 and parallel.pipeline > 1 and model.has_head:
        copies += whole.embeddings
    assert sum(stages) * parallel.tensor == (
        whole.layers + whole.experts + whole.embeddings + whole.head + whole.other + copies
    )


@given(st.data(), models, trainings())
def test_more_ranks_never_need_more(
    data: st.DataObject, model: Architecture, training: Training
) -> None:
    """Optimizer state of all data-parallel ranks together is that of one, at every stage."""
    parallel = replace(data.draw(spreads(model, training=True)), pipeline=1)
    job = replace(training, method=TrainingMethod.FULL)
    levels = (Sharding.NONE, Sharding.ZERO1, Sharding.ZERO2)
    by_level = [
        training_ledger(model, job, replace(parallel, data=8, sharding=level)).total_bytes
        for level in levels
    ]
    assert by_level == sorted(by_level, reverse=True)


@given(models, servings(), st.integers(1 << 30, 300 << 30), st.integers(0, 300 << 30))
def test_room_grows_with_the_gpu(
    model: Architecture, serving: Serving, usable: int, more: int
) -> None:
    small, large = (capacity(model, serving, n) for n in (usable, usable + more))
    assert small.cache_bytes <= large.cache_bytes
    assert small.tokens <= large.tokens
    assert small.sequences <= large.sequences


@settings(max_examples=30)
@given(st.sampled_from(list(MODELS.values())), servings())
def test_what_fits_has_room_for_what_was_asked(model: Architecture, serving: Serving) -> None:
    engine = replace(serving, engine=InferenceEngine.VLLM)
    need = serving_ledger(model, engine)
    enough = -(-need.total_bytes * 100 // 92) + 100
    room = capacity(model, engine, enough)
    # Blocks of all groups of layers may need more than the bytes: the engine's reason is reported.
    in_blocks = (
        room.needed_bytes is not None and room.cache_bytes < engine.batch * room.needed_bytes
    )
    assert room.sequences >= engine.batch or in_blocks


def test_a_ledger_refuses_negative_bytes() -> None:
    from gpufleet.models.ledger import Basis, Item

    with pytest.raises(ValueError, match="weights: -1 bytes"):
        Item("weights", -1, Basis.MODELLED, "")
