"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.capacity`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NotRequired, TypedDict

from gpufleet.arguments.capacity import ReservedArgs


class SpotDict(TypedDict):
    """Spare capacity that the cloud can reclaim within minutes."""

    maxPriceUsdPerHour: NotRequired[str]
    """Maximum price of one instance and hour, in dollars: only in the sandbox. EKS and GKE have
    no such setting; spot never costs more than on demand there. Default: the on-demand price."""


class CapacityBlockDict(TypedDict):
    """EC2 Capacity Block: GPU capacity bought for a window, in one zone."""

    id: str
    """Capacity reservation id of the block: `cr-` and 17 hexadecimal digits."""
    zone: str
    """The block's zone, `us-east-1a`: the node group gets the subnet of this zone only."""
    starts: NotRequired[str | datetime]
    """Start of the block (UTC). Default: not stated."""
    until: str | datetime
    """End of the block (UTC). EC2 starts to terminate instances 30 minutes earlier."""
    usdPerHour: NotRequired[str]
    """Price paid for one instance and hour. Block prices are not in public lists; without this
    value the pool's spend is unknown."""
    instances: NotRequired[int]
    """Instances of the block, all paid for, 1 to 10000. Default: the pool's largest size."""


class FlexStartDict(TypedDict):
    """Google Dynamic Workload Scheduler, flex start: waits for capacity, runs at most 7 days."""

    maxRunDuration: NotRequired[str]
    """Maximum run time, at most 7 days. Default 7d."""


class QueuedDict(TypedDict):
    """Google queued provisioning: all nodes of a request at once, through a
    ProvisioningRequest."""

    maxRunDuration: NotRequired[str]
    """Maximum run time, at most 7 days. Default 7d."""
    flexStart: NotRequired[bool]
    """Also buy the nodes by flex start, as in Google's guide (GKE documentation, flex-start with
    queued provisioning). Default false. A change creates a new node pool."""


class OnPremDict(TypedDict):
    """Own hardware."""

    usdPerGpuHour: NotRequired[str]
    """Cost of one GPU and hour, including depreciation, power and rack. Default: no price."""


class CapacityDict(TypedDict):
    """Exactly one capacity type."""

    onDemand: NotRequired[Mapping[str, Any]]
    """List price."""
    spot: NotRequired[SpotDict]
    """Spare capacity that the cloud can reclaim."""
    reserved: NotRequired[ReservedArgs]
    """A reservation."""
    capacityBlock: NotRequired[CapacityBlockDict]
    """EKS: a block of capacity for a window."""
    flexStart: NotRequired[FlexStartDict]
    """GKE: starts when capacity is available."""
    queued: NotRequired[QueuedDict]
    """GKE: all nodes of a request at once."""
    onPrem: NotRequired[OnPremDict]
    """Own hardware."""


class TeamCommitmentDict(TypedDict):
    """GPUs of the pool that are promised to a team for a time."""

    starts: NotRequired[str | datetime]
    """Start (UTC). Default: no start, it always applied."""
    until: NotRequired[str | datetime]
    """End (UTC), after `starts`. Default: it does not end."""
    team: str
    """Name of the team."""
    gpus: int
    """Number of promised GPUs, 1 to 160000."""
    longestJob: NotRequired[str]
    """Maximum run time of one job of the team, such as `12h`. Default: not stated."""
