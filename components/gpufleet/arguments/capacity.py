"""Inputs of components: what restates `gpufleet.spec.capacity`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import Any, NotRequired, TypedDict


class SpotArgs(TypedDict):
    """Spare capacity that the cloud can reclaim within minutes."""

    max_price_usd_per_hour: NotRequired[str]
    """Maximum price of one instance and hour, in dollars: only in the sandbox. EKS and GKE have
    no such setting; spot never costs more than on demand there. Default: the on-demand price."""


class ReservedArgs(TypedDict):
    """Reserved capacity: an EC2 ODCR, a Google reservation."""

    starts: NotRequired[str]
    """Start (UTC). Default: no start, it always applied."""
    until: NotRequired[str]
    """End (UTC), after `starts`. Default: it does not end."""
    id: str
    """EC2: `cr-...`, or the ARN of a resource group of reservations; when that is full, further
    nodes are on demand. Google: name, or projects/P/reservations/R for a shared one."""
    zone: NotRequired[str]
    """Zone of the reservation; needed when the pool's subnets span zones."""
    blocks: NotRequired[list[str]]
    """Google: reservation blocks or sub-blocks to use. Default: any."""
    instances: NotRequired[int]
    """Instances that are reserved and paid for, 1 to 10000. Default: the pool's largest size."""
    interruptible: NotRequired[bool]
    """EC2: an interruptible reservation, whose owner reclaims instances at short notice, like
    spot capacity. Only Karpenter starts machines in one. Default false."""


class CapacityBlockArgs(TypedDict):
    """EC2 Capacity Block: GPU capacity bought for a window, in one zone."""

    id: str
    """Capacity reservation id of the block: `cr-` and 17 hexadecimal digits."""
    zone: str
    """The block's zone, `us-east-1a`: the node group gets the subnet of this zone only."""
    starts: NotRequired[str]
    """Start of the block (UTC). Default: not stated."""
    until: str
    """End of the block (UTC). EC2 starts to terminate instances 30 minutes earlier."""
    usd_per_hour: NotRequired[str]
    """Price paid for one instance and hour. Block prices are not in public lists; without this
    value the pool's spend is unknown."""
    instances: NotRequired[int]
    """Instances of the block, all paid for, 1 to 10000. Default: the pool's largest size."""


class FlexStartArgs(TypedDict):
    """Google Dynamic Workload Scheduler, flex start: waits for capacity, runs at most 7 days."""

    max_run_duration: NotRequired[str]
    """Maximum run time, at most 7 days. Default 7d."""


class QueuedArgs(TypedDict):
    """Google queued provisioning: all nodes of a request at once, through a
    ProvisioningRequest."""

    max_run_duration: NotRequired[str]
    """Maximum run time, at most 7 days. Default 7d."""
    flex_start: NotRequired[bool]
    """Also buy the nodes by flex start, as in Google's guide (GKE documentation, flex-start with
    queued provisioning). Default false. A change creates a new node pool."""


class OnPremArgs(TypedDict):
    """Own hardware."""

    usd_per_gpu_hour: NotRequired[str]
    """Cost of one GPU and hour, including depreciation, power and rack. Default: no price."""


class CapacityArgs(TypedDict):
    """Exactly one capacity type."""

    on_demand: NotRequired[dict[str, Any]]
    """List price."""
    spot: NotRequired[SpotArgs]
    """Spare capacity that the cloud can reclaim."""
    reserved: NotRequired[ReservedArgs]
    """A reservation."""
    capacity_block: NotRequired[CapacityBlockArgs]
    """EKS: a block of capacity for a window."""
    flex_start: NotRequired[FlexStartArgs]
    """GKE: starts when capacity is available."""
    queued: NotRequired[QueuedArgs]
    """GKE: all nodes of a request at once."""
    on_prem: NotRequired[OnPremArgs]
    """Own hardware."""


class MaintenanceWindowArgs(TypedDict):
    """A time in which nodes of the pool are out of service."""

    starts: str
    """Start (UTC)."""
    until: str
    """End (UTC), after `starts`."""
    nodes: NotRequired[int]
    """Nodes that are out of service at the same time, 1 to 10000. Default: all."""


class TeamCommitmentArgs(TypedDict):
    """GPUs of the pool that are promised to a team for a time."""

    starts: NotRequired[str]
    """Start (UTC). Default: no start, it always applied."""
    until: NotRequired[str]
    """End (UTC), after `starts`. Default: it does not end."""
    team: str
    """Name of the team."""
    gpus: int
    """Number of promised GPUs, 1 to 160000."""
    longest_job: NotRequired[str]
    """Maximum run time of one job of the team, such as `12h`. Default: not stated."""
