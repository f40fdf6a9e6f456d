"""A packing as plain data: what `gpufleet pack --format json` prints."""

from typing import Any

from gpufleet.catalogue.instance import MICRO_USD
from gpufleet.planner.packing.packing import Assignment, Packing
from gpufleet.planner.packing.problem import Mode


def packing_as_dict(packing: Packing) -> dict[str, Any]:
    """Costs in dollars an hour (`unit` usd/h), or GPU-hours an hour where a price is missing."""
    unit = MICRO_USD if packing.priced else 1
    return {
        "cost": packing.cost / unit,
        "unit": "usd/h" if packing.priced else "gpu-hours/h",
        "gpus": packing.gpus,
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
