# pyright: standard
"""Whether an EC2 capacity reservation or Capacity Block matches its pool."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gpufleet.components_base.answers import Answers
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.clouds.aws_capacity import reservation_group_region
from gpufleet.spec.capacity import Capacity, CapacityBlock

_finding, _rules = findings_in(__file__), rules_in(__file__)

NEARLY_OVER = timedelta(days=1)
"""Remaining time of a Capacity Block below which a deployment gets a warning: the shortest block
lasts a day."""

USABLE = ("active", "scheduled", "pending", "assessing")
"""States of a reservation that gives capacity now or later (EC2 CapacityReservationState)."""


def utc_now() -> datetime:
    """The present time, to compare with a block's end."""
    return datetime.now(UTC)


def ask_reservations(aws: AwsClient, pool: Pool, answers: Answers) -> None:
    """Check every reservation and Capacity Block of a pool."""
    for index, entry in enumerate(pool.capacity):
        if (entry.capacity_block or entry.reserved) is not None:
            path = f"{pool.path}.capacity[{index}].{entry.mode}"
            _ask_reservation(aws, pool, path, entry, answers)


def _ask_reservation(
    aws: AwsClient, pool: Pool, path: str, entry: Capacity, answers: Answers
) -> None:
    """It exists, has the pool's type and zone, and has capacity for the pool's largest size."""
    bought = entry.capacity_block or entry.reserved
    assert bought is not None
    if reservation_group_region(bought.id) is not None:
        answers.could_not_check(
            f"{path}.id",
            f"the reservations of {bought.id}",
            "they belong to the resource group, which is not read",
            "check each by its id: type, zone and free instances",
        )
        return
    missing = _finding("reservation-not-found", path, found=bought.id)
    answer = aws.answer("reservation", missing, path=path, reservation=bought.id)
    if answer is None:
        return
    found: list[dict[str, Any]] = answer["CapacityReservations"]
    if not found:
        answers.findings.append(missing)
        return
    own = _own_instances(aws, pool, path, bought.id)
    answers.findings += _validate(pool, path, found[0], bought.zone, own)
    if entry.capacity_block is not None:
        answers.findings += validate_window(path, found[0], entry.capacity_block, utc_now())


def _own_instances(aws: AwsClient, pool: Pool, path: str, reservation: str) -> int | None:
    """Machines of the pool that already run in it; None if this cannot be read."""
    names = {"path": path, "pool": pool.name, "reservation": reservation}
    answer = aws.answer("machinesInReservation", label=POOL_LABEL, **names)
    if answer is None:
        return None
    instances = [one for held in answer["Reservations"] for one in held["Instances"]]
    return sum(one.get("CapacityReservationId") == reservation for one in instances)


def _validate(
    pool: Pool, path: str, found: Mapping[str, Any], zone: str | None, own: int | None
) -> Iterable[Finding]:
    yield from _rules("reservation", path, pool=pool, found=found, zone=zone, usable=USABLE)
    total, free = int(found["TotalInstanceCount"]), int(found["AvailableInstanceCount"])
    known = {
        "total": total,
        "room": free + (own or 0),
        "others": f"{total - free - (own or 0)} of {total} are used by others",
        "unknown": "" if own is not None else " or by this pool, which could not be checked",
    }
    yield from _rules("size", pool.path, pool=pool, state=found["State"], **known)


def validate_window(
    path: str, found: Mapping[str, Any], block: CapacityBlock, now: datetime
) -> Iterable[Finding]:
    """Whether the block's window is the declared one, and whether it ends soon."""
    end = found.get("EndDate")
    nearly = isinstance(end, datetime) and now < end < now + NEARLY_OVER
    left = int((end - now).total_seconds() // 60) if isinstance(end, datetime) else 0
    known = {"nearly": nearly, "hours": left // 60, "minutes": left % 60}
    yield from _rules("window", path, found=found, block=block, **known)
