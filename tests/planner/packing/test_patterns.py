from gpufleet.catalogue import load
from gpufleet.partition.placement import PlacedInstance
from gpufleet_planner.packing.slots import maximal_patterns

SEVEN = load().geometries["A100-80GB"]
FOUR = load().geometries["A30-24GB"]


def plain(geometry) -> frozenset[str]:
    return frozenset(name for name, p in geometry.profiles.items() if not p.attributes)


def test_patterns_come_from_the_placements() -> None:
    assert len(maximal_patterns(SEVEN, plain(SEVEN))) == 28
    assert len(maximal_patterns(SEVEN, plain(SEVEN) - {"1g.20gb"})) == 12
    assert len(maximal_patterns(FOUR, plain(FOUR))) == 4


def test_patterns_beside_an_instance_use_what_is_left() -> None:
    there = (PlacedInstance("1g.10gb", 2, 1),)
    assert maximal_patterns(SEVEN, frozenset({"3g.40gb", "4g.40gb"}), there) == ((("3g.40gb", 1),),)
    assert maximal_patterns(SEVEN, frozenset({"7g.80gb"}), there) == ()
