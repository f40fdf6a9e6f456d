"""Grant of one unit of a resource. Figures: nvidia-smi and the device plugin's MPS daemon."""

from fractions import Fraction

import pytest

from gpufleet.catalogue import load
from gpufleet.partition.grant import Division, grant, slice_part

GPUS = load().gpus
L40S, A100 = GPUS["L40S"], GPUS["A100-40GB"]
MIB = 1 << 20


def test_a_whole_gpu_has_all_its_memory() -> None:
    one = grant(L40S, 4)
    assert (one.resource, one.per_node, one.part) == ("nvidia.com/gpu", 4, 1)
    assert one.memory_bytes == one.most_bytes == one.device_bytes == L40S.memory_bytes
    assert (one.is_enforced, one.is_whole_gpu) == (True, True)


def test_mps_divides_memory_evenly_and_enforces_it() -> None:
    one = grant(L40S, 1, division=Division(10, is_mps=True, rename=True))
    assert L40S.memory_bytes is not None
    assert one.memory_bytes == one.most_bytes == L40S.memory_bytes // MIB // 10 * MIB
    assert (one.resource, one.per_node, one.part) == ("nvidia.com/gpu.shared", 10, Fraction(1, 10))
    assert (one.is_enforced, one.threads_percent) == (True, 10)


def test_time_slicing_has_no_limit_but_the_device() -> None:
    one = grant(L40S, 1, division=Division(10))
    assert L40S.memory_bytes is not None
    assert one.memory_bytes == L40S.memory_bytes // 10
    assert one.most_bytes == L40S.memory_bytes
    assert not one.is_enforced


def test_a_slice_has_its_own_memory_and_turns_on_it_share_that() -> None:
    one = grant(A100, 7, profile="1g.5gb")
    assert (one.resource, one.most_bytes) == ("nvidia.com/mig-1g.5gb", 4864 * MIB)
    turns = grant(A100, 7, profile="1g.5gb", division=Division(2))
    assert (turns.memory_bytes, turns.most_bytes) == (2432 * MIB, 4864 * MIB)


def test_compute_instances_share_the_memory_of_their_gpu_instance() -> None:
    one = grant(A100, 3, profile="1c.3g.20gb", tenants=3)
    whole = grant(A100, 1, profile="3g.20gb")
    assert whole.memory_bytes is not None
    assert (one.memory_bytes, one.most_bytes) == (whole.memory_bytes // 3, whole.memory_bytes)


@pytest.mark.parametrize(
    ("profile", "part"),
    [
        (None, Fraction(1)),
        ("1g.5gb", Fraction(1, 7)),
        ("3g.20gb", Fraction(1, 2)),
        ("1c.3g.20gb", Fraction(1, 6)),
        ("9g.9gb", Fraction(1)),
    ],
)
def test_the_part_is_what_others_can_no_longer_have(profile: str | None, part: Fraction) -> None:
    """The larger of compute (of 7 slices) and memory (of 8 slots)."""
    assert slice_part(A100, profile) == part


def test_what_is_not_known_stays_so() -> None:
    one = grant(None, 2, division=Division(4))
    assert (one.gpu, one.memory_bytes, one.most_bytes, one.per_node) == ("", None, None, 8)
