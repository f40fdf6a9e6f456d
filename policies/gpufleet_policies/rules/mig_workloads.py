"""MIG between layouts, operators and workloads: names that match nothing, unused slices."""

from collections.abc import Iterator

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.container import GPU, MIG_PREFIX, SHARED_SUFFIX
from gpufleet.cluster.nvidia import MigLayouts, SharingConfig
from gpufleet.cluster.pool import NodePool
from gpufleet.findings import Finding, Level, finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.placement import gpu_requests, pools_for
from gpufleet_policies.rules.pool_money import nodes_money, smallest
from gpufleet_policies.rules.pools import all_pools, gpu_pools
from gpufleet_policies.rules.published import layout_name, layouts_of, published, strategy
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
            yield finding(
                where=f"{subject.place} {names[0]}".strip(),
                found=f"{_listed(names)}: the GPUs of a node have different layouts",
                at_most=Level.ADVISORY,
                evidence={"configs": names},
            )
        return
    for pool in gpu_pools(context, subject):
        if strategy(context, pool).found != "single":
            continue
        name = layout_name(context, pool)
        layouts = None if name is None else layouts_of(context, pool, name)
        if layouts is None or not _differ(tuple(dict(one) for one in layouts)):
            continue
        yield finding(
            where=f"label nvidia.com/mig.config: {name}",
            found=f"{name}: the {len(layouts)} GPUs of a node have different layouts",
            money=nodes_money(context, pool, smallest(pool), AmountKind.WASTE),
            evidence={"config": name or ""},
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} others"


def unpublished(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Requests for slices, or whole GPUs, that no pool publishes of those declared one by one."""
    groups = ((group, *one) for group in workload.running_groups() for one in gpu_requests(group))
    for group, resource, asked in groups:
        if resource != GPU and not resource.startswith(MIG_PREFIX):
            continue
        pools = [pool for pool in pools_for(context, group) if pool.is_certainly_gpu]
        if not all_pools(context) and (because := _never_published(context, resource)):
            yield finding(
                where=f"group {group.name}" if group.name else group.place,
                found=f"requests {asked} x {resource}",
                limit=f"{because}; the pods would stay Pending",
                alternative="request what is published, or change the configuration",
                at_most=Level.ADVISORY,  # no pool is here: other nodes may publish it
                evidence={"resource": resource},
            )
            continue
        if not pools or len(pools) < len(pools_for(context, group)):
            continue
        offers = [published(context, pool) for pool in pools]
        if any(offer is None for offer in offers):
            continue
        known = [offer for offer in offers if offer is not None]
        if any(resource in offer.resources for offer in known):
            continue
        offered = sorted({name for offer in known for name in offer.resources})
        yield finding(
            where=f"group {group.name}" if group.name else group.place,
            found=f"requests {asked} x {resource}, which no pool here publishes",
            limit=f"{', '.join(pool.name for pool in pools)} publish(es) "
            f"{', '.join(offered) or 'nothing'}; the pods would stay Pending",
            alternative=f"request one of {', '.join(offered)}" if offered else "fix the layout",
            money=nodes_money(context, pools[0], smallest(pools[0]), AmountKind.WASTE),
            evidence={"resource": resource, "offered": offered},
        )


def _never_published(context: RuleContext, resource: str) -> str:
    """Why the device plugin that is installed here publishes a resource nowhere; empty: it may."""
    if resource.startswith(MIG_PREFIX):
        single = strategy(context).found == "single"
        return f"under the MIG strategy single slices are {GPU}" if single else ""
    configs = context.declared(SharingConfig)
    renamed = [
        one.rename_by_default.found is True and resource in {entry.name for entry in one.resources}
        for one in configs
    ]
    return f"its shares are renamed to {resource}{SHARED_SUFFIX}" if renamed == [True] else ""


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
        yield finding(
            where=f"container {container.name} ({container.place}.resources)",
            found="requests " + " and ".join(f"{int(n)} x {name}" for name, n in counts.items()),
            evidence={name: int(number) for name, number in counts.items()},
        )
