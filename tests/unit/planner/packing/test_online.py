import random

import pytest

from gpufleet.catalogue import load
from gpufleet.partition import PlacedInstance, Placement, place
from gpufleet.planner.packing.online import OnlineFleet, Spot

GEOMETRY = load().geometries["A100-80GB"]
NAMES = ("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")


def test_small_instances_leave_the_start_of_large_ones_free() -> None:
    fleet = OnlineFleet(GEOMETRY, [1])
    spot = fleet.arrive("1g.10gb")
    assert spot is not None
    assert spot.start == 6
    assert fleet.arrive("4g.40gb") == Spot(0, (0,), "4g.40gb", 0)


def test_whole_nodes_stay_whole() -> None:
    fleet = OnlineFleet(GEOMETRY, [4, 4])
    assert fleet.arrive_whole(2) == Spot(0, (0, 1))
    seven = fleet.arrive("7g.80gb")
    assert seven is not None
    assert seven.node == 0
    assert fleet.arrive_whole(4) == Spot(1, (0, 1, 2, 3))
    assert fleet.arrive_whole(2) is None


def test_every_placement_is_legal_and_nothing_moves() -> None:
    chance = random.Random(11)
    fleet = OnlineFleet(GEOMETRY, [2, 2])
    live: list[Spot] = []
    for _ in range(600):
        if live and chance.random() < 0.45:
            fleet.leave(live.pop(chance.randrange(len(live))))
        elif chance.random() < 0.1:
            spot = fleet.arrive_whole(chance.randint(1, 2))
            live += [spot] if spot else []
        else:
            spot = fleet.arrive(chance.choice(NAMES))
            live += [spot] if spot else []
        used = 0
        for node in range(2):
            for gpu in range(2):
                here = [s for s in live if s.node == node and gpu in s.gpus]
                if any(s.profile is None for s in here):
                    assert len(here) == 1
                    used += GEOMETRY.compute_slices
                    continue
                placed = [
                    PlacedInstance(s.profile, s.start, GEOMETRY.profiles[s.profile].memory_slots)
                    for s in here
                ]
                answer = place(GEOMETRY, {}, placed)
                assert isinstance(answer, Placement), answer
                used += answer.used_compute
        assert fleet.used_compute == used


def test_a_refusal_means_that_no_gpu_has_room() -> None:
    fleet = OnlineFleet(GEOMETRY, [1, 1])
    assert all(fleet.arrive("3g.40gb") for _ in range(4))
    assert fleet.arrive("3g.40gb") is None
    assert fleet.arrive("1g.10gb") is None


def test_what_is_there_counts() -> None:
    fleet = OnlineFleet(GEOMETRY, [1])
    fleet.occupy(0, 0, [PlacedInstance("1g.10gb", 0, 1)])
    assert fleet.arrive("4g.40gb") is None
    assert fleet.arrive("3g.40gb") == Spot(0, (0,), "3g.40gb", 4)
    with pytest.raises(ValueError, match="GPU 0 of node 0 is in use"):
        fleet.occupy(0, 0, [])


def test_leaving_twice_is_an_error() -> None:
    fleet = OnlineFleet(GEOMETRY, [1])
    spot = fleet.arrive("1g.10gb")
    assert spot is not None
    fleet.leave(spot)
    with pytest.raises(ValueError, match=r"no 1g.10gb at 6 on GPU 0 is there"):
        fleet.leave(spot)
    with pytest.raises(ValueError, match="no whole-GPU share"):
        fleet.leave(Spot(0, (0,)))
