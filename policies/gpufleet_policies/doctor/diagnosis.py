"""Every cause in its order, and the causes that a dump shows."""

from gpufleet.findings import Severity
from gpufleet.fleet.model import Fleet
from gpufleet_policies.doctor import drift, node_causes, pod_causes, queue_causes
from gpufleet_policies.doctor.cause import FINDERS, ROWS, Cause, Diagnosis, Patient
from gpufleet_policies.doctor.rows import finder_of
from gpufleet_policies.doctor.snapshot import Dump

MODULES = (node_causes, queue_causes, pod_causes, drift)
"""Modules whose functions are finders of rows."""
CAUSES = tuple(Cause(row, finder_of(row) or FINDERS[row["code"]]) for row in ROWS)


def diagnose(cluster: Dump, fleet: Fleet | None = None) -> tuple[Diagnosis, ...]:
    """Every cause in the dump, the worst first: errors, then by GPUs that are out of use."""
    patient = Patient(cluster, fleet)
    found: list[Diagnosis] = []
    for row in CAUSES:
        for one in row.find(patient):
            found.append(Diagnosis(row, one, patient.pool(one.values["at"])))
            patient.explained.update((one.at, *one.explains))
    ranks = list(Severity)
    return tuple(
        sorted(found, key=lambda d: (ranks.index(d.cause.severity), -d.found.gpus, d.found.at))
    )
