"""Causes in NodePools and NodeClaims of Karpenter.

Sources: kubernetes-sigs/karpenter `pkg/apis/v1/nodeclaim_status.go` (Launched, Registered), `pkg/
controllers/nodeclaim/lifecycle` (15 minutes to register), `provisioning/scheduling`;
EC2 error codes; Google Cloud `ZONE_RESOURCE_POOL_EXHAUSTED`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.cause import Cause, Patient, Sighting, Sign, cause, found_at
from gpufleet_policies.doctor.observed import Seen, text
from gpufleet_policies.doctor.pending import WhyPending
from gpufleet_policies.doctor.pod_causes import of_proofs, waiting

_POOL = "karpenter.sh/nodepool"
_NO_CAPACITY = (
    r"InsufficientCapacityError|InsufficientInstanceCapacity|UnfulfillableCapacity|insufficient "
    r"capacity|ZONE_RESOURCE_POOL_EXHAUSTED|SkuNotAvailable|were unavailable during launch"
)
_NO_QUOTA = (
    r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|InstanceLimitExceeded|QuotaExceeded|"
    r"QUOTA_EXCEEDED"
)
REGISTER_MINUTES = 15
"""How long Karpenter waits for a node to register before it deletes the NodeClaim."""


def _by_pool(patient: Patient, kind: str) -> Iterator[tuple[Seen, list[WhyPending]]]:
    """NodePools that one thing keeps from making a node for pods that no other helps."""
    found: dict[str, list[WhyPending]] = defaultdict(list)
    for proof in waiting(patient):
        for one in proof.pools if all(pool.reason for pool in proof.pools) else ():
            if one.kind == kind:
                found[one.pool].append(proof)
    for name, proofs in found.items():
        pool = patient.cluster.get("NodePool", name)
        if pool is not None:
            yield pool, proofs


def _gpus(proofs: list[WhyPending]) -> int:
    return sum(p.same * (sum(p.pod.devices.values()) or 1) for p in proofs)


def _refs(proofs: list[WhyPending]) -> tuple[str, ...]:
    return tuple(proof.pod.ref for proof in proofs)


@cause("nodepool-not-ready")
def _not_ready(patient: Patient) -> Iterator[Sighting]:
    for pool, proofs in _by_pool(patient, "ready"):
        wrong = {k: c for k, c in pool.conditions.items() if c.get("status") == "False"}
        yield found_at(
            pool,
            *(
                Sign(pool.ref, f"status.conditions[{k}]", f"False ({text(c.get('reason'))})")
                for k, c in wrong.items()
            ),
            explains=_refs(proofs),
            gpus=_gpus(proofs),
            wrong=", ".join(wrong),
            waiting=proofs[0].pod.name,
        )


@cause("nodepool-limit-reached")
def _limit(patient: Patient) -> Iterator[Sighting]:
    for pool, proofs in _by_pool(patient, "limit"):
        why = next(one for one in proofs[0].pools if one.pool == pool.name)
        yield found_at(
            pool,
            Sign(pool.ref, "spec.limits", why.reason.partition("(")[2].rstrip(")")),
            explains=_refs(proofs),
            gpus=_gpus(proofs),
            why=why,
            waiting=proofs[0].pod.name,
        )


def _waiting_for(patient: Patient, claim: Seen) -> list[WhyPending]:
    """Proofs of pods that the pool of a NodeClaim can make a node for."""
    pool = claim.labels.get(_POOL, "")
    return [
        proof
        for proof in waiting(patient)
        if any(one.pool == pool and not one.reason for one in proof.pools)
    ]


def _not_launched(code: str, words: str) -> Cause:
    """A cause of NodeClaims whose machine was refused with certain words."""

    def find(patient: Patient) -> Iterator[Sighting]:
        for claim in patient.cluster.all("NodeClaim"):
            launched = claim.conditions.get("Launched", {})
            told = " ".join(event.message for event in patient.cluster.events_of(claim))
            found = re.search(words, f"{text(launched.get('message'))} {told}")
            if launched.get("status") == "True" or found is None or claim.ref in patient.explained:
                continue
            ways = [
                str(value)
                for one in map(mapping, items(claim.spec.get("requirements")))
                if one.get("key") == "karpenter.sh/capacity-type"
                for value in items(one.get("values"))
            ]
            proofs = _waiting_for(patient, claim)
            yield found_at(
                claim,
                Sign(claim.ref, "status.conditions[Launched].message", found[0]),
                explains=_refs(proofs),
                gpus=_gpus(proofs),
                said=found[0],
                ways=f" ({', '.join(ways)})" if ways else "",
            )

    return cause(code)(find)


@cause("nodeclaim-not-registered")
def _not_registered(patient: Patient) -> Iterator[Sighting]:
    for claim in patient.cluster.all("NodeClaim"):
        launched = claim.conditions.get("Launched", {}).get("status") == "True"
        registered = claim.conditions.get("Registered", {})
        age = patient.cluster.minutes_since(claim.metadata.get("creationTimestamp"))
        young = age is not None and age < REGISTER_MINUTES
        if not launched or registered.get("status") == "True" or young:
            continue
        proofs = _waiting_for(patient, claim)
        said = f"{text(registered.get('status'))} ({text(registered.get('reason'))})"
        yield found_at(
            claim,
            Sign(claim.ref, "status.conditions[Registered]", said),
            explains=_refs(proofs),
            gpus=_gpus(proofs),
            minutes=REGISTER_MINUTES,
        )


@of_proofs("nodepool-cannot-make")
def _cannot_make(patient: Patient, proof: WhyPending) -> Sighting | None:
    if not proof.pools or any(not one.reason for one in proof.pools) or proof.before:
        return None
    if any(all(b.resource and b.fits_empty for b in node.blockers) for node in proof.nodes):
        return None  # a node that is full today takes it tomorrow
    return found_at(
        proof,
        *(Sign(f"NodePool/{p.pool}", "spec.template.spec", p.reason) for p in proof.pools[:4]),
        best=min(proof.pools, key=lambda one: (one.cost, one.pool)),
    )


CAUSES = (
    _not_ready,
    _limit,
    _not_launched("account-quota-exceeded", _NO_QUOTA),
    _not_launched("capacity-unavailable", _NO_CAPACITY),
    _not_registered,
    _cannot_make,
)
