"""A packing as plain data: what `gpufleet pack --format json` prints."""

from typing import Any

from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.findings import Finding, ordered
from gpufleet_planner.packing.packing import Assignment, Packing
from gpufleet_planner.packing.problem import Mode

_KEYS = (
    "cost", "unit", "gpus", "lowerBound", "lower_bound", "gap", "method", "complete", "nodes",
    "assignment", "unplaced",
)  # fmt: skip


def packing_as_dict(packing: Packing | None, findings: tuple[Finding, ...] = ()) -> dict[str, Any]:
    """Costs in dollars an hour (`unit` usd/h), or GPU-hours an hour where a price is missing.

    None: the file could not be packed, for the reasons in `findings`; the keys are the same.
    `lower_bound` is the old spelling of `lowerBound`.
    """
    if packing is None:
        empty: dict[str, Any] = dict.fromkeys(_KEYS)
        empty |= {"complete": False, "nodes": [], "assignment": [], "unplaced": {}}
        return empty | {"findings": [finding.as_dict() for finding in ordered(findings)]}
    unit = MICRO_USD if packing.priced else 1
    return {
        "cost": packing.cost / unit,
        "unit": "usd/h" if packing.priced else "gpu-hours/h",
        "gpus": packing.gpus,
        "lowerBound": packing.lower_bound / unit,
        "lower_bound": packing.lower_bound / unit,
        "gap": float(packing.gap),
        "method": packing.method.value,
        "complete": packing.complete,
        "nodes": [
            {"node": n.name, "machine": n.machine, "existing": n.existing} for n in packing.nodes
        ],
        "assignment": [_assignment(a) for a in packing.assignments],
        "unplaced": dict(packing.unplaced),
        "findings": [finding.as_dict() for finding in packing.findings],
    }


def _assignment(a: Assignment) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "share": a.share,
        "index": a.index,
        "node": a.node,
        "gpus": list(a.gpus),
        "mode": a.mode.value,
    }
    if a.mode is Mode.MIG:
        entry |= {"profile": a.profile, "start": a.start}
    elif a.mode is not Mode.WHOLE:
        entry["replicas"] = a.replicas
    return entry
