"""Publication of a node: layout of slices, devices of static and dynamic MIG, counters."""

import json
from collections import Counter
from typing import Any

import pytest

from gpufleet_sandbox.operands.boards import BOARDS
from gpufleet_sandbox.operands.dra_driver import SimulatedDraDriver
from gpufleet_sandbox.operands.dra_slices import objects, slices
from gpufleet_sandbox.operands.hardware import HARDWARE_ANNOTATION, SimulatedHardware, read_hardware
from gpufleet_sandbox.operands.silicon import GpuState, PlacementError, cut

DYNAMIC = SimulatedDraDriver({"DynamicMIG": True}, "/", {}, (), (), None)
STATIC = SimulatedDraDriver({"DynamicMIG": False}, "/", {}, (), (), None)
HOPPER, AMPERE = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"
ON_DEMAND = sorted(
    b.product for b in BOARDS.values() if b.mig_capable and not b.mode_change_needs_reset
)


def node(product: str, count: int) -> SimulatedHardware:
    gpus = [{"product": product, "memoryMiB": 81559, "count": count}]
    data = {"gpus": gpus, "cpu": "1", "memory": "1Gi", "driver": "595.91.07"}
    return read_hardware({HARDWARE_ANNOTATION: json.dumps(data)})


def published(
    product: str, count: int, driver: SimulatedDraDriver, *states: GpuState
) -> list[dict[str, Any]]:
    return slices("n", node(product, count), states or (GpuState(),) * count, driver, "595.91.07")


def devices(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [device for part in found for device in part.get("devices", [])]


def test_whole_gpus_in_one_slice() -> None:
    (only,) = published("NVIDIA L4", 8, STATIC)
    assert [device["name"] for device in only["devices"]] == [f"gpu-{i}" for i in range(8)]
    assert len({device["attributes"]["uuid"]["string"] for device in only["devices"]}) == 8
    attributes = only["devices"][0]["attributes"]
    assert attributes["productName"] == {"string": "NVIDIA L4"}
    assert attributes["driverVersion"] == {"version": "595.91.7"}


def test_counters_stand_apart_from_devices() -> None:
    found = published(HOPPER, 8, DYNAMIC)
    counting = [part for part in found if "sharedCounters" in part]
    holding = [part for part in found if "devices" in part]
    assert len(counting) == 1
    assert len(counting[0]["sharedCounters"]) == 8
    assert [len(part["devices"]) for part in holding] == [26] * 8
    assert not any(set(part) == {"sharedCounters", "devices"} for part in found)


def test_more_than_eight_gpus_need_a_second_slice_of_counters() -> None:
    found = published(HOPPER, 16, DYNAMIC)
    assert [len(p["sharedCounters"]) for p in found if "sharedCounters" in p] == [8, 8]


@pytest.mark.parametrize("product", ON_DEMAND)
def test_limits_of_the_api(product: str) -> None:
    for part in published(product, 8, DYNAMIC):
        assert len(part.get("devices", ())) <= 64
        for group in part.get("sharedCounters", ()):
            assert len(group["counters"]) <= 32
        for device in part.get("devices", ()):
            assert len(device["attributes"]) + len(device["capacity"]) <= 32
            assert len(device["name"]) <= 63
            assert all(c.isalnum() or c == "-" for c in device["name"])


def test_devices_that_were_cut_beforehand() -> None:
    board = BOARDS[AMPERE]
    states = (GpuState(True, cut(board, {"3g.40gb": 1, "1g.10gb": 2})), GpuState())
    found = devices(published(AMPERE, 2, STATIC, *states))
    assert Counter(d["attributes"]["type"]["string"] for d in found) == {"mig": 3, "gpu": 1}
    names = [d["name"] for d in found]
    assert len(set(names)) == 4
    assert "gpu-1" in names
    assert "gpu-0" not in names, "a GPU in MIG mode is not assigned whole"
    wide = next(d for d in found if "3g40gb" in d["name"])
    assert sum(key.startswith("memorySlice") for key in wide["capacity"]) == 4
    assert all("consumesCounters" not in d for d in found)


def test_mig_mode_without_devices_serves_nothing() -> None:
    assert devices(published(AMPERE, 1, STATIC, GpuState(True))) == []


def test_ampere_is_never_cut_on_demand() -> None:
    assert [d["name"] for d in devices(published(AMPERE, 1, DYNAMIC))] == ["gpu-0"]


@pytest.mark.parametrize("product", ON_DEMAND)
def test_the_counters_allow_what_the_silicon_holds(product: str) -> None:
    """Every set of devices the counters allow can be created, and the largest ones fill them."""
    board = BOARDS[product]
    whole, *parts = devices(published(product, 1, DYNAMIC))
    totals = _amounts(whole)
    seen: set[tuple[tuple[str, int], ...]] = set()

    def grow(first: int, left: Counter[str], held: Counter[str]) -> None:
        seen.add(tuple(sorted(held.items())))
        for number in range(first, len(parts)):
            taken = _amounts(parts[number])
            if all(left[name] >= amount for name, amount in taken.items()):
                profile = parts[number]["attributes"]["profile"]["string"]
                grow(number + 1, left - taken, held + Counter([profile]))

    grow(0, totals, Counter())
    for held in seen:
        try:
            cut(board, dict(held))
        except PlacementError as problem:
            pytest.fail(f"{held}: {problem}")
    assert all(((shape.name, shape.most),) in seen for shape in board.shapes)


def _amounts(device: dict[str, Any]) -> Counter[str]:
    (taken,) = device["consumesCounters"]
    return Counter({name: int(each["value"]) for name, each in taken["counters"].items()})


def test_objects_of_one_generation() -> None:
    found = published(HOPPER, 2, DYNAMIC)
    first, second = objects("n", "uid-1", found, 1), objects("n", "uid-1", found, 2)
    names = [item["metadata"]["name"] for item in first + second]
    assert len(set(names)) == len(names) == 6
    for item in second:
        assert item["spec"]["pool"] == {"name": "n", "generation": 2, "resourceSliceCount": 3}
        assert item["spec"]["nodeName"] == "n"
        assert item["metadata"]["ownerReferences"][0]["uid"] == "uid-1"
