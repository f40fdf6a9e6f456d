"""Causes in claims of dynamic resource allocation.

Source: kubernetes `pkg/scheduler/framework/plugins/dynamicresources` (what is looked up before any
node, what each node must give), `staging/src/k8s.io/dynamic-resource-allocation/structured`.
"""

from collections.abc import Iterator

from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import Severity
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.devices import requests_of, results, supply_of
from gpufleet_policies.doctor.observed import Cluster, Pod, Seen, text
from gpufleet_policies.doctor.pending import claim_name, claim_specs

_ISSUES = "https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/issues/"
_PLUGIN = "kubernetes/kubernetes pkg/scheduler/framework/plugins/dynamicresources"


def _waiting(patient: Patient) -> Iterator[Pod]:
    for proof in patient.proofs:
        if proof.pod.claims and proof.pod.ref not in patient.explained:
            yield proof.pod


@cause("claim-missing")
def missing(patient: Patient) -> Iterator[Found]:
    for pod in _waiting(patient):
        for entry in pod.claims:
            name = text(entry.get("resourceClaimName"))
            if name and patient.cluster.get("ResourceClaim", name, pod.namespace) is None:
                yield found_at(
                    pod,
                    Evidence(pod.ref, "spec.resourceClaims[].resourceClaimName", name),
                    gpus=1,
                    name=name,
                )
                break


@cause("claim-template-missing")
def no_template(patient: Patient) -> Iterator[Found]:
    for pod in _waiting(patient):
        for entry in pod.claims:
            name = text(entry.get("resourceClaimTemplateName"))
            made = claim_name(pod, entry)
            there = patient.cluster.get("ResourceClaimTemplate", name, pod.namespace)
            if name and not made and there is None:
                yield found_at(
                    pod,
                    Evidence(pod.ref, "spec.resourceClaims[].resourceClaimTemplateName", name),
                    gpus=1,
                    name=name,
                )
                break


def _claims(cluster: Cluster, pod: Pod) -> Iterator[tuple[Seen, dict[str, object]]]:
    """Claims of a pod without devices, or their templates, and what they ask."""
    for name, spec in claim_specs(cluster, pod).items():
        one = cluster.get("ResourceClaim", name, pod.namespace)
        template = cluster.get("ResourceClaimTemplate", name, pod.namespace)
        yield one or template or pod, spec


@cause("claim-class-missing")
def no_class(patient: Patient) -> Iterator[Found]:
    for pod in _waiting(patient):
        for claim, spec in _claims(patient.cluster, pod):
            for request in requests_of(spec):
                name = request.device_class
                if not name or patient.cluster.get("DeviceClass", name) is not None:
                    continue
                there = ", ".join(sorted(one.name for one in patient.cluster.all("DeviceClass")))
                yield found_at(
                    claim,
                    Evidence(claim.ref, "spec.devices.requests[].deviceClassName", name),
                    Evidence("DeviceClass", "metadata.name", there or "none"),
                    explains=(pod.ref,),
                    gpus=1,
                    name=name,
                    a=there or "none is there",
                )
                break


@cause("claim-held-by-finished")
def held(patient: Patient) -> Iterator[Found]:
    if not patient.cluster.has("Pod"):
        return
    pods = {(pod.namespace, pod.name): pod for pod in patient.cluster.pods}
    for claim in patient.cluster.all("ResourceClaim"):
        given = results(claim)
        users = [
            text(mapping(one).get("name"))
            for one in items(claim.status.get("reservedFor"))
            if text(mapping(one).get("resource")) in {"pods", ""}
        ]
        if not given or not users:
            continue
        found = [pods.get((claim.namespace, name)) for name in users]
        if any(pod is not None and not pod.ended for pod in found):
            continue
        yield found_at(
            claim,
            Evidence(claim.ref, "status.reservedFor", ", ".join(users[:3])),
            Evidence(claim.ref, "status.allocation.devices.results", f"{len(given)} devices"),
            gpus=len(given),
            a=len(given),
            b=users[0],
        )


@cause("claim-unsatisfiable")
def unsatisfiable(patient: Patient) -> Iterator[Found]:
    supply = supply_of(patient.cluster)
    for pod in _waiting(patient):
        for claim, spec in _claims(patient.cluster, pod):
            answers = [supply.gives(spec, name, whole=True) for name in patient.cluster.nodes]
            if not supply.devices or any(one is not False for one in answers):
                continue
            for request in requests_of(spec):
                found = supply.matching(request) or []
                per = max(
                    (sum(one.node == name for one in found) for name in patient.cluster.nodes),
                    default=0,
                )
                if found and per >= (request.count or 1):
                    continue
                asked = f"{request.count or 'all'} of {request.device_class}"
                yield found_at(
                    claim,
                    Evidence(
                        claim.ref,
                        f"spec.devices.requests[{request.name}]",
                        " and ".join(request.selectors) or asked,
                    ),
                    Evidence(
                        "ResourceSlice",
                        "spec.devices",
                        f"{len(found)} of {len(supply.devices)} match",
                    ),
                    explains=(pod.ref,),
                    gpus=request.count or 1,
                    fix=f"ask for at most {per} on one node"
                    if found
                    else "compare the selectors with `kubectl get resourceslices -o yaml`: product, memory, profile",
                    asked=asked,
                    a=f"{per} match on the node with the most"
                    if found
                    else "no published device satisfies its selectors",
                )
                break


@cause("claim-devices-taken")
def taken(patient: Patient) -> Iterator[Found]:
    supply = supply_of(patient.cluster)
    for pod in _waiting(patient):
        for claim, spec in _claims(patient.cluster, pod):
            nodes = patient.cluster.nodes
            able = [name for name in nodes if supply.gives(spec, name, whole=True)]
            if not able or any(supply.gives(spec, name) for name in able):
                continue
            holders = {one.ref: one for id_, one in supply.taken.items() if id_[1] in able}
            named = ", ".join(ref.partition("/")[2] for ref in sorted(holders)[:3])
            yield found_at(
                claim,
                *tuple(
                    (
                        Evidence(ref, "status.allocation.devices.results", f"{len(results(one))}")
                        for ref, one in sorted(holders.items())[:3]
                    )
                ),
                explains=(pod.ref,),
                gpus=1,
                a=f" to {named}" if named else "",
            )


CAUSES = (missing, no_template, no_class, unsatisfiable, taken, held)
