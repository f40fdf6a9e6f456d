"""Statements of common sizing texts that are wrong, and the figures that are right."""

from dataclasses import astuple
from fractions import Fraction

import pytest

from gpufleet.catalogue import load
from gpufleet.models.formats import KV_FORMATS
from gpufleet.models.inference import Serving, serving_ledger
from gpufleet.models.kv_cache import token_bytes
from gpufleet.models.parameters import count_parameters
from gpufleet.models.stated_size import from_parameter_count
from gpufleet_planner.sizing.device import Device, time_slice, whole_gpu
from gpufleet_planner.sizing.request import SizeRequest
from gpufleet_planner.sizing.sized import size
from gpufleet_planner.sizing.training import Training, TrainingMethod, training_ledger
from gpufleet_planner.sizing.training_state import (
    AdapterTargets,
    Checkpointing,
    Loss,
    TrainingPrecision,
    state_bytes,
)
from tests.planner.sizing.measurements import GB, WEIGHT_FORMATS, dense, model

CATALOGUE = load()


def gpu(key: str) -> Device:
    found = whole_gpu(CATALOGUE.find_gpu(key))
    assert isinstance(found, Device)
    return found


def fits(name: str, key: str, **more: object) -> bool:
    request = SizeRequest.model_validate({"model": name, "context": 2048, "gpu": key, **more})
    answer = size(request, CATALOGUE)
    assert answer.fits is not None, answer.findings
    return answer.fits


def test_1_a_billion_parameters_are_two_gigabytes() -> None:
    need = serving_ledger(from_parameter_count(10**9), Serving(16))
    assert need["weights"].bytes == 2 * GB


def test_2_adam_keeps_8_bytes_in_both_precisions_and_a_master_copy() -> None:
    assert state_bytes(TrainingPrecision.FP32).optimizer == 8
    mixed = state_bytes(TrainingPrecision.MIXED)
    assert (mixed.optimizer, mixed.master) == (8, 4)
    assert state_bytes(TrainingPrecision.BF16).optimizer == 4


def test_3_no_activation_is_quadratic_in_hidden() -> None:
    def activations(hidden: int) -> int:
        shape = dense("x", 4, hidden, hidden // 128, 4 * hidden, 1000)
        return training_ledger(shape, Training(1024))["activations"].bytes

    assert activations(4096) == 2 * activations(2048)


def test_4_the_cache_of_8b_is_16_times_the_quoted_one() -> None:
    quoted = 2 * 32 * 128
    assert token_bytes(model("Llama-3.1-8B"), KV_FORMATS["bf16"]) == 16 * quoted


@pytest.mark.parametrize(
    ("precision", "gigabytes"),
    [
        (TrainingPrecision.MIXED, 112),
        (TrainingPrecision.MIXED_FP32_GRADIENTS, 126),
        (TrainingPrecision.BF16, 56),
    ],
)
def test_5_state_of_seven_billion(precision: TrainingPrecision, gigabytes: int) -> None:
    need = training_ledger(from_parameter_count(7 * GB), Training(1, precision=precision))
    state = {"weights", "master_weights", "gradients", "optimizer"}
    assert sum(i.bytes for i in need.items if i.key in state) == gigabytes * GB


def test_6_h100_and_h200_do_989_teraflops_dense() -> None:
    for key in ("H100-80GB", "H200-141GB"):
        rates = CATALOGUE.gpu(key).rates["sxm"]
        assert rates.bf16 == 989 * 10**12


def test_9_thirteen_billion_do_not_fit_l4_nor_seventy_an_a100_40() -> None:
    assert not fits("Llama-2-13B", "L4")
    assert fits("Llama-2-13B", "L4", weights="awq-int4")
    assert not fits("Llama-3.1-70B", "A100-40GB")
    assert fits("17B", "A100-40GB")
    assert not fits("20B", "A100-40GB")


def test_10_seventy_billion_need_no_tensor_parallelism_when_quantised() -> None:
    assert fits("Llama-3.1-70B", "H200", weights="fp8")
    assert fits("Llama-3.1-70B", "A100-80GB", weights="awq-int4")
    assert not fits("Llama-3.1-70B", "H200")
    assert fits("Llama-3.1-70B", "H200", parallelism={"tensor": 2})


def test_11_full_tuning_of_3b_is_too_much_for_l4_and_lora_is_not() -> None:
    job = {"context": 4096, "checkpointing": "full", "loss": "chunked", "batch": 2}
    full = {**job, "workload": "full-fine-tuning", "precision": "bf16"}
    assert not fits("Llama-3.2-3B", "L4", **full)
    assert fits("Llama-3.2-3B", "L4", **{**job, "workload": "lora"})
    assert fits("Qwen2.5-7B", "L4", **{**job, "workload": "qlora", "batch": 1})


def test_11_full_tuning_of_70b_takes_16_cards_of_80_gb() -> None:
    need = count_parameters(model("Llama-3.1-70B")).total * 16
    assert 1.1e12 < need < 1.3e12
    job = {
        "workload": "full-fine-tuning",
        "checkpointing": "full",
        "loss": "chunked",
        "context": 4096,
    }
    for gpus, enough in ((8, False), (16, False), (24, True)):
        parallel = {"data": gpus, "sharding": "zero3"}
        assert fits("Llama-3.1-70B", "A100-80GB", parallelism=parallel, **job) is enough


def test_11_qlora_puts_65b_on_48_gb() -> None:
    """LLaMA-65B, rank 16, with margin below 48 GB."""
    shape = dense("LLaMA-65B", 80, 8192, 64, 22016, 32000)
    job = Training(
        512,
        method=TrainingMethod.LORA,
        base=WEIGHT_FORMATS["nf4-double"],
        rank=16,
        targets=AdapterTargets.ALL_LINEAR,
        checkpointing=Checkpointing.FULL,
        loss=Loss.EAGER,
    )
    assert training_ledger(shape, job).planning_bytes < 48 * GB


def test_12_training_state_is_four_to_nine_times_the_weights_and_one_with_lora() -> None:
    totals = [sum(astuple(state_bytes(precision))) for precision in TrainingPrecision]
    assert (min(totals) / 2, max(totals) / 2) == (4, 9)
    llama = model("Llama-3.1-8B")
    lora = training_ledger(llama, Training(1, method=TrainingMethod.LORA))
    assert lora.total_bytes < 1.15 * 2 * count_parameters(llama).total


def test_18_ten_replicas_of_llama_1b_exceed_an_l4_and_five_fit() -> None:
    llama = model("Llama-3.2-1B")
    # With 256 sequences the sampler alone takes 1.2 GiB: small shares serve fewer.
    need = serving_ledger(llama, Serving(2048, max_sequences=64))
    assert need["weights"].bytes == pytest.approx(2.47 * GB, rel=0.002)
    for replicas, enough in ((5, True), (10, False)):
        share = time_slice(gpu("L4"), replicas)
        assert isinstance(share, Device)
        assert not share.grant.is_enforced
        assert (need.planning_bytes <= share.usable_bytes) is enough


def test_24_a_1g_slice_has_14_of_108_multiprocessors_and_an_eighth_of_memory() -> None:
    answer = size(
        SizeRequest.model_validate(
            {"model": "Llama-3.2-1B", "context": 512, "gpu": "A100-80", "mig": "1g.10gb"}
        ),
        CATALOGUE,
    )
    device = answer.device
    assert device is not None
    assert device.compute_share == Fraction(14, 108)
    assert device.bandwidth_share == Fraction(1, 8)
    assert device.usable_bytes == 9728 << 20
