"""The version of resource.k8s.io for claims, templates and classes, and the gates of Kubernetes
that a field of them needs, by minor version.

Kubernetes 1.32 and 1.33 need v1beta1 for claims to work, and serve v1beta2 only if it is also
switched on (kubernetes/website `tasks/configure-pod-container/assign-resources/
set-up-dra-cluster.md` of 1.33; openshift/cluster-kube-apiserver-operator pull request 1929).
The API server drops a field whose gate is off and does not report it (`dropDisabledFields` of
`pkg/registry/resource`). The state of each gate by minor version, and its fields, are rows of
features.jsonl, from `pkg/features/kube_features.go` and `resource/*/types.go`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.program import KUBERNETES
from gpufleet.cluster.site import Site
from gpufleet.documents.paths import child
from gpufleet.documents.shapes import as_list, as_mapping
from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)

GROUP = "resource.k8s.io/"
SERVED: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"v1": (1, 34), "v1beta2": (1, 33), "v1beta1": (1, 32)}
)
"""Version of the API -> first Kubernetes that has it (k8s.io/api v0.31.14 to v0.36.3, `resource`).
"""
FIRST_WITH_V1 = SERVED["v1"]
CHART_KEY = "resourceApiVersion"
"""Value of the driver's chart with the API version of its own classes."""


def claims_api(minor: tuple[int, int], written: object = None) -> str:
    """`apiVersion` of rendered objects: `written`, the chart's value, or the minor version's."""
    if isinstance(written, str) and written:
        return written
    return f"{GROUP}v1" if minor >= FIRST_WITH_V1 else f"{GROUP}v1beta1"


@dataclass(frozen=True, slots=True)
class GateOff:
    """A gate that is not on in the cluster's minor version."""

    gate: str
    message: str
    on_since: str | None
    """First minor version in which it is on by default."""


def gate_off(gate: str, site: Site) -> GateOff | None:
    """Why a gate of Kubernetes is off here; None if it is on, or the minor version is not known."""
    if site.kubernetes_gate(gate) is not False or site.minor is None:
        return None
    row = site.catalogue.features(KUBERNETES).gates[gate]
    said = ".".join(map(str, site.minor))
    state = (
        f"Kubernetes {said} does not have"
        if not row.is_in(site.minor)
        else "this cluster has switched off"
        if gate in (*site.cluster_gates, *site.feature_gates)
        else f"is off by default in Kubernetes {said}"
    )
    return GateOff(
        gate,
        f"this needs the gate {gate}, which {state}"
        + (f" and which is on from {row.on_since}" if row.on_since else ""),
        row.on_since,
    )


def own_gates(site: Site) -> Iterator[Finding]:
    """Declared gates that this Kubernetes does not have, or does not allow to change."""
    table, minor = site.catalogue.features(KUBERNETES), site.minor
    for name, on in site.cluster_gates.items() if minor is not None else ():
        path, row = child("cluster.featureGates", name), table.gates.get(name)
        said = ".".join(map(str, minor or ()))
        if row is None:
            yield _finding(
                "cluster-gate-unknown",
                path,
                fix=(nearest_fix(name, table.gates, "remove the line")),
                value=name,
            )
        elif minor is not None and not row.is_in(minor):
            yield _finding(
                "cluster-gate-unknown/release", path, said=said, value=name, limit=row.since
            )
        elif minor and row.locked and minor >= numbers(row.locked) and on is not row.is_on(minor):
            yield _finding(
                "cluster-gate-locked",
                path,
                name=name,
                limit=row.locked,
                on=str(on).lower(),
                value=on,
            )


def dropped_fields(spec: Any, path: str, site: Site) -> Iterator[tuple[str, GateOff]]:
    """Fields of a class or claim that the API server would drop, with the gate of each."""
    entries, items = as_mapping(spec), as_list(spec)
    gated = site.catalogue.features(KUBERNETES).fields
    for key, value in (entries or {}).items():
        off = gate_off(gated[key].gate, site) if key in gated and value else None
        if off is not None:
            yield child(path, key), off
        elif key not in ("parameters", "selectors"):
            yield from dropped_fields(value, child(path, key), site)
    for index, item in enumerate(items or ()):
        yield from dropped_fields(item, child(path, index), site)
