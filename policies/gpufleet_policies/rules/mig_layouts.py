"""MIG layouts that leave unusable parts of a GPU."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.cluster import FleetFacts
from gpufleet.cluster.nvidia import MigLayouts
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.checked import MIG_LABEL, selected_layouts
from gpufleet_policies.rules.pool_money import nodes_money, saving, smallest
from gpufleet_policies.rules.pools import gpu_pools
from gpufleet_policies.rules.published import geometry as shape_of
from gpufleet_policies.rules.published import layouts_of
from gpufleet_policies.rules.written import written_rule


@written_rule("mig-layout-strands-slices", (FleetFacts, MigLayouts, NodePool))
def stranded_slices(
    context: RuleContext, subject: FleetFacts | MigLayouts | NodePool
) -> Iterator[Finding]:
    """One violation per distinct layout; mandatory from two slices on one GPU that has room for a
    further instance of the same profiles.

    A layout that a pool's label selects is checked with the pool's GPU. A finding about a layout of
    a mig-parted file that no pool here selects is advice, for every GPU that has its profiles.
    Nothing is reported about NVIDIA's own layouts (`all-...`) and those like them: a file may offer
    unused layouts.
    """
    if isinstance(subject, MigLayouts):
        yield from _validate_configs(context, subject)
        return
    for pool in gpu_pools(context, subject):
        yield from _validate_pool(context, pool)


def _validate_pool(context: RuleContext, pool: NodePool) -> Iterator[Finding]:
    name, shape, compiled = pool.labels.get(MIG_LABEL), shape_of(context, pool), pool.compiled
    layouts = None if name is None or shape is None else layouts_of(context, pool, name)
    where, nodes = f"label {MIG_LABEL}: {name}", smallest(pool)
    if compiled is not None:
        layouts = compiled.layouts
        where = f"{compiled.path}.sharing.mig.layouts of {pool.name}"
        nodes = compiled.expected_nodes
    if layouts is None or shape is None:
        return
    for devices in dict.fromkeys(tuple(sorted(layout.items())) for layout in layouts if layout):
        found = _stranded(shape, dict(devices))
        if found is None:
            continue
        lost, better = found
        alike = sum(dict(layout) == dict(devices) for layout in layouts)
        part = Fraction(lost * alike, shape.compute_slices * len(layouts))
        stops = lost >= 2 and (compiled is None or not _is_full(shape, dict(devices)))
        yield stranded_slices.say(
            where,
            layout=_spelled(dict(devices)),
            alike=alike,
            gpus=len(layouts),
            lost=lost,
            shape=shape,
            alternative=f"partition them into {better}" if better else "use another GPU",
            certain=stops,
            evidence={
                **({"config": name or ""} if compiled is None else {}),
                "devices": dict(devices),
                "stranded": lost,
            },
            money=saving(context, pool, nodes, part, "the part no instance can use"),
        )


def _stranded(shape: MigGeometry, layout: dict[str, int]) -> tuple[int, str] | None:
    """Compute slices a layout strands on a GPU, and a better one; None where it strands none."""
    from gpufleet.partition.nearest import better_layout
    from gpufleet.partition.placement import MigPlacement, place
    from gpufleet.partition.slot_table import slot_table

    placed = place(shape, layout)
    if not isinstance(placed, MigPlacement) or placed.stranded_compute < 1:
        return None
    better = better_layout(shape, slot_table(shape), layout)
    return placed.stranded_compute, "" if better is None else str(better)


def _validate_configs(context: RuleContext, subject: MigLayouts) -> Iterator[Finding]:
    selected = {name for name, _ in selected_layouts(context)}
    for name, entries in subject.layouts.items():
        if name in selected or name.startswith("all-"):
            continue
        for devices in dict.fromkeys(
            tuple(sorted(e.devices.items())) for e in entries if e.enabled and e.devices
        ):
            layout = dict(devices)
            shapes = list(_geometries(context.catalogue, layout))
            found = [_stranded(shape, layout) for shape in shapes]
            if not shapes or any(one is None for one in found):
                continue  # some GPU loses nothing by it
            if any(_is_all_of_one(shape, layout) for shape in shapes):
                continue  # instances of one size, as in NVIDIA's own layouts
            (lost, better), shape = min(
                ((one, shape) for one, shape in zip(found, shapes, strict=True) if one),
                key=lambda pair: pair[0],
            )
            yield stranded_slices.say(
                f"{subject.place} {name}".strip(),
                case="unused",
                profiles=_spelled(layout),
                lost=lost,
                shape=shape,
                name=name,
                layout=layout,
                alternative=f"partition them into {better}" if better else "use another GPU",
            )


def _is_all_of_one(shape: MigGeometry, layout: dict[str, int]) -> bool:
    """The maximum number of instances of one profile on a GPU."""
    return len(layout) == 1 and _is_full(shape, layout)


def _is_full(shape: MigGeometry, layout: dict[str, int]) -> bool:
    """Whether no further instance of any profile of a layout has room: what it strands is the price
    of its instances, and not of an instance that was forgotten."""
    from gpufleet.partition.placement import MigPlacement, place

    more = ({**layout, profile: count + 1} for profile, count in layout.items())
    return not any(isinstance(place(shape, one), MigPlacement) for one in more)


def _geometries(catalogue: Catalogue, layout: dict[str, int]) -> Iterator[MigGeometry]:
    """Shapes of the GPUs that have every profile of a layout, each once."""
    for geometry in catalogue.geometries.values():
        if all(profile in geometry.profiles for profile in layout):
            yield geometry


def _spelled(devices: dict[str, int]) -> str:
    return " + ".join(f"{count} x {profile}" for profile, count in devices.items())


@written_rule("mig-layout-infeasible", NodePool)
def infeasible(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """`gpuPartitionSize` by the sizes of the machine. Layouts of mig-parted are reported by
    mig-layout-impossible, mig-profile-unknown and mig-unsupported.
    """
    for pool in gpu_pools(context, subject):
        size = pool.shared.partition
        if pool.maker is not Maker.GKE or not size.is_known or not pool.instance_types.is_known:
            continue
        row = context.catalogue.instances.get(pool.instance_types.value[0])
        offered = {} if row is None else row.offered_partition_sizes
        if row is None or size.value in offered:
            continue
        sizes = ", ".join(offered)
        yield infeasible.say(
            pool=pool,
            size=size,
            row=row,
            allowed=list(offered),
            limit=f"GKE offers {sizes}" if sizes else "this GPU has no MIG partitions on GKE",
            alternative=f"write one of {sizes}" if sizes else "remove gpuPartitionSize",
            money=nodes_money(context, pool, smallest(pool), AmountKind.WASTE),
        )
