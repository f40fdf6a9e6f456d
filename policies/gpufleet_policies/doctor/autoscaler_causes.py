"""Causes in NodePools and NodeClaims of Karpenter.

Sources: kubernetes-sigs/karpenter `pkg/apis/v1/nodeclaim_status.go` (Launched, Registered), `pkg/
controllers/nodeclaim/lifecycle` (15 minutes to register), `pkg/controllers/provisioning/scheduling`;
EC2 error codes; Google Cloud `ZONE_RESOURCE_POOL_EXHAUSTED`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.observed import Seen, text
from gpufleet_policies.doctor.pending import Proof
from gpufleet_policies.doctor.pod_causes import waiting

_AWS = "https://github.com/aws/karpenter-provider-aws/issues/"
_POOL = "karpenter.sh/nodepool"
_NO_CAPACITY = re.compile(
    r"InsufficientCapacityError|InsufficientInstanceCapacity|UnfulfillableCapacity|"
    r"insufficient capacity|ZONE_RESOURCE_POOL_EXHAUSTED|SkuNotAvailable|were unavailable during launch"
)
_NO_QUOTA = re.compile(
    r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|InstanceLimitExceeded|QuotaExceeded|QUOTA_EXCEEDED"
)
REGISTER_MINUTES = 15
"""How long Karpenter waits for a node to register before it deletes the NodeClaim."""


def _by_pool(patient: Patient, kind: str) -> dict[str, list[Proof]]:
    """Proofs of pods for which a NodePool is kept back by one thing only, and none helps."""
    found: dict[str, list[Proof]] = defaultdict(list)
    for proof in waiting(patient):
        if any(not one.reason for one in proof.pools):
            continue
        for one in proof.pools:
            if one.kind == kind:
                found[one.pool].append(proof)
    return found


def _gpus(proofs: list[Proof]) -> int:
    return sum(p.same * (sum(p.pod.devices.values()) or 1) for p in proofs)


@cause("nodepool-not-ready")
def not_ready(patient: Patient) -> Iterator[Found]:
    for name, proofs in _by_pool(patient, "ready").items():
        pool = patient.cluster.get("NodePool", name)
        if pool is None:
            continue
        wrong = {
            kind: text(one.get("reason"))
            for kind, one in pool.conditions.items()
            if one.get("status") == "False"
        }
        yield found_at(
            pool,
            *tuple(
                (
                    Evidence(pool.ref, f"status.conditions[{kind}]", f"False ({reason})")
                    for kind, reason in wrong.items()
                )
            ),
            explains=tuple((proof.pod.ref for proof in proofs)),
            gpus=_gpus(proofs),
            name=name,
            a=", ".join(wrong),
            b=proofs[0].pod.name,
        )


@cause("nodepool-limit-reached")
def limit(patient: Patient) -> Iterator[Found]:
    for name, proofs in _by_pool(patient, "limit").items():
        pool = patient.cluster.get("NodePool", name)
        if pool is None:
            continue
        why = next(one for one in proofs[0].pools if one.pool == name)
        yield found_at(
            pool,
            Evidence(pool.ref, "spec.limits", why.reason.partition("(")[2].rstrip(")")),
            explains=tuple((proof.pod.ref for proof in proofs)),
            gpus=_gpus(proofs),
            name=name,
            a=proofs[0].pod.name,
            why=why,
        )


def _not_launched(patient: Patient) -> Iterator[tuple[Seen, str]]:
    for one in patient.cluster.all("NodeClaim"):
        launched = one.conditions.get("Launched", {})
        told = " ".join(event.message for event in patient.cluster.events_of(one))
        if launched.get("status") != "True":
            yield one, f"{text(launched.get('message'))} {told}"


def _waiting_for(patient: Patient, claim: Seen) -> list[Proof]:
    pool = claim.labels.get(_POOL, "")
    return [
        proof
        for proof in waiting(patient)
        if any(one.pool == pool and not one.reason for one in proof.pools)
    ]


@cause("account-quota-exceeded")
def no_quota(patient: Patient) -> Iterator[Found]:
    for claim, said in _not_launched(patient):
        found = _NO_QUOTA.search(said)
        if found is None:
            continue
        proofs = _waiting_for(patient, claim)
        yield found_at(
            claim,
            Evidence(claim.ref, "status.conditions[Launched].message", found[0]),
            explains=tuple((proof.pod.ref for proof in proofs)),
            gpus=_gpus(proofs),
            a=found[0],
        )


@cause("capacity-unavailable")
def no_capacity(patient: Patient) -> Iterator[Found]:
    for claim, said in _not_launched(patient):
        found = _NO_CAPACITY.search(said)
        if found is None or claim.ref in patient.explained:
            continue
        proofs = _waiting_for(patient, claim)
        ways = next(
            (
                ", ".join(map(str, one.get("values") or []))
                for one in claim.spec.get("requirements") or []
                if one.get("key") == "karpenter.sh/capacity-type"
            ),
            "",
        )
        yield found_at(
            claim,
            Evidence(claim.ref, "status.conditions[Launched].message", found[0]),
            explains=tuple((proof.pod.ref for proof in proofs)),
            gpus=_gpus(proofs),
            a=f" ({ways})" if ways else "",
            b=found[0],
        )


@cause("nodeclaim-not-registered")
def not_registered(patient: Patient) -> Iterator[Found]:
    for claim in patient.cluster.all("NodeClaim"):
        launched = claim.conditions.get("Launched", {}).get("status") == "True"
        registered = claim.conditions.get("Registered", {})
        age = patient.cluster.minutes_since(claim.metadata.get("creationTimestamp"))
        if not launched or registered.get("status") == "True":
            continue
        if age is not None and age < REGISTER_MINUTES:
            continue
        proofs = _waiting_for(patient, claim)
        yield found_at(
            claim,
            Evidence(
                claim.ref,
                "status.conditions[Registered]",
                f"{text(registered.get('status'))} ({text(registered.get('reason'))})",
            ),
            explains=tuple((proof.pod.ref for proof in proofs)),
            gpus=_gpus(proofs),
            a=REGISTER_MINUTES,
        )


@cause("nodepool-cannot-make")
def cannot_make(patient: Patient) -> Iterator[Found]:
    for proof in waiting(patient):
        if not proof.pools or any(not one.reason for one in proof.pools) or proof.before:
            continue
        empty = [n for n in proof.nodes if all(b.resource and b.fits_empty for b in n.blockers)]
        if empty:
            continue
        best = min(proof.pools, key=lambda one: (one.cost, one.pool))
        yield found_at(
            proof,
            *tuple(
                (
                    Evidence(f"NodePool/{one.pool}", "spec.template.spec", one.reason)
                    for one in proof.pools[:4]
                )
            ),
            gpus=_gpus([proof]),
            fix=best.change,
            best=best,
        )


CAUSES = (not_ready, limit, no_quota, no_capacity, not_registered, cannot_make)
