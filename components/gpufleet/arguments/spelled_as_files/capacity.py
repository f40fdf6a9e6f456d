"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.capacity`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.capacity import ReservedArgs


class SpotDict(TypedDict):
    """Spare capacity that can be taken back within minutes."""

    maxPriceUsdPerHour: NotRequired[str]
    """Highest price to pay for one instance and hour, in dollars: only in the sandbox. EKS and
    GKE take none; spot is never dearer than on demand there. Default: the on-demand price."""


class CapacityBlockDict(TypedDict):
    """EC2 Capacity Block: GPU capacity bought for a window, in one zone."""

    id: str
    """Capacity reservation id of the block: `cr-` and 17 hexadecimal digits."""
    zone: str
    """The block's zone, `us-east-1a`: the node group gets the subnet of this zone only."""
    starts: NotRequired[str | datetime]
    """When the block begins (UTC). Default: not stated."""
    until: str | datetime
    """When the block ends (UTC). EC2 starts terminating instances 30 minutes earlier."""
    usdPerHour: NotRequired[str]
    """What was paid for one instance and hour. Block prices are in no public list; without it the
    pool's spend is unknown."""
    instances: NotRequired[int]
    """Instances of the block, all paid for, 1 to 10000. Default: the pool's largest size."""


class FlexStartDict(TypedDict):
    """Google Dynamic Workload Scheduler, flex start: waits for capacity, runs at most 7 days."""

    maxRunDuration: NotRequired[str]
    """Longest run, at most 7 days. Default 7d."""


class QueuedDict(TypedDict):
    """Google queued provisioning: all nodes of a request at once, through a
    ProvisioningRequest."""

    maxRunDuration: NotRequired[str]
    """Longest run, at most 7 days. Default 7d."""
    flexStart: NotRequired[bool]
    """Buy the nodes by flex start too, as Google's guide does (GKE documentation, flex-start with
    queued provisioning). Default false. Changing it makes a new node pool."""


class OnPremDict(TypedDict):
    """Own hardware."""

    usdPerGpuHour: NotRequired[str]
    """What one GPU costs an hour, write-off, power and rack included. Default: not priced."""


class CapacityDict(TypedDict):
    """Exactly one way of buying."""

    onDemand: NotRequired[Mapping[str, Any]]
    """List price."""
    spot: NotRequired[SpotDict]
    """Spare capacity that can be taken back."""
    reserved: NotRequired[ReservedArgs]
    """A reservation."""
    capacityBlock: NotRequired[CapacityBlockDict]
    """EKS: a block of capacity for a window."""
    flexStart: NotRequired[FlexStartDict]
    """GKE: starts when there is capacity."""
    queued: NotRequired[QueuedDict]
    """GKE: all nodes of a request at once."""
    onPrem: NotRequired[OnPremDict]
    """Own hardware."""


class TeamCommitmentDict(TypedDict):
    """GPUs of the pool that are promised to a team for a time."""

    starts: NotRequired[str | datetime]
    """When it begins (UTC). Default: not stated, it counts from the beginning."""
    until: NotRequired[str | datetime]
    """When it ends (UTC), after `starts`. Default: it does not end."""
    team: str
    """Name of the team."""
    gpus: int
    """GPUs that are promised, 1 to 160000."""
    longestJob: NotRequired[str]
    """Longest run of one job of the team, such as `12h`. Default: not stated."""
