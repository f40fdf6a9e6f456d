"""Scheduled actions of a node group with a Capacity Block: nodes start when the block begins, and
end before EC2 reclaims them.

Sources: Amazon EC2 Auto Scaling user guide, Use Capacity Blocks for machine learning workloads:
scale out when the block begins and in to zero more than 30 minutes before its end, by scheduled
scaling. A node group drains the nodes that its Auto Scaling group removes (EKS user guide, Managed
node groups). Format: hashicorp/terraform-provider-aws 1049654 `internal/service/autoscaling/
schedule.go`, where -1 leaves a size as it is.
"""

from typing import Any

from gpufleet.fleet.model import Pool
from gpufleet.fleet.windows import DRAIN, bought_window
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Provisioner

_UNCHANGED = -1
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def scheduled_actions(pool: Pool) -> dict[str, dict[str, Any]]:
    """Name -> arguments of `aws:autoscaling:Schedule`, without the group. Actions in the past are
    left out: EC2 Auto Scaling refuses them."""
    entry = pool.capacity[0]
    ours = pool.ownership is not Ownership.EXISTING and pool.spec.import_id is None
    if entry.capacity_block is None or pool.provisioner.by_node_pool or not ours:
        return {}
    window = bought_window(entry, pool.machines[0].name)
    assert window is not None
    assert window.usable_until is not None
    autoscaled = pool.provisioner is Provisioner.CLUSTER_AUTOSCALER
    held = pool.nodes.maximum if window.instances is None else window.instances
    sizes = {
        "start": (
            window.starts,
            {
                "minSize": pool.nodes.minimum,
                "maxSize": pool.nodes.maximum,
                "desiredCapacity": _UNCHANGED if autoscaled else min(pool.nodes.maximum, held),
            },
        ),
        "drain": (
            window.usable_until - DRAIN,
            # Otherwise Cluster Autoscaler would start the drained nodes again.
            {"minSize": 0, "maxSize": 0 if autoscaled else _UNCHANGED, "desiredCapacity": 0},
        ),
    }
    return {
        f"gpufleet-{pool.name}-{name}": {"startTime": moment.strftime(_FORMAT), **size}
        for name, (moment, size) in sizes.items()
        if moment is not None and (pool.at is None or pool.at < moment)
    }
