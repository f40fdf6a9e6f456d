import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufleet_vcenter.specs import mmio_gib


@pytest.mark.parametrize(
    ("frame_buffers", "expected"),
    [
        ([24], 64),
        ([40], 128),
        ([48], 128),
        ([80], 256),
        ([94], 256),
        ([96], 256),
        ([141], 512),
        ([16, 16], 64),
        ([16, 16, 16], 64),
        ([48, 48], 256),
        ([80] * 8, 2048),
    ],
)
def test_published_figures(frame_buffers: list[int], expected: int) -> None:
    assert mmio_gib(frame_buffers) == expected


@given(st.lists(st.integers(1, 300), min_size=1, max_size=16))
def test_a_power_of_two_with_room_for_every_bar(frame_buffers: list[int]) -> None:
    window = mmio_gib(frame_buffers)
    assert window & (window - 1) == 0
    assert window > sum(frame_buffers)


def test_no_gpu_is_no_window() -> None:
    with pytest.raises(ValueError, match="at least 1 GB each"):
        mmio_gib([])
