"""The formulas against published measurements: every row, its tolerance, and the documentation."""

import statistics
from pathlib import Path

import pytest

from gpufleet.catalogue import load
from gpufleet.sizing import Device, Parallelism, Serving, count_parameters, serving_speed, whole_gpu
from tests.unit.sizing.measurements import (
    ROWS,
    Row,
    memory_errors,
    memory_table,
    model,
)
from tests.unit.sizing.speed_measurements import (
    BANDWIDTH,
    MIXTURE,
    SPEEDS,
    SpeedRow,
    mixture_tokens_per_second,
    speed_table,
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
    speed = serving_speed(model(name), Serving(256), device, Parallelism(tensor=gpus))
    assert speed is not None
    ideal = count_parameters(model(name)).total * 2 / (gpus * 2.039e12)
    # The 70B rows use more of the bandwidth than the 0.65 that is planned with.
    assert 0.84 * measured <= ideal / speed.token_seconds <= measured


def test_mixtures_decode_as_measured() -> None:
    errors = [mixture_tokens_per_second(form, gpus) / told - 1 for form, gpus, told in MIXTURE]
    assert statistics.median(map(abs, errors)) <= 0.08
    # int8 over eight boards: 1.6 GB each are read so fast that starting kernels takes longer.
    assert max(map(abs, errors)) <= 0.30
    assert max(map(abs, errors[:-1])) <= 0.16


def test_documentation_shows_these_figures() -> None:
    text = DOCS.read_text(encoding="utf-8")
    missing = [line for line in (*memory_table(), *speed_table()) if line not in text]
    assert missing == [], "paste what python -m tests.unit.sizing.measurements prints"
    for row in ROWS:
        assert not row.why or row.why in text
