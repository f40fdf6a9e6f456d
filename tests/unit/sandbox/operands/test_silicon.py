"""Cutting a GPU: the search by orders against an exhaustive search over start slots."""

from collections import Counter
from functools import cache
from itertools import product

import pytest

from gpufleet_sandbox.operands.boards import BOARDS, Board
from gpufleet_sandbox.operands.silicon import (
    GpuState,
    MigDevice,
    PlacementError,
    cut,
    states_as_data,
    states_from_data,
)

A100_40 = BOARDS["NVIDIA A100-SXM4-40GB"]
A100 = BOARDS["NVIDIA A100-SXM4-80GB"]
H100 = BOARDS["NVIDIA H100 80GB HBM3"]
A30 = BOARDS["NVIDIA A30"]
RTX = BOARDS["NVIDIA RTX PRO 6000 Blackwell Server Edition"]


def fits_somewhere(board: Board, counts: tuple[int, ...]) -> bool:
    """Whether any choice of starts holds the instances: slots by sets, engines by sums."""
    for budget, used in (
        (board.compute_slices, [s.compute for s in board.shapes]),
        (board.decoders, [s.decoders for s in board.shapes]),
        (board.flow_units, [s.flow_units for s in board.shapes]),
    ):
        if sum(n * each for n, each in zip(counts, used, strict=True)) > budget:
            return False

    @cache
    def place(left: tuple[int, ...], taken: frozenset[int]) -> bool:
        index = next((i for i, n in enumerate(left) if n), None)
        if index is None:
            return True
        shape = board.shapes[index]
        rest = (*left[:index], left[index] - 1, *left[index + 1 :])
        return any(
            not taken & set(range(start, start + shape.width))
            and place(rest, taken | set(range(start, start + shape.width)))
            for start in shape.starts
        )

    return place(counts, frozenset())


@pytest.mark.parametrize(
    "board",
    [H100, A100, A30],
    ids=lambda board: board.product,
)
def test_every_multiset_is_decided_as_by_exhaustive_search(board: Board) -> None:
    feasible = 0
    for counts in product(*(range(shape.most + 1) for shape in board.shapes)):
        wanted = {s.name: n for s, n in zip(board.shapes, counts, strict=True) if n}
        try:
            devices = cut(board, wanted)
        except PlacementError:
            possible = False
        else:
            possible = True
            assert Counter(d.profile for d in devices) == Counter(wanted)
            slots = [
                slot
                for d in devices
                for slot in range(d.start, d.start + board.shape(d.profile).width)  # type: ignore[union-attr]
            ]
            assert len(slots) == len(set(slots))
            assert all(d.start in board.shape(d.profile).starts for d in devices)  # type: ignore[union-attr]
        assert possible == fits_somewhere(board, counts), wanted
        feasible += possible
    assert feasible > 10


@pytest.mark.parametrize(
    ("board", "wanted"),
    [
        (A100, {"1g.10gb": 7}),
        (A100, {"3g.40gb": 1, "4g.40gb": 1}),
        (A100, {"1g.10gb": 1, "2g.20gb": 1, "4g.40gb": 1}),
        (A100, {"1g.10gb+me": 1, "1g.10gb": 6}),
        (A100_40, {"1g.10gb": 4}),
        (A30, {"1g.6gb": 2, "2g.12gb": 1}),
        (RTX, {"1g.24gb+gfx": 2, "2g.48gb": 1}),
        (RTX, {"1g.24gb+me.all": 1, "1g.24gb-me": 3}),
        (A100, {"1c.3g.40gb": 3, "4g.40gb": 1}),
        (A100, {"2c.4g.40gb": 2}),
        (A100, {}),
    ],
)
def test_layouts_the_hardware_holds(board: Board, wanted: dict[str, int]) -> None:
    assert Counter(d.profile for d in cut(board, wanted)) == Counter(wanted)


@pytest.mark.parametrize(
    ("board", "wanted", "reason"),
    [
        (A100, {"3g.40gb": 2, "1g.10gb": 1}, "all orderings failed"),
        (A100, {"1g.10gb": 3, "2g.20gb": 1, "3g.40gb": 1}, "all orderings failed"),
        (A100, {"1g.10gb": 8}, "8 devices on 7 slices"),
        (A100, {"4g.40gb": 1, "2g.20gb": 2}, "all orderings failed"),
        (A100, {"1g.10gb+me": 2}, "all orderings failed"),
        (A100, {"1g.5gb": 7}, "no profile 1g.5gb on NVIDIA A100-SXM4-80GB"),
        (A100_40, {"1g.10gb": 7}, "all orderings failed"),
        (BOARDS["NVIDIA B200"], {"2g.40gb": 1}, "it has 1g.23gb"),
        (A30, {"1g.6gb+me": 1, "2g.12gb+me": 1}, "all orderings failed"),
        (RTX, {"1g.24gb+me.all": 1, "1g.24gb": 1}, "all orderings failed"),
        (A100, {"3c.4g.40gb": 1}, "cannot hold a compute instance of 3 slices"),
    ],
)
def test_layouts_the_hardware_refuses(board: Board, wanted: dict[str, int], reason: str) -> None:
    with pytest.raises(PlacementError, match=reason):
        cut(board, wanted)


def test_compute_instances_share_their_gpu_instance() -> None:
    devices = cut(A100, {"1c.3g.40gb": 3, "3g.40gb": 1})
    shared = {d.gpu_instance for d in devices if d.profile == "1c.3g.40gb"}
    whole = {d.gpu_instance for d in devices if d.profile == "3g.40gb"}
    assert len(shared) == len(whole) == 1
    assert shared != whole


def test_a_compute_instance_of_full_size_is_the_plain_profile() -> None:
    assert [d.profile for d in cut(A100, {"3c.3g.40gb": 1})] == ["3g.40gb"]


def test_states_survive_the_annotation() -> None:
    states = (GpuState(), GpuState(True, cut(A100, {"1g.10gb": 2, "3g.40gb": 1})))
    assert states_from_data(states_as_data(states), 2) == states


@pytest.mark.parametrize("data", [None, [], [{}], "x", [{"migEnabled": True, "devices": [{}]}]])
def test_an_unreadable_annotation_is_a_new_node(data: object) -> None:
    assert states_from_data(data, 2) == (GpuState(), GpuState())


def test_device_names() -> None:
    device = MigDevice("1c.3g.40gb", 0, 4)
    assert (device.shape_name, device.whole_instance) == ("3g.40gb", False)
