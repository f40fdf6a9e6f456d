"""Lists of disks and adapters: which part of a change is made while the machine runs."""

from typing import Any

import pytest

from gpufleet_vcenter.properties import (
    UNKNOWN,
    MachineChangeKind,
    changes,
    impossible,
    replaces,
)
from tests.vcenter.test_changes import OLD, refusals

A = {"name": "a", "sizeGib": 10}
B = {"name": "b", "sizeGib": 20, "format": "thick", "datastore": "fast"}
NET, STORAGE = {"network": "n"}, {"network": "s"}


def of(path: str, old: Any, new: Any, **more: Any) -> Any:
    (change,) = changes(node(path, old), {**node(path, new), **more})
    return change


def node(path: str, value: Any) -> dict[str, Any]:
    if path == "place.networks":
        return {**OLD, "place": {**OLD["place"], "networks": value}}
    return {**OLD, path: value}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ([], [A], MachineChangeKind.IN_PLACE),
        ([A], [A, B], MachineChangeKind.IN_PLACE),
        ([A], [{**A, "sizeGib": 11}], MachineChangeKind.IN_PLACE),
        ([A], [{**A, "keep": True}], MachineChangeKind.IN_PLACE),
        ([A, B], [A], MachineChangeKind.POWERED_OFF),
        ([A], [{**A, "name": "c"}], MachineChangeKind.POWERED_OFF),
        ([A], [], MachineChangeKind.POWERED_OFF),
    ],
)
def test_disks(old: Any, new: Any, kind: MachineChangeKind) -> None:
    change = of("extraDisks", old, new)
    assert (change.kind, impossible(change)) == (kind, None)
    also = ["extraDisks"] if kind is MachineChangeKind.POWERED_OFF else []
    assert replaces((change,), "replace") == also
    told = refusals(node("extraDisks", old), node("extraDisks", new))
    assert [path for path, _ in told] == also


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (
            {**B, "sizeGib": 19},
            (
                "b: 19 GiB is less than the present 20 GiB, and a disk cannot shrink: write 20 "
                "or more, or another name to get a new disk"
            ),
        ),
        (
            {**B, "format": "thin"},
            (
                "b: format 'thick' cannot become 'thin': it is chosen when a disk is made. Give "
                "the disk another name for a new one"
            ),
        ),
        (
            {"name": "b", "sizeGib": 20, "format": "thick"},
            (
                "b: datastore 'fast' cannot become None: it changes with Storage vMotion, by an "
                "administrator. Give the disk another name for a new one"
            ),
        ),
    ],
)
def test_what_no_disk_can_become(new: Any, reason: str) -> None:
    ((where, told),) = refusals(node("extraDisks", [A, B]), node("extraDisks", [A, new]))
    assert (where, told) == ("extraDisks", reason)


def test_the_order_of_disks_is_no_change() -> None:
    assert changes(node("extraDisks", [A, B]), node("extraDisks", [B, A])) == ()


@pytest.mark.parametrize("path", ["extraDisks", "place.networks"])
@pytest.mark.parametrize(
    "unknown", [UNKNOWN, [UNKNOWN], [{"name": UNKNOWN}], [A, {"sizeGib": UNKNOWN}]]
)
def test_devices_that_are_not_known_yet(path: str, unknown: Any) -> None:
    for old in ([A], []):
        before, after = node(path, old), node(path, unknown)
        (change,) = changes(before, after)
        assert (change.kind, change.unknown) == (MachineChangeKind.IN_PLACE, True)
        assert refusals(before, after) == []


def test_a_disk_that_somebody_enlarged_is_not_shrunk() -> None:
    seen = {**node("extraDisks", [A]), "drifted": {"extraDisks": [{**A, "sizeGib": 30}]}}
    ((_, told),) = refusals(seen, node("extraDisks", [A]))
    assert told.startswith("a: 10 GiB is less than the present 30 GiB")


def test_a_disk_that_somebody_took_away_comes_again() -> None:
    seen = {**node("extraDisks", [A]), "drifted": {"extraDisks": []}}
    (change,) = changes(seen, node("extraDisks", [A]))
    assert (change.kind, change.old) == (MachineChangeKind.IN_PLACE, None)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ([NET], [NET, STORAGE], MachineChangeKind.IN_PLACE),
        ([NET, STORAGE], [NET, NET], MachineChangeKind.IN_PLACE),
        ([NET], [{**NET, "adapter": "vmxnet3"}], MachineChangeKind.IN_PLACE),
        ([{**NET, "adapter": "e1000e"}], [NET], MachineChangeKind.IN_PLACE),
        ([NET, STORAGE], [NET], MachineChangeKind.POWERED_OFF),
        (
            [{**NET, "adapter": "e1000e"}],
            [{**NET, "adapter": "vmxnet3"}],
            MachineChangeKind.POWERED_OFF,
        ),
        ([NET, STORAGE], [], MachineChangeKind.POWERED_OFF),
    ],
)
def test_adapters(old: Any, new: Any, kind: MachineChangeKind) -> None:
    change = of("place.networks", old, new)
    assert (change.kind, impossible(change)) == (kind, None)
