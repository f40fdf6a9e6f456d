"""What a fleet on GKE needs of its Google project: offers, quotas, reservations, versions."""

from collections.abc import Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError, Wiring
from gpufleet.findings import error, warning
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.gke.preflight_client import GoogleClient
from gpufleet.platforms.gke.preflight_cluster import ask_cluster
from gpufleet.platforms.gke.preflight_quotas import ask_quotas
from gpufleet.platforms.gke.preflight_reservations import ask_reservation
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.spec.base import Ownership


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Ask everything about the pools that gpufleet makes.

    Raises:
        CannotAskError: no client libraries, no credentials or no project.
    """
    answers = Answers()
    google = GoogleClient(fleet.spec.cluster.project, answers)
    pools = [pool for pool in fleet.pools if pool.ownership is not Ownership.EXISTING]
    zones = ask_cluster(google, fleet, pools, answers)
    for pool in pools:
        _offered(google, pool, sorted(wiring.subnets) or zones, answers)
        for index, entry in enumerate(pool.capacity):
            if entry.reserved is not None:
                path = f"{pool.path}.capacity[{index}].reserved"
                ask_reservation(google, pool, path, entry.reserved, answers)
    ask_quotas(google, fleet, pools, answers)
    return answers


def _offered(google: GoogleClient, pool: Pool, there: Sequence[str], answers: Answers) -> None:
    """Whether machine and accelerator are sold in the zones the pool may use."""
    shape = gke_shape(pool)
    reserved = [step.zone for step in shape.steps if step.zone is not None]
    zones = list(dict.fromkeys(reserved)) or list(shape.zones) or list(there)
    path = f"{pool.path}.instanceTypes"
    if not zones:
        answers.could_not_check(
            path,
            f"where {shape.machine_type} is offered",
            "neither the pool nor the cluster names a zone",
            "write the pool's `zones`",
        )
        return
    lacking: list[str] = []
    asked = 0
    for zone in zones:
        found = _in_zone(google, pool, zone, path)
        asked += found is not None
        if found is False:
            lacking.append(zone)
    if not lacking:
        return
    everywhere = asked > 0 and len(lacking) == asked
    answers.findings.append(
        (error if everywhere else warning)(
            "instance-type-not-offered" if everywhere else "instance-type-not-everywhere",
            path,
            f"{shape.machine_type} with {pool.gpu.key} is not offered in {', '.join(lacking)}",
            "choose other zones"
            if everywhere
            else "leave those zones out: the pool has fewer ways to grow than it reads",
            found=lacking,
        )
    )


def _in_zone(google: GoogleClient, pool: Pool, zone: str, path: str) -> bool | None:
    """Whether a zone has the machine, with its accelerators or next to them; None: not answered."""
    shape, row = gke_shape(pool), pool.machines[0].instance
    place: dict[str, Any] = {"project": google.project, "zone": zone}
    question = f"{shape.machine_type} in {zone}"
    try:
        machine = google.ask(
            "machineTypes",
            "get",
            path,
            question,
            "compute.machineTypes.get",
            machine_type=shape.machine_type,
            **place,
        )
        kind = None if row is None else row.gke_accelerator_type
        if row is not None and row.attachable:
            google.ask(
                "acceleratorTypes",
                "get",
                path,
                f"{kind} in {zone}",
                "compute.acceleratorTypes.get",
                accelerator_type=kind,
                **place,
            )
    except MissingError:
        return False
    except NotAnsweredError:
        return None
    carried = {one.guest_accelerator_type for one in machine.accelerators}
    return not carried or kind in carried or (row is not None and row.attachable)
