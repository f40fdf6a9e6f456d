"""Causes in claims of dynamic resource allocation.

Source: kubernetes `pkg/scheduler/framework/plugins/dynamicresources` (what is looked up before any
node, what each node must give), `staging/src/k8s.io/dynamic-resource-allocation/structured`.
"""

from collections.abc import Iterator

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, found_at
from gpufleet_policies.doctor.devices import requests_of, results, supply_of
from gpufleet_policies.doctor.observed import Seen, SeenPod, text
from gpufleet_policies.doctor.pending import claim_name, claim_specs

_ENTRY = "spec.resourceClaims[]."


def _waiting(patient: Patient) -> Iterator[SeenPod]:
    for proof in patient.proofs:
        if proof.pod.claims and proof.pod.ref not in patient.explained:
            yield proof.pod


@cause("claim-missing")
def _missing(patient: Patient) -> Iterator[Sighting]:
    for pod in _waiting(patient):
        names = (text(entry.get("resourceClaimName")) for entry in pod.claims)
        for name in filter(None, names):
            if patient.cluster.get("ResourceClaim", name, pod.namespace) is None:
                yield found_at(pod, Sign(pod.ref, f"{_ENTRY}resourceClaimName", name), name=name)
                break


@cause("claim-template-missing")
def _no_template(patient: Patient) -> Iterator[Sighting]:
    for pod in _waiting(patient):
        for entry in pod.claims:
            name = text(entry.get("resourceClaimTemplateName"))
            there = patient.cluster.get("ResourceClaimTemplate", name, pod.namespace)
            if name and there is None and not claim_name(pod, entry):
                place = f"{_ENTRY}resourceClaimTemplateName"
                yield found_at(pod, Sign(pod.ref, place, name), name=name)
                break


def _claims(patient: Patient) -> Iterator[tuple[SeenPod, Seen, dict[str, object]]]:
    """Claims without devices of pods that wait, or their templates, and what they ask."""
    get = patient.cluster.get
    for pod in _waiting(patient):
        for name, spec in claim_specs(patient.cluster, pod).items():
            found = get("ResourceClaim", name, pod.namespace)
            yield pod, found or get("ResourceClaimTemplate", name, pod.namespace) or pod, spec


@cause("claim-class-missing")
def _no_class(patient: Patient) -> Iterator[Sighting]:
    there = ", ".join(sorted(one.name for one in patient.cluster.all("DeviceClass"))) or "none"
    for pod, claim, spec in _claims(patient):
        for request in requests_of(spec):
            name = request.device_class
            if name and patient.cluster.get("DeviceClass", name) is None:
                yield found_at(
                    claim,
                    Sign(claim.ref, "spec.devices.requests[].deviceClassName", name),
                    Sign("DeviceClass", "metadata.name", there),
                    explains=(pod.ref,),
                    gpus=1,
                    name=name,
                    there=there,
                )
                break


@cause("claim-held-by-finished")
def _held(patient: Patient) -> Iterator[Sighting]:
    pods = {(pod.namespace, pod.name): pod for pod in patient.cluster.pods}
    for claim in patient.cluster.all("ResourceClaim") if pods else ():
        given = results(claim)
        reserved = map(mapping, items(claim.status.get("reservedFor")))
        users = [text(one.get("name")) for one in reserved if one.get("resource") in ("pods", None)]
        found = [pods.get((claim.namespace, name)) for name in users]
        if not given or not users or any(pod is not None and not pod.ended for pod in found):
            continue
        count = f"{len(given)} devices"
        yield found_at(
            claim,
            Sign(claim.ref, "status.reservedFor", ", ".join(users[:3])),
            Sign(claim.ref, "status.allocation.devices.results", count),
            gpus=len(given),
            devices=len(given),
            user=users[0],
        )


@cause("claim-unsatisfiable")
def _unsatisfiable(patient: Patient) -> Iterator[Sighting]:
    supply, nodes = supply_of(patient.cluster), patient.cluster.nodes
    for pod, claim, spec in _claims(patient):
        answers = [supply.gives(spec, name, whole=True) for name in nodes]
        if not supply.devices or any(one is not False for one in answers):
            continue
        for request in requests_of(spec):
            found = supply.matching(request) or []
            per = max((sum(one.node == name for one in found) for name in nodes), default=0)
            if found and per >= (request.count or 1):
                continue
            asked = f"{request.count or 'all'} of {request.device_class}"
            place = f"spec.devices.requests[{request.name}]"
            matched = f"{len(found)} of {len(supply.devices)} match"
            yield found_at(
                claim,
                Sign(claim.ref, place, " and ".join(request.selectors) or asked),
                Sign("ResourceSlice", "spec.devices", matched),
                explains=(pod.ref,),
                gpus=request.count or 1,
                asked=asked,
                why=f"{per} match on the node with the most"
                if found
                else "no published device satisfies its selectors",
                help=f"ask for at most {per} on one node"
                if found
                else "compare the selectors with `kubectl get resourceslices -o yaml`: product, "
                "memory, profile",
            )
            break


@cause("claim-devices-taken")
def _taken(patient: Patient) -> Iterator[Sighting]:
    supply = supply_of(patient.cluster)
    for pod, claim, spec in _claims(patient):
        able = [n for n in patient.cluster.nodes if supply.gives(spec, n, whole=True)]
        if not able or any(supply.gives(spec, name) for name in able):
            continue
        holders = {one.ref: one for id_, one in supply.taken.items() if id_[1] in able}
        named = ", ".join(ref.partition("/")[2] for ref in sorted(holders)[:3])
        place = "status.allocation.devices.results"
        yield found_at(
            claim,
            *(Sign(r, place, f"{len(results(c))}") for r, c in sorted(holders.items())[:3]),
            explains=(pod.ref,),
            gpus=1,
            holders=f" to {named}" if named else "",
        )


CAUSES = (_missing, _no_template, _no_class, _unsatisfiable, _taken, _held)
