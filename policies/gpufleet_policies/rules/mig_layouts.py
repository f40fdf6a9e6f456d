"""MIG layouts that leave parts of a GPU nobody can use."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.catalogue import Catalogue, UnknownKeyError
from gpufleet_policies.facts import FleetFacts, PoolFacts
from gpufleet_policies.money import Kind, Money, gpu_hour
from gpufleet_policies.rules.context import Context
from gpufleet_policies.rules.rule import Level, Violation, rule


@rule(
    "mig-layout-strands-slices",
    "A MIG layout that leaves compute slices no instance can ever use.",
    subject=FleetFacts,
    dev=Level.ADVISORY,
    prod=Level.MANDATORY,
    strict=Level.MANDATORY,
    formula="waste = expected nodes x GPU-hour x stranded / compute slices of the GPU x 730 h",
    source="NVIDIA MIG placements of the catalogue",
)
def stranded_slices(context: Context, fleet: FleetFacts) -> Iterator[Violation]:
    """One violation per distinct layout; mandatory from two slices on one GPU."""
    for pool in fleet.pools:
        if pool.stranded_compute > 0:
            yield from _judge_pool(context.catalogue, pool)


def _judge_pool(catalogue: Catalogue, pool: PoolFacts) -> Iterator[Violation]:
    # Geometry needs the spec types; only fleets that do strand something pay for importing them.
    from gpufleet.partition import Placement, place
    from gpufleet.partition.nearest import better_layout
    from gpufleet.partition.slot_table import slot_table

    try:
        geometry = catalogue.gpu(pool.gpu).mig
    except UnknownKeyError:
        return
    if geometry is None:
        return
    for layout in {tuple(sorted(devices.items())) for devices in pool.layouts if devices}:
        devices = dict(layout)
        placed = place(geometry, devices)
        if not isinstance(placed, Placement) or placed.stranded_compute < 1:
            continue
        alike = sum(dict(other) == devices for other in pool.layouts)
        better = better_layout(geometry, slot_table(geometry), devices)
        part = Fraction(placed.stranded_compute, geometry.compute_slices)
        nodes = pool.expected_nodes
        price = gpu_hour(pool)
        yield Violation(
            where=f"{pool.path}.sharing.mig.layouts of {pool.name}",
            found=f"{_spelled(devices)} on {alike} of {pool.gpus_per_node} GPUs strands "
            f"{placed.stranded_compute} of {geometry.compute_slices} compute slices each",
            limit="a layout should leave nothing that no profile fits into",
            alternative=f"cut them into {better}" if better is not None else "use another GPU",
            money=Money(
                Kind.WASTE,
                None if price is None else price * alike * nodes * part,
                part * alike * nodes,
                f"{nodes} expected node(s) of {pool.name}",
            ),
            at_most=Level.MANDATORY if placed.stranded_compute >= 2 else Level.ADVISORY,
            evidence={"devices": devices, "stranded": placed.stranded_compute},
        )


def _spelled(devices: dict[str, int]) -> str:
    return " + ".join(f"{count} x {profile}" for profile, count in devices.items())
