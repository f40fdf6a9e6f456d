"""Alerts on queues: nothing is admitted, or quota and hardware contradict each other."""

from collections.abc import Iterator

from gpufleet.fleet.kube_state_names import sanitised
from gpufleet.fleet.model import Fleet
from gpufleet.render.alert import Alert
from gpufleet.render.kueue_quota import pool_capacity, quota_pools
from gpufleet.spec.monitoring import Monitoring


def queue_alerts(fleet: Fleet, monitoring: Monitoring) -> list[Alert]:
    """Alerts on queues; none without queues."""
    if fleet.spec.queues is None:
        return []
    starved = monitoring.alerts.starved_minutes
    return [
        Alert(
            "GpuQueueStarved",
            "sum by (cluster_queue) (kueue_pending_workloads) > 0 unless on (cluster_queue) "
            f"sum by (cluster_queue) (increase(kueue_admitted_workloads_total[{starved}m])) > 0",
            starved,
            "warning",
            "Jobs of {{ $labels.cluster_queue }} wait, and none was admitted",
            "kubectl describe workload says what is missing: quota, a flavor that fits, or a "
            "resource that no quota covers.",
        ),
        Alert(
            "GpuQueueInactive",
            'max by (cluster_queue) (kueue_cluster_queue_status{status="active"}) == 0',
            10,
            "critical",
            "The queue {{ $labels.cluster_queue }} is not active",
            "kubectl describe clusterqueue: a flavor, topology or admission check it names is not "
            "there.",
        ),
        *_quota(fleet),
    ]


def _quota(fleet: Fleet) -> Iterator[Alert]:
    """Quota that someone raised by hand, and nodes that offer less than was promised."""
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
    if over:
        yield Alert(
            "GpuQuotaOverCapacity",
            over,
            15,
            "warning",
            "Queues promise {{ $value }} of {{ $labels.resource }}, more than the pools have",
            "Someone changed a ClusterQueue: deploy the fleet again, which writes the quota "
            "that follows from the pools.",
        )
    if under:
        yield Alert(
            "GpuCapacityUnderQuota",
            under,
            30,
            "warning",
            "Nodes offer {{ $value }} of {{ $labels.resource }}, less than the queues promise",
            "Nodes are missing or GPUs are not cut as declared; admitted jobs will wait.",
        )
