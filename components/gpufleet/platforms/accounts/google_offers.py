"""Whether Google sells a pool's machines and accelerators in its zones."""

from collections.abc import Sequence

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.findings import rules_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.accounts.google_client import GoogleClient

_rules = rules_in(__file__)


def ask_offered(
    google: GoogleClient, pool: Pool, machine_type: str, zones: Sequence[str], answers: Answers
) -> None:
    """Whether machine and accelerator are sold in the zones of the pool."""
    path = f"{pool.path}.instanceTypes"
    if not zones:
        answers.could_not_check(
            path,
            f"where {machine_type} is offered",
            "neither the pool nor the cluster names a zone",
            "write the pool's `zones`",
        )
        return
    sold = {zone: _in_zone(google, pool, machine_type, zone, path) for zone in zones}
    lacking = [zone for zone, found in sold.items() if found is False]
    known = {"machine": machine_type, "gpu": pool.gpu.key, "lacking": lacking}
    answers.findings += _rules("google", path, some=any(sold.values()), **known)


def _in_zone(
    google: GoogleClient, pool: Pool, machine_type: str, zone: str, path: str
) -> bool | None:
    """Whether a zone has the machine, with or besides its accelerators; None: not answered."""
    row = pool.machines[0].instance
    try:
        machine = google.ask("machineType", path=path, machine=machine_type, zone=zone)
        kind = None if row is None else row.gke_accelerator_type
        if row is not None and row.attachable:
            google.ask("acceleratorType", path=path, kind=kind, zone=zone)
    except MissingError:
        return False
    except NotAnsweredError:
        return None
    carried = {one.guest_accelerator_type for one in machine.accelerators}
    return not carried or kind in carried or (row is not None and row.attachable)
