"""What the provider knows of each property of a machine: the one table of it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic.alias_generators import to_snake

Rows = Sequence[Mapping[str, Any]]


class MachineChangeKind(Enum):
    """What happens to the machine when a property changes."""

    REPLACE = "replace"
    """Another machine."""
    POWERED_OFF = "poweredOff"
    """In place, with the machine off."""
    IN_PLACE = "inPlace"
    """In place, while it runs."""
    REFUSED = "refused"
    """Not by this resource."""
    SETTING = "setting"
    """Only how the provider behaves: vCenter is not called."""


@dataclass(frozen=True, slots=True)
class MachineProperty:
    """One property of a machine."""

    path: str
    """Name of the input."""
    kind: MachineChangeKind
    """What its change means."""
    names: str = ""
    """Kind of vCenter's object that it names; empty: it names none."""
    names_in: tuple[str, str] | None = None
    """Of a list of rows, the field that names an object, and the kind of the object."""
    as_in_template: bool = False
    """Left out, it is what the template has, and afterwards what the machine has."""
    actual: str = ""
    """Output with what the machine has of it, declared or not; empty: there is none."""
    first_boot: bool = False
    """Whether a guest reads it once: `ignoreUserDataChanges` leaves its changes alone."""
    drift_only: bool = False
    """Whether it is not declared, and vCenter or the cluster shows it: all memory is always
    reserved, a machine always runs, its firmware is the one its guest was installed under, and its
    node is Ready."""
    because: str = ""
    """Why its change is refused."""
    plain: str | None = None
    """Where it is one value that `NodeSettings` and `Observed` have under the same name: the
    attribute of vCenter's `ConfigSpec` that it is written into; empty: it is not written alone, or
    not at all. None: it is no such value."""
    takes_away: Callable[[Rows, Rows], bool] | None = None
    """Of a list of devices, whether a change takes one away: only while the machine is off."""


def disks_need_power_off(old: Rows, new: Rows) -> bool:
    """Whether a disk goes: a guest may have it mounted."""
    return bool(_names(old) - _names(new))


def adapters_need_power_off(old: Rows, new: Rows) -> bool:
    """Whether an adapter goes: there are fewer, or one is to be of another type; or one of the
    host's functions comes, moves or goes."""
    functions = [
        sorted(str(row.get("network")) for row in rows if row.get("adapter") == "sriov")
        for rows in (old, new)
    ]
    if len(new) < len(old) or functions[0] != functions[1]:
        return True
    types, wanted = (Counter(row.get("adapter") for row in rows) for rows in (old, new))
    any_will_do = wanted.pop(None, 0)
    types.pop(None, None)
    return (types - wanted).total() > any_will_do


def _names(rows: Rows) -> set[str]:
    return {str(row.get("name")) for row in rows}


_REPLACE, _OFF = MachineChangeKind.REPLACE, MachineChangeKind.POWERED_OFF
_IN_PLACE, _REFUSED = MachineChangeKind.IN_PLACE, MachineChangeKind.REFUSED
_DISKS = "disks move by an administrator, with Storage vMotion while off"
_Row = MachineProperty
_ROWS = (
    _Row("endpoint.server", _REPLACE, names="server"),
    _Row("place.datacenter", _REPLACE, names="datacenter"),
    _Row("place.template", _REPLACE, names="template"),
    _Row(
        "place.cluster",
        _REFUSED,
        names="cluster",
        because="a machine with GPUs moves cold, by an administrator",
    ),
    _Row("place.datastore", _REFUSED, names="datastore", because=_DISKS),
    _Row("place.datastoreCluster", _REFUSED, names="datastoreCluster", because=_DISKS),
    _Row(
        "place.storagePolicy",
        _REFUSED,
        because="vCenter moves or rewrites the disks: by an administrator",
    ),
    _Row("place.resourcePool", _IN_PLACE, names="resourcePool"),
    _Row("place.folder", _IN_PLACE, names="folder"),
    _Row("place.network", _IN_PLACE, names="network"),
    _Row("place.adapter", _OFF, as_in_template=True),
    _Row(
        "place.networks",
        _IN_PLACE,
        names_in=("network", "network"),
        takes_away=adapters_need_power_off,
    ),
    _Row("name", _REPLACE),
    _Row("cpus", _OFF, plain="numCPUs"),
    _Row("coresPerSocket", _OFF, as_in_template=True, plain="numCoresPerSocket"),
    _Row("coresPerNumaNode", _OFF, as_in_template=True, plain="virtualNuma.coresPerNumaNode"),
    _Row("cpuReservationMhz", _IN_PLACE, as_in_template=True, plain=""),
    _Row("cpuShares", _IN_PLACE, as_in_template=True, plain=""),
    _Row("memoryMib", _OFF, plain="memoryMB"),
    _Row("memoryLocked", _IN_PLACE, drift_only=True),
    _Row("diskGib", _IN_PLACE, as_in_template=True),
    _Row(
        "extraDisks",
        _IN_PLACE,
        names_in=("datastore", "datastore"),
        takes_away=disks_need_power_off,
    ),
    _Row(
        "firmware",
        _REFUSED,
        drift_only=True,
        because="the guest was installed under the other firmware and does not start under this "
        "one: set it back in the vSphere client",
    ),
    _Row(
        "guestId",
        _REFUSED,
        as_in_template=True,
        actual="guestIdActual",
        plain="",
        because="vCenter chose the machine's devices for its guest: correct guestId, or build "
        "another template",
    ),
    _Row("hardwareVersion", _OFF, as_in_template=True, actual="hardwareVersionActual", plain=""),
    *(_Row(path, _OFF) for path in ("gpu", "nics", "gpuMemoryGib", "mmioGib")),
    _Row("latencySensitivity", _OFF, plain="latencySensitivity.level"),
    _Row("extraConfig", _OFF),
    _Row("bootSha256", _REPLACE, first_boot=True),
    _Row("userDataSha256", _REPLACE, first_boot=True),
    _Row("userDataFormat", _REPLACE),
    _Row("vendorDataSha256", _REPLACE, first_boot=True),
    _Row("metaData", _REPLACE, first_boot=True),
    _Row("addresses", _REPLACE, first_boot=True),
    _Row("annotation", _IN_PLACE, plain="annotation"),
    *(_Row(path, _IN_PLACE) for path in ("customAttributes", "tags")),
    _Row("powerState", _IN_PLACE, drift_only=True),
    _Row("nodeReady", _REPLACE, drift_only=True),
    _Row("vmGroup", _IN_PLACE),
    _Row("drsBehavior", _IN_PLACE),
    *(
        _Row(path, MachineChangeKind.SETTING)
        for path in (
            *("endpoint.port", "endpoint.insecure", "endpoint.caCertFile"),
            *("endpoint.thumbprintSha256", "endpoint.credentialsKey", "endpoint.plainHttp"),
            *("place.hosts", "place.denyHosts", "waitFor", "kubernetes"),
            *("replaceNotReadyMinutes", "maxPerHost", "separateHosts", "updatePolicy"),
            *("ignoreUserDataChanges", "onCreateFailure", "deletePolicy", "timeouts"),
        )
    ),
)
PROPERTIES: Mapping[str, MachineProperty] = {row.path: row for row in _ROWS}
"""By path. A property that is not here is not compared: what may move by itself (host, addresses,
change version)."""


def plain_differences(settings: Any, live: Any) -> Mapping[str, Any]:
    """Plain values that a machine has where they are not what is declared, by path.

    Args:
        settings: `NodeSettings`; what is not declared is None.
        live: `Observed`.
    """
    found: dict[str, Any] = {}
    for row in _ROWS:
        if row.plain is not None:
            name = to_snake(row.path)
            wanted, has = getattr(settings, name), getattr(live, name)
            if wanted is not None and wanted != has:
                found[row.path] = has
    return found
