"""Parameters of the data files of monitoring (`monitoring/*.yaml`), computed from a fleet."""

from collections.abc import Iterable

from gpufleet.fleet.kueue_quota import pool_capacity, quota_pools
from gpufleet.fleet.model import Fleet
from gpufleet.fleet.neuron import is_neuron
from gpufleet.fleet.scaling_rules import stoppable
from gpufleet.fleet.unit_weights import sanitised
from gpufleet.partition.neuron import CORE
from gpufleet.partition.shares import RESOURCES
from gpufleet.render.data_files import Parameters
from gpufleet.spec.monitoring import Monitoring

PEAK_MINUTES = 10
"""Minutes that the expression of GpuIdle covers: the shortest pause that counts as idle."""
NEAR_BUDGET = 0.8
"""Part of the budget from which on the cost is shown in orange; our own figure."""


def monitoring_parameters(fleet: Fleet, monitoring: Monitoring) -> Parameters:
    """Name -> text or number; None or False: the fleet does not have it."""
    limits, queues = monitoring.alerts, fleet.spec.queues is not None
    budget = None if fleet.spec.budget is None else float(fleet.spec.budget.usd_per_hour)
    over, under = _quota(fleet) if queues else (None, None)
    accepted = [p.acceptance.wait_minutes for p in fleet.pools if p.acceptance is not None]
    acting = [p.health for p in fleet.pools if p.health is not None and p.health.acts]
    return {
        "queues": queues,
        "profiling": monitoring.profiling,
        "no_profiling": not monitoring.profiling,
        "mig": any(pool.partition.mig_enabled for pool in fleet.pools),
        "prices": any(pool.hourly_micro_usd is not None for pool in fleet.pools),
        "budget": budget,
        "budget_warning": None if budget is None else budget * NEAR_BUDGET,
        "vgpu_models": _either(
            f".*{pool.partition.vgpu.type.name}"
            for pool in fleet.pools
            if pool.partition.vgpu is not None
        ),
        "idle": f"{limits.idle_percent / 100:g}",
        "idle_minutes": max(limits.idle_minutes - PEAK_MINUTES, 1),
        "unallocated": f"{limits.unallocated_percent / 100:g}",
        "unallocated_minutes": limits.unallocated_minutes,
        "pending_minutes": limits.pending_minutes,
        "starved_minutes": limits.starved_minutes,
        "over_capacity": over,
        "under_quota": under,
        "counted_otherwise": _counted_otherwise(fleet),
        "accepted": accepted,
        "acceptance_minutes": max(accepted, default=0),
        "health": acting,
        "watched": accepted or acting,
        "floors": _floors(fleet),
        "nvsentinel": any(policy.nvsentinel_acts for policy in acting),
        "stops": any(stoppable(fleet.pools)),
    }


def _floors(fleet: Fleet) -> str:
    """Expression: nodes of each pool that a repair must leave, where a floor is declared."""
    found: list[str] = []
    for pool in fleet.pools:
        floor = None if pool.health is None else pool.health.floor
        if floor is None or floor.as_platform:
            continue
        nodes = f"vector({floor.nodes})"
        if floor.percent is not None:
            nodes = f'ceil(count(gpu:node:pool{{pool="{pool.name}"}}) * {floor.percent} / 100)'
        found.append(f'label_replace({nodes}, "pool", "{pool.name}", "", "")')
    return " or ".join(found)


def _either(names: Iterable[str]) -> str:
    return "|".join(sorted(set(names)))


def _quota(fleet: Fleet) -> tuple[str, str]:
    """Expressions: quota raised by hand, and nodes with less capacity than declared."""
    capacity: dict[str, int] = {}
    fixed: dict[str, bool] = {}
    for pool in quota_pools(fleet):
        for resource, amount in pool_capacity(pool, fleet).items():
            capacity[resource] = capacity.get(resource, 0) + amount
            constant = pool.nodes.minimum == pool.nodes.maximum and resource in pool.advertised
            fixed[resource] = fixed.get(resource, True) and constant
    over = " or ".join(
        f'sum by (resource) (kueue_cluster_queue_nominal_quota{{resource="{resource}"}}) > {amount}'
        for resource, amount in sorted(capacity.items())
    )
    under = " or ".join(
        f'sum by (resource) (gpu:allocatable:count{{resource="{sanitised(resource)}"}}) < {amount}'
        for resource, amount in sorted(capacity.items())
        if fixed[resource]
    )
    return over, under


def _counted_otherwise(fleet: Fleet) -> str:
    """Excludes further resources of Neuron nodes: they are the hardware of their pool's unit."""
    text = ""
    for resource in (RESOURCES["aws"], CORE):
        pools = [
            pool.name
            for pool in fleet.pools
            if is_neuron(pool.gpu) and resource not in pool.advertised
        ]
        if pools:
            text += (
                " unless on (node, resource) label_replace("
                f'gpu:node:pool{{pool=~"{"|".join(pools)}"}}, '
                f'"resource", "{sanitised(resource)}", "", "")'
            )
    return text
