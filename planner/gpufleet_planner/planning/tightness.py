"""Nodes of a pool are all alike: what that costs against the best packing of the same slices."""

from collections.abc import Iterator, Sequence

from gpufleet.findings import Finding, info
from gpufleet_planner.packing import Mode, PackingMachine, PackingProblem, ShareClass, pack
from gpufleet_planner.planning.filled_pool import FilledPool, demand_of


def validate_tightness(names: Sequence[str], pools: Sequence[FilledPool]) -> Iterator[Finding]:
    """An info for each MIG pool that has more nodes than its slices need at least, with each node
    partitioned by itself."""
    for number, (name, pool) in enumerate(zip(names, pools, strict=True)):
        if pool.layout is None:
            continue
        least = least_nodes(pool)
        if least < pool.nodes:
            yield info(
                "pool-not-tight",
                f"pools[{number}]",
                f"{name} has {pool.nodes} nodes; {least} are enough where each node may be "
                "partitioned differently",
                "split the pool by hand if the difference matters",
                nodes=pool.nodes,
                bound=least,
            )


def least_nodes(pool: FilledPool) -> int:
    """Fewest nodes that hold the pool's slices in any layouts: exact with the extra `planner`, else
    what the packer's heuristic needs."""
    machine = pool.key.machine
    row = PackingMachine(
        machine.name,
        machine.gpu,
        machine.gpus,
        machine.device_bytes,
        modes=frozenset({Mode.MIG}),
        micro_usd_per_hour=1,
    )
    shares = tuple(
        ShareClass(str(profile), count, Mode.MIG, str(profile))
        for profile, count in demand_of(option for _, option in pool.members).items()
    )
    return pack(PackingProblem({machine.name: row}, shares)).cost
