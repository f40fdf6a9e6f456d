"""State of training, sharding and pipelines, against published formulas."""

from dataclasses import astuple

import pytest

from gpufleet.models.parallel import Parallelism, Sharding
from gpufleet.models.parameters import count_parameters
from gpufleet.models.weights import stage_weights, weight_bytes
from gpufleet_planner.sizing.training import Training, TrainingMethod, training_ledger
from gpufleet_planner.sizing.training_state import (
    AdapterTargets,
    Optimizer,
    TrainingPrecision,
    adapter_parameters,
    layer_activations,
    state_bytes,
)
from tests.planner.sizing.measurements import PHI, STABLELM, WEIGHT_FORMATS, model

LLAMA = model("Llama-3.1-8B")
N = count_parameters(LLAMA).total


@pytest.mark.parametrize(
    ("precision", "optimizer", "fused", "total"),
    [
        (TrainingPrecision.FP32, Optimizer.ADAMW, False, 16),
        (TrainingPrecision.MIXED, Optimizer.ADAMW, False, 16),
        (TrainingPrecision.MIXED_FP32_GRADIENTS, Optimizer.ADAMW, False, 18),
        (TrainingPrecision.AMP, Optimizer.ADAMW, False, 16),
        (TrainingPrecision.BF16, Optimizer.ADAMW, False, 8),
        (TrainingPrecision.BF16, Optimizer.ADAMW_8BIT, False, 6),
        (TrainingPrecision.BF16, Optimizer.ADAMW, True, 6),
        (TrainingPrecision.FP32, Optimizer.MOMENTUM, False, 12),
    ],
)
def test_bytes_per_parameter(
    precision: TrainingPrecision, optimizer: Optimizer, fused: bool, total: int
) -> None:
    assert sum(astuple(state_bytes(precision, optimizer, fused=fused))) == total


def state(parallel: Parallelism, precision: TrainingPrecision) -> float:
    """Bytes of state per parameter on one GPU."""
    need = training_ledger(LLAMA, Training(1, precision=precision), parallel)
    keys = ("weights", "master_weights", "gradients", "optimizer")
    return sum(item.bytes for item in need.items if item.key in keys) / N


def test_megatron_distributed_optimizer_is_6_plus_12_over_d() -> None:
    precision = TrainingPrecision.MIXED_FP32_GRADIENTS
    for data in (2, 8, 64):
        found = state(Parallelism(data=data, sharding=Sharding.ZERO1), precision)
        assert found == pytest.approx(6 + 12 / data)
    assert state(Parallelism(data=8), precision) == pytest.approx(18)


def test_zero_stages_divide_more_and_more() -> None:
    precision = TrainingPrecision.MIXED_FP32_GRADIENTS
    found = [state(Parallelism(data=8, sharding=level), precision) for level in Sharding]
    assert found == pytest.approx([18, 6 + 12 / 8, 2 + 16 / 8, 18 / 8])


def test_fsdp_gathers_two_copies_of_the_largest_layer() -> None:
    parallel = Parallelism(data=8, sharding=Sharding.ZERO3)
    need = training_ledger(LLAMA, Training(1), parallel)
    assert need["gathered_layers"].bytes == 4 * count_parameters(LLAMA).largest_layer


def test_a_pipeline_keeps_whole_weights_and_gradients() -> None:
    parallel = Parallelism(pipeline=4, data=8, sharding=Sharding.ZERO3)
    precision = TrainingPrecision.MIXED_FP32_GRADIENTS
    first = (N - LLAMA.vocabulary * LLAMA.hidden * 2 - LLAMA.hidden) / 4
    first += LLAMA.vocabulary * LLAMA.hidden
    expected = first * (6 + 12 / 8) / N
    assert state(parallel, precision) == pytest.approx(expected, rel=1e-3)


def test_first_pipeline_stage_holds_as_much_as_the_whole_model() -> None:
    alone = training_ledger(LLAMA, Training(4096))["activations"].bytes
    piped = training_ledger(LLAMA, Training(4096), Parallelism(pipeline=4))
    assert piped["activations"].bytes == alone
    more = training_ledger(LLAMA, Training(4096, interleaving=2), Parallelism(pipeline=4))
    assert more["activations"].bytes == alone * 11 // 8


def test_sharding_conserves_weights() -> None:
    whole = weight_bytes(LLAMA, WEIGHT_FORMATS["bf16"])
    for parallel in (Parallelism(tensor=8), Parallelism(tensor=2, pipeline=5)):
        stages = stage_weights(LLAMA, whole, parallel)
        assert sum(stages) * parallel.tensor == whole.stored


def test_expert_ranks_share_experts_only() -> None:
    mixture = model("Mixtral-8x7B")
    count = count_parameters(mixture)
    whole = weight_bytes(mixture, WEIGHT_FORMATS["bf16"])
    (one,) = stage_weights(mixture, whole, Parallelism(expert=8))
    assert one == 2 * (count.total - count.experts) + 2 * count.experts / 8


def test_gradients_and_activations_of_one_gpu_do_not_add_up() -> None:
    small = training_ledger(LLAMA, Training(1))
    assert small["gradients"].at_peak
    assert not small["activations"].at_peak
    large = training_ledger(LLAMA, Training(8192, batch=4))
    assert not large["gradients"].at_peak
    assert large["activations"].at_peak
    # Accumulated gradients stay.
    assert training_ledger(LLAMA, Training(8192, accumulation=2))["gradients"].at_peak


def test_activations_of_llama() -> None:
    """51.5 h bytes per token and layer, and less where the feed-forward is frozen."""
    (group,) = LLAMA.groups
    assert sum(astuple(layer_activations(LLAMA, group))) == 51.5 * 4096
    assert sum(astuple(layer_activations(LLAMA, group, frozen_feed_forward=True))) == 42.5 * 4096
    (qwen,) = model("Qwen3-4B").groups
    kept = sum(astuple(layer_activations(model("Qwen3-4B"), qwen)))
    assert kept / (2 * 2560) == pytest.approx(35, abs=1)


def test_adapter_sizes_as_litgpt_prints_them() -> None:
    assert adapter_parameters(PHI, 8, AdapterTargets.QUERY_VALUE) == 1_572_864
    assert adapter_parameters(STABLELM, 8, AdapterTargets.QUERY_VALUE) == 2_097_152


def test_an_adapter_costs_16_bytes_a_parameter() -> None:
    need = training_ledger(LLAMA, Training(1, method=TrainingMethod.LORA, rank=16))
    state = sum(item.bytes for item in need.items if item.key.startswith("adapter_"))
    assert state == 16 * adapter_parameters(LLAMA, 16, AdapterTargets.ALL_LINEAR)
