"""Devices of ResourceSlices, and whether a node's give what a claim asks.

Sources: kubernetes `staging/src/k8s.io/dynamic-resource-allocation/structured` (allocator: every
request of a claim on one node, a device once, constraints, shared counters), `cel/compile.go`.
What an expression cannot answer is None: not known.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gpufleet.contract.programs.dra_cel_functions import functions
from gpufleet.documents.quantities import quantity
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.observed import Seen, text
from gpufleet_policies.doctor.snapshot import Dump

Id = tuple[str, str, str]
"""Driver, pool and name of a device."""


@dataclass(frozen=True, eq=False)
class OfferedDevice:
    """One device of a slice."""

    id: Id
    node: str
    """Empty: of every node, or of those that a selector names."""
    raw: dict[str, Any]

    @property
    def variable(self) -> dict[str, Any]:
        """`device` of an expression."""
        driver = self.id[0]
        attributes: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, value in mapping(self.raw.get("attributes")).items():
            domain, _, short = name.rpartition("/")
            attributes[domain or driver][short] = _plain(mapping(value))
        capacity: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, value in mapping(self.raw.get("capacity")).items():
            domain, _, short = name.rpartition("/")
            amount = quantity(str(mapping(value).get("value", value)))
            capacity[domain or driver][short] = {"quantity": str(amount or 0)}
        for found in (attributes, capacity):
            found.setdefault(driver, {})
        return {"driver": driver, "attributes": dict(attributes), "capacity": dict(capacity)}


def _plain(value: Mapping[str, Any]) -> Any:
    if "version" in value:
        parts = text(value["version"]).split("-")[0].split("+")[0].split(".")
        return {"semver": tuple(int(part) if part.isdigit() else 0 for part in parts[:3])}
    return next(iter(value.values()), "")


def devices_of(cluster: Dump) -> list[OfferedDevice]:
    """Devices of the latest generation of each pool."""
    latest: dict[tuple[str, str], int] = {}
    found: list[tuple[int, OfferedDevice]] = []
    for one in cluster.all("ResourceSlice"):
        pool = mapping(one.spec.get("pool"))
        key = text(one.spec.get("driver")), text(pool.get("name"))
        number = pool.get("generation")
        generation = number if isinstance(number, int) else 0
        latest[key] = max(latest.get(key, 0), generation)
        for raw in map(mapping, items(one.spec.get("devices"))):
            inner = raw | mapping(raw.get("basic"))
            device = OfferedDevice(
                (*key, text(raw.get("name"))), text(one.spec.get("nodeName")), inner
            )
            found.append((generation, device))
    return [device for number, device in found if number == latest[device.id[:2]]]


def taken(cluster: Dump) -> dict[Id, Seen]:
    """Devices that claims hold, and the claim."""
    found: dict[Id, Seen] = {}
    for claim in cluster.all("ResourceClaim"):
        for one in results(claim):
            found[one] = claim
    return found


def results(claim: Seen) -> list[Id]:
    """Devices that a claim was given."""
    allocation = mapping(mapping(claim.status.get("allocation")).get("devices"))
    return [
        (text(one.get("driver")), text(one.get("pool")), text(one.get("device")))
        for one in map(mapping, items(allocation.get("results")))
    ]


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a claim."""

    name: str
    device_class: str
    count: int
    """0: all that match."""
    selectors: tuple[str, ...]


def requests_of(claim_spec: Mapping[str, Any]) -> tuple[Request, ...]:
    """Requests of a claim; of alternatives the first, which is tried first."""
    found: list[Request] = []
    devices = mapping(claim_spec.get("devices"))
    for one in map(mapping, items(devices.get("requests"))):
        alternatives = items(one.get("firstAvailable"))
        exact = mapping(alternatives[0] if alternatives else one.get("exactly") or one)
        count = exact.get("count")
        found.append(
            Request(
                text(one.get("name")),
                text(exact.get("deviceClassName")),
                0
                if exact.get("allocationMode") == "All"
                else count
                if isinstance(count, int)
                else 1,
                _expressions(exact.get("selectors")),
            )
        )
    return tuple(found)


def _expressions(selectors: object) -> tuple[str, ...]:
    return tuple(
        text(mapping(mapping(one).get("cel")).get("expression")) for one in items(selectors)
    )


@lru_cache(maxsize=256)
def _program(expression: str) -> Any:
    import cel

    return cel.compile(expression)


def matches(expression: str, variable: Mapping[str, Any]) -> bool | None:
    """Whether an expression is true of a device; None where this reader cannot tell."""
    import cel

    try:
        program = _program(expression)
    except ValueError:
        return None
    try:
        answer = program.execute(cel.Context({"device": dict(variable)}, functions()))
    except KeyError:
        return False  # an attribute that the device does not have: the allocator refuses it as well
    except (RuntimeError, TypeError, ValueError):
        return None
    return answer if isinstance(answer, bool) else None


def class_selectors(cluster: Dump, name: str) -> tuple[str, ...] | None:
    """Expressions of a class; None: there is no such class."""
    found = cluster.get("DeviceClass", name)
    return None if found is None else _expressions(found.spec.get("selectors"))


@dataclass(frozen=True, eq=False)
class Supply:
    """Devices of a cluster, and what is left of them."""

    cluster: Dump
    devices: list[OfferedDevice]
    taken: Mapping[Id, Seen]

    def matching(self, request: Request) -> list[OfferedDevice] | None:
        """Devices that satisfy a request, taken or not; None: not known."""
        own = class_selectors(self.cluster, request.device_class)
        if own is None:
            return []
        found: list[OfferedDevice] = []
        for device in self.devices:
            answers = [matches(one, device.variable) for one in (*own, *request.selectors)]
            if False in answers:
                continue
            if None in answers:
                return None
            found.append(device)
        return found

    def gives(
        self, claim_spec: Mapping[str, Any], node: str, *, whole: bool = False
    ) -> bool | None:
        """Whether a node can give what a claim asks now; with `whole`, were nothing taken."""
        used: set[Id] = set() if whole else set(self.taken)
        left = self._counters(node, used)
        equal = [
            text(mapping(one).get("matchAttribute"))
            for one in items(mapping(claim_spec.get("devices")).get("constraints"))
        ]
        values: dict[str, Any] = {}
        for request in requests_of(claim_spec):
            found = self.matching(request)
            if found is None:
                return None
            here = [one for one in found if one.node in {node, ""}]
            wanted = request.count or len(here)
            if not wanted:
                return False
            given = 0
            for device in here:
                if given == wanted:
                    break
                if device.id in used or not self._fits(device, left):
                    continue
                if not _agrees(device, equal, values):
                    continue
                used.add(device.id)
                self._consume(device, left)
                given += 1
            if given < wanted:
                return False
        return True

    def change(self, claim_spec: Mapping[str, Any], name: str, node: str) -> tuple[str, int]:
        """The smallest change by which a node gives what a claim asks, and how much it is."""
        if self.gives(claim_spec, node, whole=True):
            here = {device.id for device in self.devices if device.node in {node, ""}}
            claims = sorted({self.taken[one].ref for one in here if one in self.taken})
            held = " or ".join(ref.partition("/")[2] for ref in claims[:3])
            return f"end what uses the claim {held}, which holds devices of {node}", 3
        for request in requests_of(claim_spec):
            known = self.matching(request)
            here = [one for one in known or () if one.node in {node, ""}]
            if here and len(here) < request.count:
                most = f"ask for at most {len(here)} of {request.device_class}"
                return f"{most} in the claim {name}, request {request.name}", 4
            free = self.matching(replace(request, selectors=()))
            if known == [] or (known and not here):
                others = [one for one in free or () if one.node in {node, ""}]
                if len(others) >= max(request.count, 1):
                    wrong = " and ".join(request.selectors)
                    return f"take the selector {wrong} of the claim {name} away", 5
        return f"ask for devices in the claim {name} that {node} has", 6

    def _counters(self, node: str, used: set[Id]) -> dict[tuple[str, str, str], Fraction]:
        left: dict[tuple[str, str, str], Fraction] = {}
        for one in self.cluster.all("ResourceSlice"):
            if text(one.spec.get("nodeName")) != node:
                continue
            pool = text(mapping(one.spec.get("pool")).get("name"))
            for group in map(mapping, items(one.spec.get("sharedCounters"))):
                for name, value in mapping(group.get("counters")).items():
                    amount = quantity(str(mapping(value).get("value", 0))) or Fraction(0)
                    left[pool, text(group.get("name")), name] = amount
        for device in self.devices:
            if device.id in used and device.node == node:
                self._consume(device, left)
        return left

    @staticmethod
    def _asked(device: OfferedDevice) -> Iterator[tuple[tuple[str, str, str], Fraction]]:
        for group in map(mapping, items(device.raw.get("consumesCounters"))):
            for name, value in mapping(group.get("counters")).items():
                amount = quantity(str(mapping(value).get("value", 0))) or Fraction(0)
                yield (device.id[1], text(group.get("counterSet")), name), amount

    def _fits(self, device: OfferedDevice, left: Mapping[tuple[str, str, str], Fraction]) -> bool:
        return all(left.get(key, Fraction(0)) >= amount for key, amount in self._asked(device))

    def _consume(self, device: OfferedDevice, left: dict[tuple[str, str, str], Fraction]) -> None:
        for key, amount in self._asked(device):
            left[key] = left.get(key, Fraction(0)) - amount


def _agrees(device: OfferedDevice, attributes: list[str], values: dict[str, Any]) -> bool:
    """Whether a device has the values that those before it have, of attributes that must match."""
    known = device.variable["attributes"]
    for name in filter(None, attributes):
        domain, _, short = name.rpartition("/")
        value = known.get(domain or device.id[0], {}).get(short)
        if value is None or values.setdefault(name, value) != value:
            return False
    return True


def supply_of(cluster: Dump) -> Supply:
    """The devices of a cluster."""
    return Supply(cluster, devices_of(cluster), taken(cluster))
