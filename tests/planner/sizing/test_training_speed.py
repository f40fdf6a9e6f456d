"""Speed of training against published runs (training_speeds.py)."""

from statistics import median

import pytest

from gpufleet.catalogue import load
from gpufleet.findings import has_errors
from gpufleet.models.ledger import Basis
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.training import Training
from gpufleet_planner.sizing.training_rates import check_arithmetic, goodput, training_speed
from gpufleet_planner.sizing.training_state import Arithmetic, TrainingFramework
from tests.planner.sizing.measurements import model
from tests.planner.sizing.training_speeds import APART, FITTED, RUNS, SpeedRun, factor

LOOSE = {
    "DeepSeek-V3, pipeline 8, 256 x B200": 1.28,
    "Qwen3-30B-A3B, 16 x H100": 1.26,
    "MPT-30b 8192, 8 x A100-80GB": 1.37,
}
"""Runs that differ by more than 1.25: two mixtures, and micro-batches of one on full memory."""


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.case)
def test_a_published_run_is_within_a_quarter(run: SpeedRun) -> None:
    assert factor(run) <= LOOSE.get(run.case, 1.25)


def test_rows_kept_apart_are_as_near_as_the_others() -> None:
    assert len(APART) >= 20
    assert sum(factor(run) <= 1.25 for run in APART) >= len(APART) - 2
    assert median(factor(run) for run in APART) <= 1.1
    assert median(factor(run) for run in FITTED) <= 1.1


def usd(run: SpeedRun, predicted: bool) -> float:
    """US dollars of a million tokens, by AWS on-demand prices of machines of eight."""
    name = {"A100-80GB": "p4de.24xlarge", "H100-80GB": "p5.48xlarge", "B200": "p6-b200.48xlarge"}
    price = load().instance(name[run.gpu]).on_demand.usd_per_hour
    assert price is not None
    return float(price) / 8 / (run.predicted if predicted else run.measured) / 3600 * 1e6


def pairs() -> list[tuple[SpeedRun, SpeedRun]]:
    """Runs of one job on two GPUs: the same model, context, GPUs, micro-batch and framework."""
    alike: dict[object, list[SpeedRun]] = {}
    for run in RUNS:
        if run.gpus == 8 and run.gpu in ("A100-80GB", "H100-80GB", "B200"):
            job = (run.model, run.context, run.checkpointing, run.fp8, run.megatron, run.compiled)
            alike.setdefault(job, []).append(run)
    return [(a, b) for runs in alike.values() for a in runs for b in runs if a.gpu < b.gpu]


def test_the_cheaper_gpu_of_two_is_named() -> None:
    found = pairs()
    assert {(a.gpu, b.gpu) for a, b in found} == {("A100-80GB", "H100-80GB"), ("B200", "H100-80GB")}
    assert len(found) >= 12
    for one, other in found:
        published = usd(one, False) / usd(other, False)
        computed = usd(one, True) / usd(other, True)
        # Within 10 % of each other neither is the cheaper one.
        if not 0.9 < published < 1.1:
            assert (computed > 1) == (published > 1), (one.case, other.case)


def test_fp8_needs_units_for_it() -> None:
    for name, able in (("A100-80GB", False), ("L40S", True), ("H100", True), ("B200", True)):
        device = whole_gpu(load().find_gpu(name))
        assert isinstance(device, Device)
        assert has_errors(check_arithmetic(device, Arithmetic.FP8)) is not able
        assert not check_arithmetic(device, Arithmetic.BF16)


def test_a_generation_without_runs_is_assumed() -> None:
    job = Training(4096, framework=TrainingFramework.PYTORCH)
    for name, basis in (("H100", Basis.MODELLED), ("B200", Basis.ASSUMED), ("L4", Basis.ASSUMED)):
        device = whole_gpu(load().find_gpu(name))
        assert isinstance(device, Device)
        speed = training_speed(model("Llama-3.1-8B"), job, device)
        assert speed is not None
        assert speed.basis is basis


def test_goodput_of_published_failures() -> None:
    """Llama 3 (arXiv:2407.21783, 3.3.4): 16,384 GPUs, more than 90 % of the time effective with
    checkpoints far more often than hourly; a job of one machine loses next to nothing."""
    assert goodput(8) > 0.999
    assert 0.75 < goodput(16_384) < 0.9


def test_h200_trains_faster_than_h100_by_no_more_than_was_measured() -> None:
    """The same job of torchtitan: 8,532 tokens a second on each of 8 H100, 10,938 and 10,753 on
    each of 32 and 64 H200."""
    runs = {run.case: run for run in RUNS}
    h100 = runs["torchtitan 8B compiled FP8, 8 x H100"]
    for gpus in (32, 64):
        h200 = runs[f"torchtitan 8B compiled FP8, {gpus} x H200"]
        computed = h200.predicted / h100.predicted
        assert 1.1 <= computed <= h200.measured / h100.measured
