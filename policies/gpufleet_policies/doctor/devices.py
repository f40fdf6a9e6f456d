"""Devices of ResourceSlices, and whether a node's devices satisfy a claim.

Sources: kubernetes `staging/src/k8s.io/dynamic-resource-allocation/structured` (allocator: every
request of a claim on one node, a device once, constraints, shared counters), `cel/compile.go`.
The value of an expression that cannot be evaluated is None: unknown.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gpufleet.contract.programs.dra_cel_functions import evaluated
from gpufleet.documents.paths import mapping_at, text_at
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.blockers import Blocker, blocker
from gpufleet_policies.doctor.observed import Seen, entries, text
from gpufleet_policies.doctor.snapshot import Dump

Id = tuple[str, str, str]
"""Driver, pool and name of a device."""
Counters = dict[tuple[str, str, str], Fraction]
"""Pool, set and name of a counter -> what it has."""


class OfferedDevice:
    """One device of a slice.

    Attributes:
        node: Empty: of every node, or of the nodes that a selector names.
        variable: `device` of an expression.
        consumes: Its use of the counters that devices of its pool share.
    """

    def __init__(self, driver: str, pool: str, node: str, raw: Mapping[str, Any]) -> None:
        """Read a device; before v1 its fields were in `basic`."""
        self.id: Id = (driver, pool, text(raw.get("name")))
        self.node = node
        inner = {**raw, **mapping(raw.get("basic"))}
        self.variable: dict[str, Any] = {"driver": driver}
        for kind, read in (("attributes", _plain), ("capacity", _quantity)):
            found: dict[str, dict[str, Any]] = defaultdict(dict, {driver: {}})
            for name, value in mapping(inner.get(kind)).items():
                domain, _, short = name.rpartition("/")
                found[domain or driver][short] = read(value)
            self.variable[kind] = dict(found)
        self.consumes = _counters(pool, entries(inner, "consumesCounters"), "counterSet")


def _plain(given: Any) -> Any:
    value = mapping(given)
    if "version" in value:
        parts = text(value["version"]).split("-")[0].split("+")[0].split(".")
        return {"semver": tuple(int(part) if part.isdigit() else 0 for part in parts[:3])}
    return next(iter(value.values()), "")


def _amount(value: Any) -> Fraction:
    return quantity(str(mapping(value).get("value", value))) or Fraction(0)


def _quantity(value: Any) -> dict[str, str]:
    return {"quantity": str(_amount(value))}


def _counters(pool: str, groups: list[dict[str, Any]], named: str) -> Counters:
    return {
        (pool, text(group.get(named)), name): _amount(value)
        for group in groups
        for name, value in mapping(group.get("counters")).items()
    }


def results(claim: Seen) -> list[Id]:
    """Devices that a claim was given."""
    found = entries(claim.status, "allocation.devices.results")
    return [
        (text(one.get("driver")), text(one.get("pool")), text(one.get("device"))) for one in found
    ]


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a claim."""

    name: str
    device_class: str
    count: int
    """0: all that match."""
    selectors: tuple[str, ...]


def requests_of(claim_spec: Mapping[str, Any]) -> Iterator[Request]:
    """Requests of a claim; of alternatives the first, which is tried first."""
    for one in entries(claim_spec, "devices.requests"):
        first = next(iter(items(one.get("firstAvailable"))), None)
        exact = mapping(first or one.get("exactly") or one)
        given = exact.get("count")
        count = given if isinstance(given, int) else 1
        yield Request(
            text(one.get("name")),
            text(exact.get("deviceClassName")),
            0 if exact.get("allocationMode") == "All" else count,
            _expressions(exact),
        )


def _expressions(holder: Mapping[str, Any]) -> tuple[str, ...]:
    found = entries(holder, "selectors")
    return tuple(text_at(one, "cel.expression") for one in found)


def matches(expression: str, variable: Mapping[str, Any]) -> bool | None:
    """Whether an expression is true of a device; None where this reader cannot tell."""
    try:
        answer = evaluated(expression, variable)
    except KeyError:
        return False  # an attribute that the device does not have: the allocator refuses it as well
    except (RuntimeError, TypeError, ValueError):
        return None
    return answer if isinstance(answer, bool) else None


class Supply:
    """Devices of a cluster, and what is left of them.

    Attributes:
        devices: Devices of the latest generation of each pool.
        taken: Devices that claims hold, and the claim.
    """

    def __init__(self, cluster: Dump) -> None:
        """Read slices and claims."""
        self.cluster = cluster
        latest: dict[tuple[str, str], int] = defaultdict(int)
        found: list[tuple[int, OfferedDevice]] = []
        self._shared: dict[str, Counters] = defaultdict(dict)
        for one in cluster.all("ResourceSlice"):
            pool, node = mapping_at(one.spec, "pool"), text(one.spec.get("nodeName"))
            driver, name = text(one.spec.get("driver")), text(pool.get("name"))
            number = pool.get("generation")
            generation = number if isinstance(number, int) else 0
            latest[driver, name] = max(latest[driver, name], generation)
            devices = entries(one.spec, "devices")
            found += ((generation, OfferedDevice(driver, name, node, raw)) for raw in devices)
            self._shared[node] |= _counters(name, entries(one.spec, "sharedCounters"), "name")
        self.devices = [device for number, device in found if number == latest[device.id[:2]]]
        self._matching: dict[Request, dict[str, list[OfferedDevice]] | None] = {}
        self._answers: dict[tuple[int, str, bool], tuple[Mapping[str, Any], bool | None]] = {}
        self._own: dict[str, list[OfferedDevice]] = defaultdict(list)
        for device in self.devices:
            self._own[device.node].append(device)
        claims = cluster.all("ResourceClaim")
        self.taken: dict[Id, Seen] = {one: claim for claim in claims for one in results(claim)}

    def matching(self, request: Request) -> dict[str, list[OfferedDevice]] | None:
        """Devices that satisfy a request, taken or not, by node; None: not known."""
        key = replace(request, name="", count=0)
        if key not in self._matching:
            self._matching[key] = self._found(key)
        return self._matching[key]

    def _found(self, request: Request) -> dict[str, list[OfferedDevice]] | None:
        known = self.cluster.get("DeviceClass", request.device_class)
        found: dict[str, list[OfferedDevice]] = {}
        if known is None:
            return found
        selectors = (*_expressions(known.spec), *request.selectors)
        for device in self.devices:
            answers = [matches(one, device.variable) for one in selectors]
            if None in answers and False not in answers:
                return None
            if False not in answers:
                found.setdefault(device.node, []).append(device)
        return found

    def gives(
        self, claim_spec: Mapping[str, Any], node: str, *, whole: bool = False
    ) -> bool | None:
        """Whether a node satisfies a claim now; with `whole`, with all its devices free."""
        key = (id(claim_spec), node, whole)
        if key not in self._answers:  # the specification is kept, so that its id stays its own
            self._answers[key] = (claim_spec, self._gives(claim_spec, node, whole))
        return self._answers[key][1]

    def _gives(self, claim_spec: Mapping[str, Any], node: str, whole: bool) -> bool | None:
        taken: Mapping[Id, Seen] = {} if whole else self.taken
        used: set[Id] = set()
        left = defaultdict(Fraction, self._shared[node])

        def take(device: OfferedDevice) -> None:
            for key, amount in device.consumes.items():
                left[key] -= amount

        for device in self._own[node]:
            if device.id in taken:
                take(device)
        constraints = entries(claim_spec, "devices.constraints")
        equal = [text(one.get("matchAttribute")) for one in constraints]
        values: dict[str, Any] = {}
        for request in requests_of(claim_spec):
            found = self.matching(request)
            if found is None:
                return None
            here = _on(node, found)
            wanted = given = request.count or len(here)
            for device in here:
                fits = all(left[key] >= amount for key, amount in device.consumes.items())
                if not given or device.id in used or device.id in taken or not fits:
                    continue
                if _agrees(device, equal, values):
                    used.add(device.id)
                    take(device)
                    given -= 1
            if given or not wanted:
                return False
        return True

    def lack(self, claim_spec: Mapping[str, Any], name: str, node: str) -> Blocker:
        """Requests of a claim that a node does not satisfy now, with the smallest change."""
        if self.gives(claim_spec, node, whole=True):
            here = {device.id for device in _on(node, self._own)}
            claims = sorted({self.taken[one].ref for one in here if one in self.taken})
            held = " or ".join(ref.partition("/")[2] for ref in claims[:3])
            return blocker("devices taken", name, f"{held} holds its devices", at=node, held=held)

        for request in requests_of(claim_spec):
            known = self.matching(request)
            if known is None:
                continue
            most, kind = len(_on(node, known)), request.device_class
            if 0 < most < request.count:
                values: dict[str, Any] = {"most": most, "kind": kind, "request": request.name}
                return blocker("devices too few", name, f"{most} match", **values)
            free = _on(node, self.matching(replace(request, selectors=())) or {})
            wrong = " and ".join(request.selectors)
            if wrong and not most and len(free) >= max(request.count, 1):
                return blocker("devices not selected", name, f"none has {wrong}", wrong=wrong)
        constraints = entries(claim_spec, "devices.constraints")
        equal = ", ".join(text(one.get("matchAttribute")) for one in constraints)
        devices = mapping_at(claim_spec, "devices") | {"constraints": list[Any]()}
        if self.gives({"devices": devices}, node, whole=True):
            return blocker("devices apart", name, f"their {equal} differ")
        return blocker("devices missing", name, "not all are there", at=node)


def _on(node: str, found: Mapping[str, list[OfferedDevice]]) -> list[OfferedDevice]:
    """Devices of a node, and those of every node."""
    return [*found.get(node, ()), *found.get("", ())]


def _agrees(device: OfferedDevice, attributes: list[str], values: dict[str, Any]) -> bool:
    """Whether a device has the values that those before it have, of attributes that must match."""
    known = device.variable["attributes"]
    for name in filter(None, attributes):
        domain, _, short = name.rpartition("/")
        value = known.get(domain or device.id[0], {}).get(short)
        if value is None or values.setdefault(name, value) != value:
            return False
    return True


@lru_cache(maxsize=1)
def supply_of(cluster: Dump) -> Supply:
    """The devices of a cluster, read once: the devices of a node are used repeatedly."""
    return Supply(cluster)
