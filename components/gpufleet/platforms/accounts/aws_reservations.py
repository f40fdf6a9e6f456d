# pyright: standard
"""Whether an EC2 capacity reservation or Capacity Block is what a pool takes it for."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.clouds.aws_capacity import reservation_group_region
from gpufleet.spec.capacity import Capacity, CapacityBlock

NEARLY_OVER = timedelta(days=1)
"""How long before its end a Capacity Block is no place to deploy to without a word: the shortest is
sold for a day."""

USABLE = ("active", "scheduled", "pending", "assessing")
"""States of a reservation that gives capacity now or later (EC2 CapacityReservationState)."""


def utc_now() -> datetime:
    """The present, to compare a block's end with."""
    return datetime.now(UTC)


def ask_reservations(aws: AwsClient, pool: Pool, answers: Answers) -> None:
    """Ask about every reservation and Capacity Block of a pool."""
    for index, entry in enumerate(pool.capacity):
        if (entry.capacity_block or entry.reserved) is not None:
            path = f"{pool.path}.capacity[{index}].{entry.mode}"
            _ask_reservation(aws, pool, path, entry, answers)


def _ask_reservation(
    aws: AwsClient, pool: Pool, path: str, entry: Capacity, answers: Answers
) -> None:
    """It exists, is of the pool's type and zone, and has room for the pool's largest size."""
    bought = entry.capacity_block or entry.reserved
    assert bought is not None
    if reservation_group_region(bought.id) is not None:
        answers.could_not_check(
            f"{path}.id",
            f"the reservations of {bought.id}",
            "they are the resource group's, which is not read",
            "look at each by its id: type, zone and room",
        )
        return
    try:
        answer = aws.ask(
            "ec2",
            "describe_capacity_reservations",
            path,
            f"reservation {bought.id}",
            CapacityReservationIds=[bought.id],
        )
    except NotAnsweredError:
        return
    except MissingError as missing:
        answer = {"CapacityReservations": [], "why": str(missing)}
    found: list[dict[str, Any]] = answer["CapacityReservations"]
    if not found:
        answers.error(
            "reservation-not-found",
            f"{path}.id",
            f"there is no reservation {bought.id} in this region and account",
            "correct the id, or share the reservation with this account",
            found=bought.id,
        )
        return
    own = _own_instances(aws, pool, path, bought.id)
    answers.findings += _validate(pool, path, found[0], bought.zone, own)
    if entry.capacity_block is not None:
        answers.findings += validate_window(path, found[0], entry.capacity_block, utc_now())


def _own_instances(aws: AwsClient, pool: Pool, path: str, reservation: str) -> int | None:
    """Machines of the pool that run in it already; None when that may not be known."""
    try:
        answer = aws.ask(
            "ec2",
            "describe_instances",
            path,
            f"which machines of {pool.name} use {reservation} already",
            Filters=[
                {"Name": f"tag:{POOL_LABEL}", "Values": [pool.name]},
                {"Name": "instance-state-name", "Values": ["pending", "running"]},
            ],
        )
    except (NotAnsweredError, MissingError):
        return None
    instances = [one for held in answer["Reservations"] for one in held["Instances"]]
    return sum(one.get("CapacityReservationId") == reservation for one in instances)


def _validate(
    pool: Pool, path: str, found: Mapping[str, Any], zone: str | None, own: int | None
) -> Iterable[Finding]:
    state, type_, actual = found["State"], found["InstanceType"], found["AvailabilityZone"]
    types = [machine.name for machine in pool.machines]
    if state not in USABLE:
        yield error(
            "reservation-not-usable",
            f"{path}.id",
            f"{found['CapacityReservationId']} is {state}",
            "choose one that is active or scheduled",
            found=state,
            allowed=list(USABLE),
        )
    if type_ not in types:
        yield error(
            "reservation-of-other-type",
            f"{path}.id",
            f"the reservation is of {type_}, and {pool.name} consists of {', '.join(types)}",
            f"write `instanceTypes: [{type_}]`",
            found=type_,
            allowed=types,
        )
    if zone is not None and actual != zone:
        yield error(
            "reservation-in-other-zone",
            f"{path}.zone",
            f"the reservation is in {actual}, not in {zone}",
            f"write {actual}",
            found=actual,
            limit=zone,
        )
    total, free = int(found["TotalInstanceCount"]), int(found["AvailableInstanceCount"])
    room = free + (own or 0)
    if total < pool.nodes.maximum:
        yield error(
            "reservation-too-small",
            f"{pool.path}.nodes.max",
            f"the reservation holds {total} instances, and {pool.name} may have "
            f"{pool.nodes.maximum} nodes",
            f"write max: {total}",
            found=total,
            limit=pool.nodes.maximum,
        )
    elif state == "active" and room < pool.nodes.maximum:
        others = f"{total - free - (own or 0)} of {total} are used by others"
        unknown = "" if own is not None else " or by this pool, which could not be checked"
        yield error(
            "reservation-full",
            f"{pool.path}.nodes.max",
            f"room for {room} of {pool.nodes.maximum} nodes: {others}{unknown}",
            "free it, or lower max",
            found=room,
            limit=pool.nodes.maximum,
        )


def validate_window(
    path: str, found: Mapping[str, Any], block: CapacityBlock, now: datetime
) -> Iterable[Finding]:
    """Whether the block's window is the declared one, and whether it is nearly over."""
    end = found.get("EndDate")
    if isinstance(end, datetime) and now < end < now + NEARLY_OVER:
        left = int((end - now).total_seconds() // 60)
        yield warning(
            "capacity-block-nearly-over",
            f"{path}.until",
            f"the block ends in {left // 60} h {left % 60} min: EC2 ends its machines from 30 "
            "minutes before, and EKS takes its nodes away 40 minutes before",
            "let jobs write their last checkpoint, and declare the next block in its place",
            found=end.isoformat(),
        )
    for field, words, key, written in (
        ("starts", "begins", "StartDate", block.starts),
        ("until", "ends", "EndDate", block.until),
    ):
        actual = found.get(key)
        if written is not None and isinstance(actual, datetime) and actual != written:
            yield error(
                f"capacity-block-{words}-otherwise",
                f"{path}.{field}",
                f"the block {words} {actual.isoformat()}, not {written.isoformat()}",
                f"write {actual.isoformat()}",
                found=actual.isoformat(),
                limit=written.isoformat(),
            )
