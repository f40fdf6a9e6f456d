"""Capacity types: an ordered list, first choice first."""

import re
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from gpufleet.environment import YEARS
from gpufleet.spec.base import DnsLabel, OneOf, SpecModel

_DURATION = re.compile(r"^([1-9][0-9]*)(m|h|d)$")

_NUMBER = re.compile(r"^\s*[-+]?[0-9.]+\s*$")
_LONGEST_DAYS = 3650
"""Longest duration, ten years."""

_OF_THE_ENGINE = re.compile(
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}) ([0-9:.]+) ([+-][0-9]{2})([0-9]{2}) (?:[A-Z]+|[+-][0-9]+)$"
)


def _from_engine(found: object) -> object:
    """An unquoted time of a stack file reaches the program in the form of Go's
    `time.Time.String()`, `2026-12-20 11:30:00 +0000 UTC` (pulumi sdk 3.259.0,
    go/common/resource/config/object.go)."""
    return _OF_THE_ENGINE.sub(r"\1T\2\3:\4", found) if isinstance(found, str) else found


def _no_number(found: object) -> object:
    """Python's libraries read 20261204 as seconds since 1970."""
    if isinstance(found, bool):
        raise ValueError("true and false are no times: write a time with its zone")  # noqa: TRY004  pydantic's
    if isinstance(found, int | float) or (isinstance(found, str) and _NUMBER.match(found)):
        raise ValueError(f"{found} is a number: write a time with its zone, 2026-12-20T11:30:00Z")
    return found


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone: write 2026-12-20T11:30:00Z")
    if not YEARS[0] <= moment.year <= YEARS[1]:
        raise ValueError(f"the year {moment.year} is not one of {YEARS[0]} to {YEARS[1]}")
    return moment.astimezone(UTC)


UtcTime = Annotated[
    datetime, BeforeValidator(_from_engine), BeforeValidator(_no_number), AfterValidator(_utc)
]
"""A time in UTC, written `2026-12-20T11:30:00Z`."""


def _not_endless(duration: str) -> str:
    if len(duration) > len("5256000m") or minutes(duration) > _LONGEST_DAYS * 24 * 60:
        raise ValueError(f"the duration is over the limit of {_LONGEST_DAYS}d")
    return duration


Duration = Annotated[
    str, StringConstraints(pattern=_DURATION.pattern), AfterValidator(_not_endless)
]
"""An integer number of minutes, hours or days: `90m`, `12h`, `7d`."""

_MINUTES = {"m": 1, "h": 60, "d": 24 * 60}


def minutes(duration: str) -> int:
    """Minutes in a duration such as `12h`."""
    found = _DURATION.match(duration)
    assert found is not None
    return int(found[1]) * _MINUTES[found[2]]


class OnDemand(SpecModel):
    """List price, without commitment."""


class Spot(SpecModel):
    """Spare capacity that the cloud can reclaim within minutes."""

    max_price_usd_per_hour: (
        Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]{1,6})?$")] | None
    ) = None
    """Maximum price of one instance and hour, in dollars: only in the sandbox. EKS and GKE have no
    such setting; spot never costs more than on demand there. Default: the on-demand price."""


class _Dated(SpecModel):
    """An entry that applies from `starts` to before `until`."""

    starts: UtcTime | None = None
    """Start (UTC). Default: no start, it always applied."""
    until: UtcTime | None = None
    """End (UTC), after `starts`. Default: it does not end."""


class MaintenanceWindow(SpecModel):
    """A time in which nodes of the pool are out of service."""

    starts: UtcTime
    """Start (UTC)."""
    until: UtcTime
    """End (UTC), after `starts`."""
    nodes: int | None = Field(default=None, ge=1, le=10_000)
    """Nodes that are out of service at the same time, 1 to 10000. Default: all."""


class TeamCommitment(_Dated):
    """GPUs of the pool that are promised to a team for a time."""

    team: DnsLabel
    """Name of the team."""
    gpus: int = Field(ge=1, le=160_000)
    """Number of promised GPUs, 1 to 160000."""
    longest_job: Duration | None = None
    """Maximum run time of one job of the team, such as `12h`. Default: not stated."""


class Reserved(_Dated):
    """Reserved capacity: an EC2 ODCR, a Google reservation."""

    id: str = Field(min_length=1, max_length=256)
    """EC2: `cr-...`, or the ARN of a resource group of reservations; when that is full, further
    nodes are on demand. Google: name, or projects/P/reservations/R for a shared one."""
    zone: str | None = None
    """Zone of the reservation; needed when the pool's subnets span zones."""
    blocks: tuple[str, ...] = ()
    """Google: reservation blocks or sub-blocks to use. Default: any."""
    instances: int | None = Field(default=None, ge=1, le=10_000)
    """Instances that are reserved and paid for, 1 to 10000. Default: the pool's largest size."""
    interruptible: bool = False
    """EC2: an interruptible reservation, whose owner reclaims instances at short notice, like spot
    capacity. Only Karpenter starts machines in one. Default false."""


class CapacityBlock(SpecModel):
    """EC2 Capacity Block: GPU capacity bought for a window, in one zone."""

    id: Annotated[str, StringConstraints(pattern=r"^cr-[0-9a-f]{17}$")]
    """Capacity reservation id of the block: `cr-` and 17 hexadecimal digits."""
    zone: str = Field(min_length=1)
    """The block's zone, `us-east-1a`: the node group gets the subnet of this zone only."""
    starts: UtcTime | None = None
    """Start of the block (UTC). Default: not stated."""
    until: UtcTime
    """End of the block (UTC). EC2 starts to terminate instances 30 minutes earlier."""
    usd_per_hour: Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]{1,6})?$")] | None = (
        None
    )
    """Price paid for one instance and hour. Block prices are not in public lists; without this
    value the pool's spend is unknown."""
    instances: int | None = Field(default=None, ge=1, le=10_000)
    """Instances of the block, all paid for, 1 to 10000. Default: the pool's largest size."""


class _DynamicWorkload(SpecModel):
    """Capacity of Google's Dynamic Workload Scheduler: it runs at most 7 days."""

    max_run_duration: Duration = "7d"
    """Maximum run time, at most 7 days. Default 7d."""

    @model_validator(mode="after")
    def _at_most_a_week(self) -> Self:
        if minutes(self.max_run_duration) > 7 * 24 * 60:
            raise ValueError(f"maxRunDuration {self.max_run_duration} is over the limit of 7d")
        return self


class FlexStart(_DynamicWorkload):
    """Google Dynamic Workload Scheduler, flex start: waits for capacity, runs at most 7 days."""


class Queued(_DynamicWorkload):
    """Google queued provisioning: all nodes of a request at once, through a ProvisioningRequest."""

    flex_start: bool = False
    """Also buy the nodes by flex start, as in Google's guide (GKE documentation, flex-start with
    queued provisioning). Default false. A change creates a new node pool."""


class OnPrem(SpecModel):
    """Own hardware."""

    usd_per_gpu_hour: (
        Annotated[str, StringConstraints(pattern=r"^[0-9]+(\.[0-9]{1,6})?$")] | None
    ) = None
    """Cost of one GPU and hour, including depreciation, power and rack. Default: no price."""


class Capacity(OneOf):
    """Exactly one capacity type."""

    example: ClassVar[str] = "[{spot: {}}, {onDemand: {}}]"

    on_demand: OnDemand | None = None
    """List price."""
    spot: Spot | None = None
    """Spare capacity that the cloud can reclaim."""
    reserved: Reserved | None = None
    """A reservation."""
    capacity_block: CapacityBlock | None = None
    """EKS: a block of capacity for a window."""
    flex_start: FlexStart | None = None
    """GKE: starts when capacity is available."""
    queued: Queued | None = None
    """GKE: all nodes of a request at once."""
    on_prem: OnPrem | None = None
    """Own hardware."""
