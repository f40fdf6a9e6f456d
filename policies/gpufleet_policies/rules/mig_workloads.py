"""MIG between layouts, operators and workloads: names that match nothing, unused slices."""

from collections.abc import Iterator

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.container import MIG_PREFIX, SHARED_SUFFIX
from gpufleet.cluster.nvidia import MigLayouts
from gpufleet.cluster.pool import NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.pool_money import nodes_money, smallest
from gpufleet_policies.rules.pools import all_pools, gpu_pools
from gpufleet_policies.rules.published import layout_name, layouts_of, strategy
from gpufleet_policies.rules.purpose import serving
from gpufleet_policies.rules.written import written_rule


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
