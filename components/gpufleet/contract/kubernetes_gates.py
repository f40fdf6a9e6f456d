"""Gates of Kubernetes that a field of a claim or class needs, by minor version.

The API server drops a field whose gate is off and does not report it (`dropDisabledFields` of
`pkg/registry/resource`). Which minor has which gate on: features.jsonl of the catalogue, from
`pkg/features/kube_features.go`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpufleet.cluster.program import KUBERNETES
from gpufleet.cluster.site import Site
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping

FIELDS: Mapping[str, str] = {
    "extendedResourceName": "DRAExtendedResource",
    "firstAvailable": "DRAPrioritizedList",
    "tolerations": "DRADeviceTaints",
    "capacity": "DRAConsumableCapacity",
    "distinctAttribute": "DRAConsumableCapacity",
    "adminAccess": "DRAAdminAccess",
}
"""Field of a class, request or constraint of resource.k8s.io -> the gate that keeps it (k8s.io/api
v0.36.3 `resource/v1/types.go`, `+featureGate`)."""


@dataclass(frozen=True, slots=True)
class GateOff:
    """A gate that is not on in the cluster's minor version."""

    gate: str
    message: str
    on_since: str | None
    """First minor version in which it is on by default."""


def gate_off(gate: str, site: Site) -> GateOff | None:
    """Why a gate of Kubernetes is off here; None where it is on, or the minor is not known."""
    if site.kubernetes_gate(gate) is not False or site.minor is None:
        return None
    row = site.catalogue.features(KUBERNETES).gates[gate]
    said = ".".join(map(str, site.minor))
    state = (
        f"is off by default in Kubernetes {said}"
        if row.is_in(site.minor)
        else f"Kubernetes {said} does not have"
    )
    return GateOff(
        gate,
        f"this needs the gate {gate}, which {state}"
        + (f" and which is on from {row.on_since}" if row.on_since else ""),
        row.on_since,
    )


def dropped_fields(spec: Any, path: str, site: Site) -> Iterator[tuple[str, GateOff]]:
    """Fields of a class or claim that the API server would drop, with the gate of each."""
    entries, items = as_mapping(spec), as_list(spec)
    for key, value in (entries or {}).items():
        off = gate_off(FIELDS[key], site) if key in FIELDS and value else None
        if off is not None:
            yield child(path, key), off
        elif key not in ("parameters", "selectors"):
            yield from dropped_fields(value, child(path, key), site)
    for index, item in enumerate(items or ()):
        yield from dropped_fields(item, child(path, index), site)
