"""Causes in queues: Kueue's, and those of KAI Scheduler and of other schedulers of gangs.

Sources: kubernetes-sigs/kueue `apis/kueue/v1beta2/workload_types.go` (reasons of QuotaReserved),
`pkg/scheduler/flavorassigner`, `pkg/cache/scheduler/clusterqueue.go` (reasons of Active);
kai-scheduler/KAI-Scheduler `pkg/podgrouper/podgrouper/plugins/defaultgrouper` CalcPodGroupQueue
(whose label names the queue, and which is the default), issues 612 and 621 (a queue needs a
parent), docs/migrationguides (the label was `runai/queue` before v0.6); volcano-sh/apis
`scheduling/v1beta1`.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.cause import (
    Patient,
    Sighting,
    Sign,
    cause,
    each,
    found_at,
    of_proofs,
)
from gpufleet_policies.doctor.fit import chooses, shown
from gpufleet_policies.doctor.observed import (
    Seen,
    SeenPod,
    amounts,
    below,
    entries,
    is_device,
    pod_requests,
    text,
)
from gpufleet_policies.doctor.operands import KEEPS_AWAY, tolerates
from gpufleet_policies.doctor.pending import WhyPending
from gpufleet_policies.doctor.snapshot import Dump


def _refusal(flavor: Seen, spec: dict[str, Any], keys: set[str]) -> dict[str, Any] | None:
    """What of a flavor does not fit the pods: a taint, or a label that they select."""
    tolerations = [*items(spec.get("tolerations")), *items(flavor.spec.get("tolerations"))]
    for taint in entries(flavor.spec, "nodeTaints"):
        if taint.get("effect") in KEEPS_AWAY and not tolerates(tolerations, taint):
            shown = f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}"
            return {"case": "taint", "flavor": flavor, "place": "spec.nodeTaints", "shown": shown}
    labels = below(flavor.spec, "nodeLabels")
    for key, value in below(spec, "nodeSelector").items():
        if key in keys and labels.get(key) != value:
            place = "spec.nodeLabels"
            return {"case": "selector", "flavor": flavor, "place": place, "shown": f"{key}={value}"}
    return None


class InQueue:
    """A Workload of Kueue that is not admitted.

    Attributes:
        local: Its LocalQueue.
        queue: Its ClusterQueue.
        asked: What all its pods ask for.
        gpus: Accelerators that wait with it.
        refusing: Flavors of its ClusterQueue that do not take its pods, and why.
    """

    def __init__(self, workload: Seen, cluster: Dump) -> None:
        """Look its queues up."""
        self.workload, self.name = workload, text(workload.spec.get("queueName"))
        self.local = cluster.get("LocalQueue", self.name, workload.namespace)
        named = "" if self.local is None else text(self.local.spec.get("clusterQueue"))
        self.queue = cluster.get("ClusterQueue", named)
        self.asked: dict[str, Fraction] = defaultdict(Fraction)
        pods = entries(workload.spec, "podSets")
        for one in pods:
            count = one.get("count")
            for name, amount in pod_requests(below(one, "template.spec")).items():
                self.asked[name] += amount * (count if isinstance(count, int) else 1)
        self.gpus = int(sum(v for n, v in self.asked.items() if is_device(n)))
        self.refusing: dict[str, dict[str, Any]] = {}
        spec = {} if self.queue is None else self.queue.spec
        for group in entries(spec, "resourceGroups"):
            names = (text(one.get("name")) for one in entries(group, "flavors"))
            found = (cluster.get("ResourceFlavor", name) for name in names)
            flavors = [one for one in found if one is not None]
            keys = {key for one in flavors for key in below(one.spec, "nodeLabels")}
            for flavor in flavors:
                refusals = (_refusal(flavor, below(pod, "template.spec"), keys) for pod in pods)
                if (first := next(filter(None, refusals), None)) is not None:
                    self.refusing[flavor.name] = first

    def found(self, *signs: Sign, **values: Any) -> Sighting:
        """A cause at it."""
        return found_at(self.workload, *signs, gpus=self.gpus, queue=self.queue, **values)


@lru_cache(maxsize=1)
def _not_admitted(cluster: Dump) -> tuple[InQueue, ...]:
    found = (
        one
        for one in cluster.all("Workload")
        if text(one.raw.get("apiVersion")).startswith("kueue.x-k8s.io/")
        and not (one.holds("Admitted") or one.holds("Finished"))
    )
    return tuple(InQueue(one, cluster) for one in found)


def queued(patient: Patient) -> Iterator[InQueue]:
    """Workloads that are not admitted and that no cause explains yet."""
    for one in _not_admitted(patient.cluster):
        if one.workload.ref not in patient.explained:
            yield one


_of_workloads = each(queued)
"""Causes of Workloads that are not admitted."""
Placed = tuple[InQueue, Seen]


def _placed(patient: Patient) -> Iterator[Placed]:
    for one in queued(patient):
        if one.queue is not None:
            yield one, one.queue


_of_placed = each(_placed)
"""Causes of Workloads whose ClusterQueue is there."""


@_of_workloads("workload-deactivated")
def _deactivated(patient: Patient, one: InQueue) -> Sighting | None:
    return one.found() if one.workload.spec.get("active") is False else None


@_of_workloads("queue-missing")
def _no_queue(patient: Patient, one: InQueue) -> Sighting | None:
    if one.local is not None:
        return None
    space = one.workload.namespace
    there = sorted(q.name for q in patient.cluster.all("LocalQueue") if q.namespace == space)
    return one.found(
        Sign("LocalQueue", f"in {space}", ", ".join(there) or "none"),
        case="other" if one.name else "none",
        name=one.name or "not there",
        there=" or ".join(there) or "NAME, and make a LocalQueue of that name",
    )


def _closed(patient: Patient, *, by_person: bool) -> Iterator[tuple[Seen, dict[str, Any]]]:
    """ClusterQueues that admit nothing, and what waits for them."""
    waiting: dict[str, list[InQueue]] = defaultdict(list)
    for one, queue in _placed(patient):
        waiting[queue.name].append(one)
    for queue in patient.cluster.all("ClusterQueue"):
        held = text(queue.spec.get("stopPolicy")) in {"Hold", "HoldAndDrain"}
        inactive = queue.conditions.get("Active", {}).get("status") == "False"
        here = waiting[queue.name]
        if held is by_person and (held or inactive):
            refs, gpus = [one.workload.ref for one in here], sum(one.gpus for one in here)
            yield queue, {"explains": refs, "gpus": gpus, "count": len(here)}


@cause("queue-stopped")
def _stopped(patient: Patient) -> Iterator[Sighting]:
    for queue, waiting in _closed(patient, by_person=True):
        yield found_at(queue, policy=queue.spec["stopPolicy"], **waiting)


@cause("queue-inactive")
def _inactive(patient: Patient) -> Iterator[Sighting]:
    there = {one.name for one in patient.cluster.all("ResourceFlavor")}
    for queue, waiting in _closed(patient, by_person=False):
        reason = text(queue.conditions["Active"].get("reason"))
        groups = entries(queue.spec, "resourceGroups")
        named = {text(one.get("name")) for group in groups for one in entries(group, "flavors")}
        missing = ", ".join(sorted(named - there))
        case = "flavors" if missing else "other"
        yield found_at(queue, case=case, reason=reason, missing=missing, **waiting)


@_of_placed("queue-namespace-refused")
def _refused(patient: Patient, placed: Placed) -> Sighting | None:
    one, queue = placed
    name = one.workload.namespace
    space = patient.cluster.get("Namespace", name)
    labels = {"kubernetes.io/metadata.name": name, **(space.labels if space is not None else {})}
    selector = queue.spec.get("namespaceSelector")
    equal = below(selector, "matchLabels")
    unknown = space is None and equal and patient.cluster.has("Namespace")
    if (selector is not None and chooses(mapping(selector), labels)) or unknown:
        return None
    pairs = [f"{k}={v}" for k, v in equal.items()]
    case = "labels" if pairs else "other"
    return one.found(case=case, labels=", ".join(pairs) or "nothing", pairs=" ".join(pairs))


@dataclass(frozen=True, slots=True)
class _Quota:
    flavor: str
    nominal: Fraction
    most: Fraction | None
    """With what may be borrowed; None: as much as the cohort lends."""


def _quotas(waits: InQueue, queue: Seen, resource: str) -> Iterator[_Quota]:
    """Of flavors that take the pods."""
    cohort = queue.spec.get("cohortName") or queue.spec.get("cohort")
    for group in entries(queue.spec, "resourceGroups"):
        for flavor in entries(group, "flavors"):
            for one in entries(flavor, "resources"):
                if one.get("name") == resource and flavor.get("name") not in waits.refusing:
                    given = amounts(one)
                    nominal = given.get("nominalQuota", Fraction(0))
                    borrow = given.get("borrowingLimit")
                    most = None if cohort and borrow is None else nominal + (borrow or 0)
                    yield _Quota(text(flavor.get("name")), nominal, most)


@lru_cache(maxsize=1024)
def _used(cluster: Dump, queue: str, flavor: str, resource: str) -> Fraction:
    return sum(
        (
            amounts(part.get("resourceUsage")).get(resource, Fraction(0))
            for one in cluster.all("Workload")
            if below(one.status, "admission").get("clusterQueue") == queue
            and not one.holds("Finished")
            for part in entries(one.status, "admission.podSetAssignments")
            if mapping(part.get("flavors")).get(resource) == flavor
        ),
        Fraction(0),
    )


@_of_placed("queue-resource-uncovered")
def _uncovered(patient: Patient, placed: Placed) -> Sighting | None:
    one, queue = placed
    groups = entries(queue.spec, "resourceGroups")
    covered = {text(name) for group in groups for name in items(group.get("coveredResources"))}
    missing = (name for name in one.asked if name not in covered and is_device(name))
    name = next(missing, "")
    return one.found(name=name, covered=", ".join(sorted(covered))) if name else None


@_of_placed("queue-flavor-refuses-pods")
def _no_flavor(patient: Patient, placed: Placed) -> Sighting | None:
    one, queue = placed
    for group in entries(queue.spec, "resourceGroups"):
        asked = (name in one.asked for name in map(text, items(group.get("coveredResources"))))
        refused = [one.refusing.get(text(f.get("name"))) for f in entries(group, "flavors")]
        if any(asked) and refused and refused[0] is not None and None not in refused:
            return one.found(**refused[0])
    return None


@_of_placed("queue-exceeds-quota")
def _exceeds(patient: Patient, placed: Placed) -> Sighting | None:
    one, queue = placed
    for name, amount in one.asked.items():
        bounds = [quota.most for quota in _quotas(one, queue, name)]
        known = [most for most in bounds if most is not None]
        if known and len(known) == len(bounds) and amount > max(known):
            case, most = "some" if max(known) else "none", shown(name, max(known))
            return one.found(case=case, name=name, asked=shown(name, amount), most=most)
    return None


@_of_workloads("queue-check-pending")
def _check(patient: Patient, one: InQueue) -> Sighting | None:
    for check in entries(one.workload.status, "admissionChecks"):
        state, name = text(check.get("state")), text(check.get("name"))
        if state == "Ready" or not one.workload.holds("QuotaReserved"):
            continue
        found = patient.cluster.get("AdmissionCheck", name)
        controller = "" if found is None else text(found.spec.get("controllerName"))
        case = "provisioning" if "provisioning" in controller else "other"
        runs = controller or "not in the dump"
        return one.found(case=case, name=name, state=state, controller=runs)
    return None


@_of_placed("queue-full")
def _full(patient: Patient, placed: Placed) -> Sighting | None:
    one, queue = placed
    for name, amount in one.asked.items() if not one.workload.holds("QuotaReserved") else ():
        free = [
            (quota.most or quota.nominal) - _used(patient.cluster, queue.name, quota.flavor, name)
            for quota in _quotas(one, queue, name)
        ]
        if free and amount > max(free):
            left = shown(name, max(*free, Fraction(0)))
            return one.found(name=name, free=left, asked=shown(name, amount))
    return None


@cause("queue-flavor-fits-no-node")
def _flavor(patient: Patient) -> Iterator[Sighting]:
    for one in patient.cluster.all("ResourceFlavor"):
        labels = below(one.spec, "nodeLabels").items()
        nodes = patient.cluster.nodes.values()
        if not labels or any(all(n.labels.get(k) == v for k, v in labels) for n in nodes):
            continue
        waiting = [
            proof
            for proof in patient.proofs
            if labels <= below(proof.pod.spec, "nodeSelector").items()
            and all(pool.reason for pool in proof.pools)
        ]
        if waiting:
            refs, gpus = [proof.pod.ref for proof in waiting], sum(p.gpus for p in waiting)
            pairs, first = ", ".join(f"{k}={v}" for k, v in labels), waiting[0].pod
            yield found_at(one, explains=refs, gpus=gpus, labels=pairs, waiting=first)


_KAI_QUEUE, _KAI_POOL = "kai.scheduler/queue", "kai.scheduler/node-pool"


def _kai_queue_of(cluster: Dump, pod: SeenPod) -> tuple[str, Sign | None]:
    """The queue that KAI takes for a pod, and what names it; None: it is the default."""
    group = cluster.get("PodGroup", pod.annotations.get("pod-group-name", ""), pod.namespace)
    name = "" if group is None else text(group.spec.get("queue"))
    if group is not None and name:
        return name, Sign(group.ref, "spec.queue", name)
    owner = cluster.get(*pod.owner, pod.namespace)
    for key in (_KAI_QUEUE, "project"):
        for one in (owner, pod):
            if one is not None and key in one.labels:
                name = one.labels[key]
                if key == "project" and _KAI_POOL in pod.labels:
                    name += f"-{pod.labels[_KAI_POOL]}"
                return name, Sign(one.ref, f"metadata.labels[{key}]", name)
    return "default-queue", None


@of_proofs("kai-queue-missing")
def _kai_queue(patient: Patient, proof: WhyPending) -> Sighting | None:
    queues = patient.cluster.all("Queue")
    own = {q.name: q for q in queues if "run.ai" in str(q.raw.get("apiVersion"))}
    name, sign = _kai_queue_of(patient.cluster, proof.pod)
    parent = text(own[name].spec.get("parentQueue")) if name in own else ""
    if proof.pod.scheduler != "kai-scheduler" or not own or parent in own:
        return None
    old = "old label" if "runai/queue" in proof.pod.labels else "none"
    case = "top" if name in own else "named" if sign else old
    there = sorted(one.name for one in own.values() if one.spec.get("parentQueue") in own)
    given = sign or Sign(proof.pod.ref, f"metadata.labels[{_KAI_QUEUE}]", "not there")
    named = Sign("Queue", "metadata.name", ", ".join(sorted(own)))
    values: dict[str, Any] = {
        "name": name,
        "parent": parent or "none",
        "there": " or ".join(there) or "NAME",
    }
    return found_at(proof, given, named, case=case, **values)


_MEMBERS = ("pod-group-name", "scheduling.k8s.io/group-name", "scheduling.x-k8s.io/pod-group")


@cause("gang-cannot-be-complete")
def _gang(patient: Patient) -> Iterator[Sighting]:
    members: dict[tuple[str, str], list[SeenPod]] = defaultdict(list)
    for pod in patient.cluster.pods:
        names = {pod.annotations.get(key, pod.labels.get(key)) for key in _MEMBERS}
        for name in names - {None} if not pod.ended else ():
            members[pod.namespace, str(name)].append(pod)
    for group in patient.cluster.all("PodGroup"):
        least, pods = group.spec.get("minMember"), members[group.namespace, group.name]
        waiting = [pod for pod in pods if pod.waits and pod.wants_gpus]
        if not isinstance(least, int) or not waiting:
            continue
        asked = [(name, value) for name, value in waiting[0].requests.items() if value]
        room = sum(
            int(min(node.allocatable.get(name, Fraction(0)) // value for name, value in asked))
            for node in patient.cluster.nodes.values()
        )
        fewer = len(pods) < least
        if not fewer and (room >= least or patient.cluster.has("NodePool")):
            continue
        counts = ", ".join(f"{name}: {shown(name, v)}" for name, v in asked if is_device(name))
        yield found_at(
            group,
            Sign(waiting[0].ref, "spec.containers[].resources", counts),
            case="fewer" if fewer else "room",
            explains=[pod.ref for pod in waiting],
            gpus=sum(sum(pod.devices.values()) for pod in waiting),
            least=least,
            room=len(pods) if fewer else room,
        )
