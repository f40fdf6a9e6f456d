"""Causes in claims of dynamic resource allocation.

Source: kubernetes `pkg/scheduler/framework/plugins/dynamicresources` (what is looked up before any
node, what each node must give), `staging/src/k8s.io/dynamic-resource-allocation/structured`.
"""

from collections.abc import Iterator
from typing import Any

from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, each, found_at
from gpufleet_policies.doctor.devices import requests_of, results
from gpufleet_policies.doctor.observed import Seen, SeenPod, entries, text
from gpufleet_policies.doctor.pending import claim_specs, missing

Asked = tuple[SeenPod, Seen, dict[str, object]]


def _waiting(patient: Patient) -> Iterator[SeenPod]:
    for proof in patient.proofs:
        if proof.pod.claims and proof.pod.ref not in patient.explained:
            yield proof.pod


def _claims(patient: Patient) -> Iterator[Asked]:
    """Claims without devices of pods that wait, or their templates, and what they ask."""
    get = patient.cluster.get
    for pod in _waiting(patient):
        for name, spec in claim_specs(patient.cluster, pod).items():
            found = get("ResourceClaim", name, pod.namespace)
            yield pod, found or get("ResourceClaimTemplate", name, pod.namespace) or pod, spec


_of_waiting = each(_waiting)
_of_claims = each(_claims)


def _missing(patient: Patient, pod: SeenPod, kind: str) -> Sighting | None:
    found = (name for one, name in missing(patient.cluster, pod) if one == kind)
    return next((found_at(pod, name=name) for name in found), None)


@_of_waiting("claim-missing")
def _no_claim(patient: Patient, pod: SeenPod) -> Sighting | None:
    return _missing(patient, pod, "ResourceClaim")


@_of_waiting("claim-template-missing")
def _no_template(patient: Patient, pod: SeenPod) -> Sighting | None:
    return _missing(patient, pod, "ResourceClaimTemplate")


@_of_claims("claim-class-missing")
def _no_class(patient: Patient, asked: Asked) -> Sighting | None:
    pod, claim, spec = asked
    there = ", ".join(sorted(one.name for one in patient.cluster.all("DeviceClass"))) or "none"
    for name in (request.device_class for request in requests_of(spec)):
        if name and patient.cluster.get("DeviceClass", name) is None:
            return found_at(claim, explains=(pod.ref,), gpus=1, name=name, there=there)
    return None


@cause("claim-held-by-finished")
def _held(patient: Patient) -> Iterator[Sighting]:
    pods = {(pod.namespace, pod.name): pod for pod in patient.cluster.pods}
    for claim in patient.cluster.all("ResourceClaim") if pods else ():
        reserved, count = entries(claim.status, "reservedFor"), len(results(claim))
        users = [text(one.get("name")) for one in reserved if one.get("resource") in ("pods", None)]
        found = [pods.get((claim.namespace, name)) for name in users]
        if count and users and all(pod is None or pod.ended for pod in found):
            named = ", ".join(users[:3])
            yield found_at(claim, gpus=count, devices=count, user=users[0], users=named)


@_of_claims("claim-unsatisfiable")
def _unsatisfiable(patient: Patient, asked: Asked) -> Sighting | None:
    pod, claim, spec = asked
    supply, nodes = patient.supply, patient.cluster.nodes
    if not supply.devices or any(supply.gives(spec, n, whole=True) is not False for n in nodes):
        return None
    requests = tuple(requests_of(spec))
    said: dict[str, Any]
    for request in requests:
        found = supply.matching(request) or {}
        per = max((len(found.get(name, ())) for name in nodes), default=0)
        count = f"{request.count or 'all'} of {request.device_class}"
        if not found or per < (request.count or 1):
            said = {
                "case": "too many" if found else "none",
                "asked": count,
                "place": f"requests[{request.name}]",
                "wanted": " and ".join(request.selectors) or count,
                "matched": f"{sum(map(len, found.values()))} of {len(supply.devices)} match",
                "per": per,
            }
            break
    else:
        equal = ", ".join(
            text(c.get("matchAttribute")) for c in entries(spec, "devices.constraints")
        )
        asked_for = " and ".join(f"{one.count or 'all'} of {one.device_class}" for one in requests)
        said = {
            "case": "constraint" if equal else "together",
            "asked": asked_for,
            "place": "constraints" if equal else "requests",
            "wanted": equal or asked_for,
            "matched": "each request alone is met on a node",
            "constraint": equal,
        }
    gpus = max(sum(one.count for one in requests), 1)
    return found_at(claim, explains=(pod.ref,), gpus=gpus, **said)


@_of_claims("claim-devices-taken")
def _taken(patient: Patient, asked: Asked) -> Sighting | None:
    pod, claim, spec = asked
    supply = patient.supply
    able = [n for n in patient.cluster.nodes if supply.gives(spec, n, whole=True)]
    if not able or any(supply.gives(spec, name) for name in able):
        return None
    holders = {one.ref: one for id_, one in supply.taken.items() if id_[1] in able}
    first = sorted(holders.items())[:3]
    named = ", ".join(ref.partition("/")[2] for ref, _ in first)
    place = "status.allocation.devices.results"
    signs = (Sign(ref, place, str(len(results(one)))) for ref, one in first)
    holds = f" to {named}" if named else ""
    return found_at(claim, *signs, explains=(pod.ref,), gpus=1, holders=holds)
