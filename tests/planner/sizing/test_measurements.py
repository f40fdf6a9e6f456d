"""The formulas against published measurements: every row, its tolerance, and the documentation."""

import statistics
from pathlib import Path

import pytest

from gpufleet.catalogue import load
from gpufleet.models.formats import WEIGHT_FORMATS
from gpufleet.models.inference import Serving
from gpufleet.models.parallel import Parallelism
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.sizing.decode_step import DecodeStep
from gpufleet_planner.sizing.device import Device, whole_gpu
from gpufleet_planner.sizing.serving_rates import serving_replica
from tests.planner.sizing.measured_page import PAGE, text
from tests.planner.sizing.measurements import (
    ROWS,
    Row,
    memory_errors,
    model,
)
from tests.planner.sizing.speed_measurements import (
    BANDWIDTH,
    LATENT,
    MIXTURE,
    SPEEDS,
    SpeedRow,
    latent_token_ms,
    mixture_tokens_per_second,
)

DOCS = Path(__file__).parents[3] / "docs" / "sizing.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.case)
def test_memory_is_as_measured(row: Row) -> None:
    assert abs(row.error) <= row.tolerance, f"{row.predicted:.2f} for {row.measured}"


def test_median_error_of_memory() -> None:
    median, mean = memory_errors()
    assert median <= 0.015
    assert mean <= 0.03


def test_every_row_is_within_ten_percent_or_explained() -> None:
    assert [row.case for row in ROWS if abs(row.error) > 0.10 and not row.why] == []
    assert sum(row.tolerance > 0.10 for row in ROWS) == 1


@pytest.mark.parametrize("row", SPEEDS, ids=lambda row: row.case)
def test_saturated_throughput_is_as_measured(row: SpeedRow) -> None:
    assert abs(row.error) <= 0.105, f"{row.predicted:.0f} for {row.measured}"


@pytest.mark.parametrize(("name", "gpus", "measured"), BANDWIDTH)
def test_bandwidth_use_falls_with_tensor_parallelism(name: str, gpus: int, measured: float) -> None:
    device = whole_gpu(load().gpu("A100-80GB"))
    assert isinstance(device, Device)
    replica = serving_replica(model(name), Serving(256), device, Parallelism(tensor=gpus))
    speed = None if replica is None else replica.speed(1)
    assert speed is not None
    ideal = count_parameters(model(name)).total * 2 / (gpus * 2.039e12)
    # The 70B rows use more of the bandwidth than the 0.65 that is planned with.
    assert 0.84 * measured <= ideal / speed.token_seconds <= measured


def test_mixtures_decode_as_measured() -> None:
    errors = [mixture_tokens_per_second(form, gpus) / told - 1 for form, gpus, told in MIXTURE]
    assert statistics.median(map(abs, errors)) <= 0.05
    assert max(map(abs, errors)) <= 0.13


@pytest.mark.parametrize(("batch", "prompt", "output", "least", "most"), LATENT)
def test_latent_attention_decodes_as_measured(
    batch: int, prompt: int, output: int, least: float, most: float
) -> None:
    token = latent_token_ms(batch, prompt, output)
    assert 0.86 * least <= token <= 1.16 * most
    assert f"| {token:.1f} |" in DOCS.read_text(encoding="utf-8")


def test_a_batch_touches_fewer_experts_than_its_tokens_choose() -> None:
    # 32 tokens choose 8 of 256 experts each: 163 different ones on average, not all.
    device = whole_gpu(load().find_gpu("H200-141GB"))
    assert isinstance(device, Device)
    step = _deepseek_step(device)
    whole = step.read_bytes(1 << 20) - (1 << 20) * step.sequence_bytes
    touched = step.read_bytes(32) - 32 * step.sequence_bytes
    experts = 256 * 58 * step.expert_bytes
    assert (touched - (whole - experts)) / experts == pytest.approx(0.638, abs=0.001)


def _deepseek_step(device: Device) -> DecodeStep:
    serving = Serving(4096, weights=WEIGHT_FORMATS["fp8"])
    replica = serving_replica(model("DeepSeek-R1"), serving, device, Parallelism(tensor=8))
    assert replica is not None
    return replica.step


def test_the_page_has_these_figures() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), "run make generate"
