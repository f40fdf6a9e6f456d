"""Every row of the table of changes, and the preview of each."""

from typing import Any

import pytest

from gpufleet_vcenter.properties import (
    PROPERTIES,
    UNKNOWN,
    MachineChangeKind,
    changes,
    refused,
    replaces,
)

DRIFT_ONLY = {path for path, row in PROPERTIES.items() if "drift" in row.flags}
AS_IN_TEMPLATE = {path for path, row in PROPERTIES.items() if "template" in row.flags}
ACTUAL = {path: row.actual for path, row in PROPERTIES.items() if row.actual}
REFUSED_BECAUSE = {path: row.because for path, row in PROPERTIES.items() if row.because}
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


def stays(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether no change of it makes another machine."""
    return MachineChangeKind.REPLACE not in {change.kind for change in changes(old, new)}


def refusals(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str]]:
    return refused(changes(old, new), str(new.get("updatePolicy", "refuse")))


def old_of(path: str) -> dict[str, Any]:
    """The declared fields: where first-boot data has a separate digest, the data does not count."""
    return {**OLD, "bootSha256": "aa"} if path == "bootSha256" else OLD


def changed(path: str, value: Any) -> dict[str, Any]:
    new = {**OLD, "endpoint": dict(OLD["endpoint"]), "place": dict(OLD["place"])}
    *parents, last = path.split(".")
    target = new
    for parent in parents:
        target = target[parent]
    target[last] = value
    return new


ROWS: list[tuple[str, MachineChangeKind, list[str]]] = [
    ("another object", MachineChangeKind.REPLACE, ["endpoint.server", "place.datacenter"]),
    ("another object", MachineChangeKind.REPLACE, ["place.template", "name"]),
    ("devices", MachineChangeKind.POWERED_OFF, ["gpu", "gpuMemoryGib"]),
    ("size", MachineChangeKind.POWERED_OFF, ["cpus", "memoryMib", "coresPerSocket"]),
    ("size", MachineChangeKind.POWERED_OFF, ["coresPerNumaNode"]),
    ("processor time", MachineChangeKind.IN_PLACE, ["cpuReservationMhz", "cpuShares"]),
    ("disk", MachineChangeKind.IN_PLACE, ["diskGib", "extraDisks"]),
    ("what was installed", MachineChangeKind.REFUSED, ["firmware", "guestId"]),
    ("hardware version", MachineChangeKind.POWERED_OFF, ["hardwareVersion"]),
    ("network", MachineChangeKind.IN_PLACE, ["place.network", "place.networks"]),
    ("type of adapter", MachineChangeKind.POWERED_OFF, ["place.adapter"]),
    (
        "where it stands",
        MachineChangeKind.IN_PLACE,
        ["place.resourcePool", "place.folder", "vmGroup"],
    ),
    ("NICs by passthrough", MachineChangeKind.POWERED_OFF, ["nics"]),
    ("where it runs", MachineChangeKind.REFUSED, ["place.cluster", "place.datastore"]),
    (
        "where its disks are",
        MachineChangeKind.REFUSED,
        ["place.datastoreCluster", "place.storagePolicy"],
    ),
    (
        "settings of GPUs",
        MachineChangeKind.POWERED_OFF,
        ["mmioGib", "latencySensitivity", "extraConfig"],
    ),
    ("first boot", MachineChangeKind.REPLACE, ["userDataSha256", "userDataFormat", "metaData"]),
    ("first boot", MachineChangeKind.REPLACE, ["vendorDataSha256", "bootSha256"]),
    ("first boot", MachineChangeKind.REPLACE, ["addresses"]),
    ("what DRS may do", MachineChangeKind.IN_PLACE, ["drsBehavior"]),
    ("description", MachineChangeKind.IN_PLACE, ["tags", "customAttributes", "annotation"]),
    (
        "behaviour",
        MachineChangeKind.SETTING,
        ["timeouts", "onCreateFailure", "deletePolicy", "updatePolicy"],
    ),
    (
        "behaviour",
        MachineChangeKind.SETTING,
        ["ignoreUserDataChanges", "waitFor", "kubernetes", "maxPerHost"],
    ),
    (
        "the way there",
        MachineChangeKind.SETTING,
        ["endpoint.port", "endpoint.insecure", "endpoint.caCertFile"],
    ),
    (
        "the way there",
        MachineChangeKind.SETTING,
        ["endpoint.thumbprintSha256", "endpoint.credentialsKey"],
    ),
    (
        "the way there",
        MachineChangeKind.SETTING,
        ["endpoint.plainHttp", "place.hosts", "place.denyHosts"],
    ),
    ("seen only", MachineChangeKind.IN_PLACE, ["powerState", "memoryLocked"]),
    ("seen only", MachineChangeKind.REPLACE, ["nodeReady"]),
    ("behaviour", MachineChangeKind.SETTING, ["replaceNotReadyMinutes", "separateHosts"]),
]
"""Expected action of a change, independent of the table itself."""
KINDS = [(path, kind) for _, kind, paths in ROWS for path in paths]


def test_the_table_has_these_rows_and_no_other() -> None:
    assert dict(KINDS) == {path: row.kind for path, row in PROPERTIES.items()}


@pytest.mark.parametrize(("path", "kind"), [row for row in KINDS if row[0] not in DRIFT_ONLY])
def test_each_row(path: str, kind: MachineChangeKind) -> None:
    new = changed(path, "other")
    found = changes(old_of(path), new)
    assert [(change.path, change.kind) for change in found] == [(path, kind)]
    assert replaces(found, "refuse") == ([path] if kind is MachineChangeKind.REPLACE else [])
    also = kind in (MachineChangeKind.REPLACE, MachineChangeKind.POWERED_OFF)
    assert replaces(found, "replace") == ([path] if also else [])


@pytest.mark.parametrize(("path", "kind"), [row for row in KINDS if row[0] not in DRIFT_ONLY])
def test_each_row_that_is_not_known_yet(path: str, kind: MachineChangeKind) -> None:
    """Unknown counts as changed, replaces where it would, and is never refused."""
    new = changed(path, UNKNOWN)
    found = changes(old_of(path), new)
    assert [change.path for change in found] == [path]
    assert replaces(found, "refuse") == ([path] if kind is MachineChangeKind.REPLACE else [])
    assert refusals(OLD, new) == []


@pytest.mark.parametrize("path", sorted(DRIFT_ONLY))
def test_each_row_that_only_vcenter_shows(path: str) -> None:
    drifted = {**OLD, "drifted": {path: "other"}}
    assert [change.path for change in changes(drifted, OLD)] == [path]
    assert changes({**OLD, path: "one"}, {**OLD, path: "other"}) == ()


@pytest.mark.parametrize(
    "moving", ["host", "ipAddress", "moRef", "gpuDevices", "adopted", "warnings", "macAddresses"]
)
def test_what_moves_by_itself_is_no_change(moving: str) -> None:
    assert changes({**OLD, moving: "one"}, {**OLD, moving: "other"}) == ()


@pytest.mark.parametrize("path", sorted(AS_IN_TEMPLATE))
def test_what_is_left_out_is_as_the_template_has_it(path: str) -> None:
    declared = changed(path, 300)
    assert changes(declared, changed(path, None)) == ()
    drifted = {**declared, "drifted": {path: 400}}
    assert changes(drifted, changed(path, None)) == ()


@pytest.mark.parametrize("path", sorted(ACTUAL))
def test_what_the_machine_has_counts_and_not_what_was_declared(path: str) -> None:
    has = {**OLD, ACTUAL[path]: 20}
    assert changes(has, changed(path, 20)) == ()
    (change,) = changes(has, changed(path, 21))
    assert (change.old, change.new) == (20, 21)
    assert refusals(OLD, changed(path, 21)) == [], "inputs do not say what the machine has"


def test_hardware_only_goes_forward() -> None:
    has = {**OLD, "hardwareVersionActual": 20, "updatePolicy": "restart"}
    assert refusals(has, {**changed("hardwareVersion", 21), "updatePolicy": "restart"}) == []
    older = {**changed("hardwareVersion", 19), "updatePolicy": "restart"}
    ((where, reason),) = refusals(has, older)
    assert where == "hardwareVersion"
    assert reason.startswith("19 is older than the 20 the machine has, and virtual hardware cannot")


def test_ignored_first_boot_data_does_not_make_another_machine() -> None:
    ignoring = {**changed("userDataSha256", "bb"), "ignoreUserDataChanges": True}
    other = {**ignoring, "generation": "ba9876543210", "metaData": {"a": 1}}
    assert stays(OLD, other)
    assert not stays(OLD, {**other, "name": "gpu-1"})
    assert not stays(OLD, {**other, "ignoreUserDataChanges": False})
    assert not stays({}, other)


def test_a_renewed_token_does_not_make_another_machine() -> None:
    joined = {**OLD, "bootSha256": "aa"}
    renewed = {**joined, "userDataSha256": "bb", "generation": "ba9876543210"}
    assert stays(joined, renewed)
    assert not stays(joined, {**renewed, "bootSha256": "cc"}), "another label does"


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
    drifted = {**changed(path, "one"), "drifted": {path: "other"}}
    ((where, reason),) = refusals(drifted, changed(path, "one"))
    assert where == path
    assert REFUSED_BECAUSE[path] in reason


def test_power_off_needs_a_policy() -> None:
    new = changed("cpus", 16)
    ((where, reason),) = refusals(OLD, new)
    assert where == "cpus"
    assert reason.startswith("8 becomes 16 only while the machine is off")
    assert refusals(OLD, {**new, "updatePolicy": "restart"}) == []
    assert refusals(OLD, {**new, "updatePolicy": "replace"}) == []
    ((where, reason),) = refusals(OLD, {**new, "name": "other"})
    assert (where, reason.split(":")[0]) == (
        "name",
        "'gpu-0' cannot become 'other' without another machine",
    )
    assert refusals(OLD, {**new, "name": "other", "updatePolicy": "replace"}) == []


def test_disks_only_grow() -> None:
    assert refusals(OLD, changed("diskGib", 300)) == []
    ((where, reason),) = refusals(OLD, changed("diskGib", 100))
    assert (where, reason) == (
        "diskGib",
        "100 GiB is less than the present 200 GiB, and a disk cannot shrink: write 200 or more",
    )


def test_unknown_values_refuse_nothing() -> None:
    assert refusals(OLD, changed("cpus", UNKNOWN)) == []
    found = changes(OLD, changed("name", UNKNOWN))
    assert replaces(found, "refuse") == ["name"]
