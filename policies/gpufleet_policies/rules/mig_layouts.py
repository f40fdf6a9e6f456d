"""MIG between layouts, operators and workloads: unusable slices, names that match nothing."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.catalogue.gpu import MigGeometry
from gpufleet.cluster import FleetFacts, WorkloadFacts
from gpufleet.cluster.container import MIG_PREFIX, SHARED_SUFFIX
from gpufleet.cluster.nvidia import MigLayouts
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.checked import MIG_LABEL
from gpufleet_policies.rules.pool_money import nodes_money, saving, smallest
from gpufleet_policies.rules.pools import all_pools, gpu_pools
from gpufleet_policies.rules.published import geometry as shape_of
from gpufleet_policies.rules.published import layout_name, layouts_of, strategy
from gpufleet_policies.rules.purpose import serving
from gpufleet_policies.rules.written import written_rule


@written_rule("mig-layout-strands-slices", (FleetFacts, NodePool))
def stranded_slices(context: RuleContext, subject: FleetFacts | NodePool) -> Iterator[Finding]:
    """One violation per distinct layout; mandatory from two slices on one GPU that has room for a
    further instance of the same profiles.

    A layout that a pool's label selects is checked with the pool's GPU. Silent for layouts that no
    pool here selects: a file may offer unused layouts.
    """
    for pool in gpu_pools(context, subject):
        name, shape, compiled = pool.labels.get(MIG_LABEL), shape_of(context, pool), pool.compiled
        layouts = None if name is None or shape is None else layouts_of(context, pool, name)
        where, nodes = f"label {MIG_LABEL}: {name}", smallest(pool)
        if compiled is not None:
            layouts = compiled.layouts
            where = f"{compiled.path}.sharing.mig.layouts of {pool.name}"
            nodes = compiled.expected_nodes
        if layouts is None or shape is None:
            continue
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
                layout=" + ".join(f"{count} x {profile}" for profile, count in devices),
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


def _is_full(shape: MigGeometry, layout: dict[str, int]) -> bool:
    """Whether no further instance of any profile of a layout has room: what it strands is the price
    of its instances, and not of an instance that was forgotten."""
    from gpufleet.partition.placement import MigPlacement, place

    more = ({**layout, profile: count + 1} for profile, count in layout.items())
    return not any(isinstance(place(shape, one), MigPlacement) for one in more)


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


def _differ(layouts: tuple[dict[str, int], ...]) -> bool:
    profiles = {tuple(sorted(layout)) for layout in layouts}
    return len(profiles) > 1 or any(len(layout) > 1 for layout in layouts)


@written_rule("mig-single-strategy-with-mixed-layout", (MigLayouts, NodePool))
def single_mixed(context: RuleContext, subject: MigLayouts | NodePool) -> Iterator[Finding]:
    """The strategy `single`, also the operator's default, and profiles that differ on a node.

    A layout that a pool's label selects is checked with the pool's GPUs; a finding about a layout
    that no pool here selects is advice, because the layout may be unused.
    """
    if isinstance(subject, MigLayouts):
        if strategy(context).found != "single":
            return
        selected = {layout_name(context, pool) for pool in all_pools(context)}
        names = [
            name
            for name, entries in subject.layouts.items()
            if name not in selected
            and _differ(
                tuple(dict(e.devices) if e.enabled else {} for e in entries if not e.filters)
            )
        ]
        if names:
            yield single_mixed.say(
                f"{subject.place} {names[0]}".strip(),
                case="unused",
                listed=_listed(names),
                names=names,
            )
        return
    for pool in gpu_pools(context, subject):
        if strategy(context, pool).found != "single":
            continue
        name = layout_name(context, pool)
        layouts = None if name is None else layouts_of(context, pool, name)
        if layouts is None or not _differ(tuple(dict(one) for one in layouts)):
            continue
        yield single_mixed.say(
            name=name,
            gpus=len(layouts),
            config=name or "",
            money=nodes_money(context, pool, smallest(pool), AmountKind.WASTE),
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} others"


@written_rule("mig-slices-beyond-one")
def slices_beyond_one(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """A container that starts a server or names a tensor parallel size, or that names slices of
    several kinds, of which the device plugin's variable names one. Other programs may start a
    process for each slice."""
    del context
    for group, container in workload.gpu_containers:
        counts = {
            resource: asked.value.number
            for resource in container.gpu_resources
            if resource.startswith(MIG_PREFIX) and not resource.endswith(SHARED_SUFFIX)
            if (asked := container.gpus(resource)).is_known
        }
        if sum(counts.values()) < 2 or container.init or container.claimed:
            continue
        spreads = (container.launch.tensor.found or 1) > 1
        if len(counts) < 2 and not spreads and serving(workload) is None:
            continue
        if group not in workload.running_groups():
            continue
        yield slices_beyond_one.say(
            container=container,
            words="requests " + " and ".join(f"{int(n)} x {name}" for name, n in counts.items()),
            evidence={name: int(number) for name, number in counts.items()},
        )
