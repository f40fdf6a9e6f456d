"""Every row of the table of changes, and what is told before anything is done."""

from typing import Any

import pytest

from gpufleet.nodes.vsphere.changes import (
    DRIFT_ONLY,
    REFUSED_BECAUSE,
    TABLE,
    UNKNOWN,
    Kind,
    changes,
    refusals,
    replaces,
)

OLD: dict[str, Any] = {
    "owner": "o/p/s/g/0",
    "generation": "0123456789ab",
    "endpoint": {"server": "vc.example.com"},
    "place": {"datacenter": "DC", "cluster": "C", "template": "t"},
    "name": "gpu-0",
    "cpus": 8,
    "memoryMib": 65_536,
    "diskGib": 200,
    "gpu": {"mode": "dynamic", "deviceIds": ["20b5"], "count": 1},
    "userDataSha256": "aa",
}


def changed(path: str, value: Any) -> dict[str, Any]:
    new = {**OLD, "endpoint": dict(OLD["endpoint"]), "place": dict(OLD["place"])}
    *parents, last = path.split(".")
    target = new
    for parent in parents:
        target = target[parent]
    target[last] = value
    return new


@pytest.mark.parametrize(
    ("path", "kind"), [row for row in TABLE.items() if row[0] not in DRIFT_ONLY]
)
def test_each_row(path: str, kind: Kind) -> None:
    new = changed(path, "other")
    found = changes(OLD, new)
    assert [(change.path, change.kind) for change in found] == [(path, kind)]
    assert replaces(found, "refuse") == ([path] if kind is Kind.REPLACE else [])
    also = kind in (Kind.REPLACE, Kind.POWERED_OFF)
    assert replaces(found, "replace") == ([path] if also else [])


def test_nothing_differs() -> None:
    assert changes(OLD, OLD) == ()
    assert changes({**OLD, "place": {**OLD["place"], "hosts": []}}, OLD) == ()


def test_drift_is_a_change() -> None:
    drifted = {**OLD, "drifted": {"powerState": "poweredOff", "cpus": 4}}
    assert [change.path for change in changes(drifted, OLD)] == ["cpus", "powerState"]


def test_user_data_may_be_ignored() -> None:
    new = {**changed("userDataSha256", "bb"), "ignoreUserDataChanges": True}
    assert [change.path for change in changes(OLD, new)] == ["ignoreUserDataChanges"]


@pytest.mark.parametrize("path", sorted(REFUSED_BECAUSE))
def test_refused_rows_say_why(path: str) -> None:
    ((where, reason),) = refusals(OLD, changed(path, "other"))
    assert where == path
    assert REFUSED_BECAUSE[path] in reason


def test_power_off_needs_a_policy() -> None:
    new = changed("cpus", 16)
    ((where, reason),) = refusals(OLD, new)
    assert where == "cpus"
    assert reason.startswith("8 becomes 16 only while the machine is off")
    assert refusals(OLD, {**new, "updatePolicy": "restart"}) == []
    assert refusals(OLD, {**new, "updatePolicy": "replace"}) == []
    assert refusals(OLD, {**new, "name": "other"}) == [], "it is replaced anyway"


def test_disks_only_grow() -> None:
    assert refusals(OLD, changed("diskGib", 300)) == []
    ((where, reason),) = refusals(OLD, changed("diskGib", 100))
    assert (where, reason) == (
        "diskGib",
        "100 GiB is less than the 200 GiB there are, and a disk cannot shrink: write 200 or more",
    )


def test_unknown_values_refuse_nothing() -> None:
    assert refusals(OLD, changed("cpus", UNKNOWN)) == []
    found = changes(OLD, changed("name", UNKNOWN))
    assert replaces(found, "refuse") == ["name"]
