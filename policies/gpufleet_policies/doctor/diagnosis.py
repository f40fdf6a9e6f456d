"""Every cause in its order, and the causes that a dump shows."""

from itertools import chain

from gpufleet.findings import Severity
from gpufleet.fleet.model import Fleet
from gpufleet_policies.doctor import (
    autoscaler_causes,
    claim_causes,
    drift,
    holder_causes,
    layout_causes,
    node_causes,
    operand_causes,
    pod_causes,
    queue_causes,
    symptom_causes,
    upgrade_causes,
    version_causes,
)
from gpufleet_policies.doctor.cause import Cause, Diagnosis, Patient
from gpufleet_policies.doctor.snapshot import Dump

CAUSES: tuple[Cause, ...] = tuple(
    chain(
        node_causes.CAUSES,
        upgrade_causes.CAUSES,
        operand_causes.CAUSES,
        layout_causes.CAUSES,
        symptom_causes.CAUSES,
        queue_causes.CAUSES,
        autoscaler_causes.CAUSES,
        claim_causes.CAUSES,
        pod_causes.CAUSES,
        version_causes.CAUSES,
        holder_causes.CAUSES,
        drift.CAUSES,
    )
)
"""What others follow from comes first: a node that is not ready explains its pods."""


def diagnose(cluster: Dump, fleet: Fleet | None = None) -> tuple[Diagnosis, ...]:
    """Every cause in the dump, the worst first: errors, then by GPUs that are out of use."""
    patient = Patient(cluster, fleet)
    found: list[Diagnosis] = []
    for row in CAUSES:
        for one in row.find(patient):
            found.append(Diagnosis(row, one))
            patient.explained.update((one.at, *one.explains))
    ranks = list(Severity)
    return tuple(
        sorted(found, key=lambda d: (ranks.index(d.cause.severity), -d.found.gpus, d.found.at))
    )
