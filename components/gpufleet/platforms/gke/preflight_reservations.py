"""Whether a Google reservation is there, of the pool's shape, and has room."""

from collections.abc import Iterator
from typing import Any

from gpufleet.components_base.answers import Answers
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.spec.capacity import Reserved

_finding = findings_in(__file__)


def ask_reservation(
    google: GoogleClient, pool: Pool, path: str, reserved: Reserved, answers: Answers
) -> None:
    """Ask about one reservation of a pool, and about its block."""
    zone = reserved.zone or next(iter(pool.spec.zones), None)
    project, name = _project_and_name(google, reserved.id)
    question = f"reservation {reserved.id}"
    if zone is None:
        answers.could_not_check(
            f"{path}.zone", question, "no zone is declared", "write the reservation's zone"
        )
        return
    place = {"project": project, "zone": zone, "reservation": name}
    found: Any = answers.answer(
        _finding(
            "reservation-not-found", path, name=name, zone=zone, project=project, found=reserved.id
        ),
        google.ask,
        "reservations",
        "get",
        f"{path}.id",
        question,
        "compute.reservations.get",
        **place,
    )
    if found is None:
        return
    answers.findings += _shape(pool, path, found)
    room, what = _room(found), f"reservation {name}"
    for block in reserved.blocks:
        answer: Any = answers.answer(
            _finding("reservation-block-not-found", path, name=name, found=block),
            google.ask,
            "reservationBlocks",
            "get",
            f"{path}.blocks",
            f"block {block} of {name}",
            "compute.reservationBlocks.get",
            reservation_block=block,
            **place,
        )
        if answer is None:
            return
        resource: Any = answer.resource
        room, what = int(resource.count) - int(resource.in_use_count), f"block {block} of {name}"
    if room < (most := pool.nodes.maximum):
        fix = f"write max: {room}" if room > 0 else "wait, or name another reservation"
        answers.findings.append(
            _finding(
                "reservation-full",
                pool.path,
                fix=fix,
                pool=pool.name,
                what=what,
                found=most,
                limit=room,
            )
        )


def _shape(pool: Pool, path: str, found: Any) -> Iterator[Finding]:
    wanted = gke_shape(pool).machine_type
    machine = str(found.specific_reservation.instance_properties.machine_type)
    if machine and machine != wanted:
        yield _finding("reservation-of-other-machine", path, found=machine, limit=wanted)
    if not found.specific_reservation_required:
        yield _finding("reservation-not-specific", path)
    status = str(found.status)
    if status not in ("", "READY"):
        yield _finding("reservation-not-ready", path, found=status, limit="READY")


def _room(found: Any) -> int:
    specific = found.specific_reservation
    return int(specific.count) - int(specific.in_use_count)


def _project_and_name(google: GoogleClient, text: str) -> tuple[str, str]:
    """Owner and name; a shared reservation names its owner."""
    parts = text.split("/")
    return (parts[1], parts[3]) if len(parts) == 4 else (google.project, text)
