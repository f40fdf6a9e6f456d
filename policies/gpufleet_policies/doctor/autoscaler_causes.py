"""Causes in NodePools and NodeClaims of Karpenter.

Sources: kubernetes-sigs/karpenter `pkg/apis/v1/nodeclaim_status.go` (Launched, Registered), `pkg/
controllers/nodeclaim/lifecycle` (15 minutes to register), `provisioning/scheduling`;
EC2 error codes; Google Cloud `ZONE_RESOURCE_POOL_EXHAUSTED`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from gpufleet.documents.shapes import items
from gpufleet_policies.doctor.cause import (
    Patient,
    Sighting,
    Sign,
    cause,
    each,
    found_at,
    of_waiting,
)
from gpufleet_policies.doctor.observed import Seen, entries, text
from gpufleet_policies.doctor.pending import WhyPending

_NO_CAPACITY = re.compile(
    r"InsufficientCapacityError|InsufficientInstanceCapacity|UnfulfillableCapacity|insufficient "
    r"capacity|ZONE_RESOURCE_POOL_EXHAUSTED|SkuNotAvailable|were unavailable during launch"
)
_NO_QUOTA = re.compile(
    r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|InstanceLimitExceeded|QuotaExceeded|"
    r"QUOTA_EXCEEDED"
)
REGISTER_MINUTES = 15
"""How long Karpenter waits for a node to register before it deletes the NodeClaim."""


def _for(proofs: list[WhyPending]) -> dict[str, Any]:
    """What a cause says of pods that wait for it."""
    return {"explains": [p.pod.ref for p in proofs], "gpus": sum(p.gpus for p in proofs)}


def _by_pool(patient: Patient, kind: str) -> Iterator[tuple[Seen, list[WhyPending]]]:
    """NodePools that one thing keeps from making a node for pods that no other helps."""
    found: dict[str, list[WhyPending]] = defaultdict(list)
    for proof in patient.waiting:
        for one in proof.pools if all(pool.reason for pool in proof.pools) else ():
            if one.first.filter == kind:
                found[one.name].append(proof)
    for name, proofs in found.items():
        pool = patient.cluster.get("NodePool", name)
        if pool is not None:
            yield pool, proofs


@cause("nodepool-not-ready")
def _not_ready(patient: Patient) -> Iterator[Sighting]:
    for pool, proofs in _by_pool(patient, "ready"):
        wrong = [kind for kind, one in pool.conditions.items() if one.get("status") == "False"]
        signs = (Sign(pool.ref, f"status.conditions[{k}]", pool.said[k]) for k in wrong)
        waits = proofs[0].pod.name
        yield found_at(pool, *signs, wrong=", ".join(wrong), waiting=waits, **_for(proofs))


@cause("nodepool-limit-reached")
def _limit(patient: Patient) -> Iterator[Sighting]:
    for pool, proofs in _by_pool(patient, "limit"):
        why = next(one for one in proofs[0].pools if one.name == pool.name)
        limit = why.reason.partition("(")[2].rstrip(")") or str(pool.spec.get("limits"))
        waits = proofs[0].pod.name
        yield found_at(pool, why=why, waiting=waits, limit=limit, **_for(proofs))


def _waiting_for(patient: Patient, claim: Seen) -> dict[str, Any]:
    """What is said of pods that the pool of a NodeClaim can make a node for."""
    pool, waiting = claim.labels.get("karpenter.sh/nodepool", ""), list(patient.waiting)
    able = {p.pod.ref for p in waiting for a in p.pools if a.name == pool and not a.reason}
    return _for([proof for proof in waiting if proof.pod.ref in able])


_of_machines = each(
    lambda patient: [
        one for one in patient.cluster.all("NodeClaim") if one.ref not in patient.explained
    ]
)
"""Causes of NodeClaims."""


def _refused(patient: Patient, claim: Seen, words: re.Pattern[str]) -> Sighting | None:
    """A machine that was refused with certain words."""
    told = " ".join(event.message for event in patient.cluster.events_of(claim))
    said = text(claim.conditions.get("Launched", {}).get("message"))
    found = words.search(f"{said} {told}")
    if claim.holds("Launched") or found is None:
        return None
    wanted = (
        ", ".join(map(str, items(one.get("values"))))
        for one in entries(claim.spec, "requirements")
        if one.get("key") == "karpenter.sh/capacity-type"
    )
    ways = "".join(f" ({one})" for one in wanted)
    return found_at(claim, said=found[0], ways=ways, **_waiting_for(patient, claim))


@_of_machines("account-quota-exceeded")
def _quota(patient: Patient, claim: Seen) -> Sighting | None:
    return _refused(patient, claim, _NO_QUOTA)


@_of_machines("capacity-unavailable")
def _capacity(patient: Patient, claim: Seen) -> Sighting | None:
    return _refused(patient, claim, _NO_CAPACITY)


@_of_machines("nodeclaim-not-registered")
def _not_registered(patient: Patient, claim: Seen) -> Sighting | None:
    age = patient.cluster.minutes_since(claim.metadata.get("creationTimestamp"))
    young = age is not None and age < REGISTER_MINUTES
    if not claim.holds("Launched") or claim.holds("Registered") or young:
        return None
    return found_at(claim, minutes=REGISTER_MINUTES, **_waiting_for(patient, claim))


@of_waiting("nodepool-cannot-make")
def _cannot_make(patient: Patient, proof: WhyPending) -> Sighting | None:
    if not proof.pools or any(not one.reason for one in proof.pools) or proof.before:
        return None
    if any(all(b.resource and b.fits_empty for b in node.blockers) for node in proof.nodes):
        return None  # a node that is full today takes it tomorrow
    if proof.pod.claims and patient.cluster.dra_nodes:
        return None  # nodes that are there publish devices: the cause is in the claim
    signs = (Sign(f"NodePool/{p.name}", "spec.template.spec", p.reason) for p in proof.pools[:4])
    return found_at(proof, *signs, best=min(proof.pools, key=lambda one: (one.cost, one.name)))
