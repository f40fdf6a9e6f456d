"""Whether a Google reservation is there, of the pool's shape, and has room."""

from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.spec.capacity import Reserved


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
    try:
        found = google.ask(
            "reservations",
            "get",
            f"{path}.id",
            question,
            "compute.reservations.get",
            **place,
        )
    except NotAnsweredError:
        return
    except MissingError:
        answers.error(
            "reservation-not-found",
            f"{path}.id",
            f"there is no reservation {name} in {zone} of {project}",
            "correct name, zone or project; a shared one is projects/P/reservations/R",
            found=reserved.id,
        )
        return
    _shape(pool, path, found, answers)
    room, what = _room(found), f"reservation {name}"
    for block in reserved.blocks:
        try:
            answer = google.ask(
                "reservationBlocks",
                "get",
                f"{path}.blocks",
                f"block {block} of {name}",
                "compute.reservationBlocks.get",
                reservation_block=block,
                **place,
            )
        except NotAnsweredError:
            return
        except MissingError:
            answers.error(
                "reservation-block-not-found",
                f"{path}.blocks",
                f"{name} has no block {block}",
                "correct it, or leave blocks out",
                found=block,
            )
            return
        resource: Any = answer.resource
        room, what = int(resource.count) - int(resource.in_use_count), f"block {block} of {name}"
    if room < pool.nodes.maximum:
        answers.error(
            "reservation-full",
            f"{pool.path}.nodes.max",
            f"{pool.name} may grow to {pool.nodes.maximum} nodes, and {what} has room for {room}",
            f"write max: {room}" if room > 0 else "wait, or name another reservation",
            found=pool.nodes.maximum,
            limit=room,
        )


def _shape(pool: Pool, path: str, found: Any, answers: Answers) -> None:
    shape = gke_shape(pool)
    machine = str(found.specific_reservation.instance_properties.machine_type)
    if machine and machine != shape.machine_type:
        answers.error(
            "reservation-of-other-machine",
            f"{path}.id",
            f"the reservation holds {machine}, and the pool is of {shape.machine_type}",
            f"write instanceTypes: [{machine}], or name another reservation",
            found=machine,
            limit=shape.machine_type,
        )
    if not found.specific_reservation_required:
        answers.error(
            "reservation-not-specific",
            f"{path}.id",
            "the reservation is open to any machine that matches, and GKE takes specific ones "
            "alone by name",
            "make it with `--require-specific-reservation`, or write `onDemand` with "
            "`gke: {openReservations: true}`",
        )
    status = str(found.status)
    if status not in ("", "READY"):
        answers.error(
            "reservation-not-ready",
            f"{path}.id",
            f"the reservation is {status}",
            "wait until it is READY",
            found=status,
            limit="READY",
        )


def _room(found: Any) -> int:
    specific = found.specific_reservation
    return int(specific.count) - int(specific.in_use_count)


def _project_and_name(google: GoogleClient, text: str) -> tuple[str, str]:
    """Owner and name; a shared reservation names its owner."""
    parts = text.split("/")
    return (parts[1], parts[3]) if len(parts) == 4 else (google.project, text)
