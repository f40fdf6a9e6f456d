"""A sizing as plain data: what `gpufleet size --format json` prints.

Keys are camelCase; memory is integer bytes, times are seconds.
"""

from typing import Any

from gpufleet.documents.plain_data import camel, plain_data
from gpufleet.models.architecture import Architecture
from gpufleet.models.ledger import Ledger
from gpufleet.models.parameters import count_parameters
from gpufleet_planner.explanation.line import picked
from gpufleet_planner.sizing.device import Device
from gpufleet_planner.sizing.sized import Sizing


def sizing_as_dict(answer: Sizing) -> dict[str, Any]:
    """The whole answer. `ledger` holds the bytes of every item alive at the peak and their sum
    `total`; `items` explains each of them, and those that are not alive at the peak."""
    need = answer.ledger
    return {
        "ledger": None if need is None else ledger_as_dict(need),
        "items": [] if need is None else items_as_list(need),
        "planningBytes": None if need is None else need.planning_bytes,
        "basis": None if need is None else need.basis.value,
        "gpus": answer.gpus,
        "model": None if answer.model is None else _model(answer.model),
        "device": None if answer.device is None else _device(answer.device),
        "fits": answer.fits,
        "capacity": plain_data(answer.capacity),
        "speed": plain_data(answer.speed),
        "loadTest": plain_data(answer.load_test),
        "findings": [finding.as_dict() for finding in answer.findings],
    }


def ledger_as_dict(need: Ledger) -> dict[str, int]:
    """Bytes on the fullest GPU by item, and `total`, which is their sum."""
    items = {camel(item.key): item.bytes for item in need.items if item.at_peak}
    return {**items, "total": need.total_bytes}


def items_as_list(need: Ledger) -> list[dict[str, Any]]:
    """Every item with its formula and how well it is known."""
    return [
        {"item": camel(item.key), **picked(item, "bytes", "basis", "formula", "at_peak")}
        for item in need.items
    ]


def _model(model: Architecture) -> dict[str, Any]:
    count = count_parameters(model)
    size = {"parameters": count.total, "activeParameters": count.active}
    shape = ("layers", "hidden", "vocabulary", "source", "basis", "assumptions")
    return {"name": model.name, **size, **picked(model, *shape)}


def _device(device: Device) -> dict[str, Any]:
    return {
        "gpu": device.gpu.key,
        "share": device.kind.value,
        **picked(device, "label", "board", "usable_bytes", "memory_basis"),
        "computeShare": round(float(device.compute_share), 6),
        "bandwidthShare": round(float(device.bandwidth_share), 6),
        "memoryLimitEnforced": device.enforced,
    }
