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
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gpufleet.documents.paths import mapping_at
from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, each, of_proofs
from gpufleet_policies.doctor.fit import shown
from gpufleet_policies.doctor.observed import Seen, SeenPod, entries, is_device, repelling, text
from gpufleet_policies.doctor.pending import WhyPending
from gpufleet_policies.doctor.snapshot import Dump
from gpufleet_policies.readers.reserved import amounts, reserved
from gpufleet_policies.readers.scheduling import selects


def _refusal(flavor: Seen, spec: dict[str, Any], keys: set[str]) -> dict[str, Any] | None:
    """What of a flavor does not fit the pods: a taint, or a label that they select."""
    tolerations = [*items(spec.get("tolerations")), *items(flavor.spec.get("tolerations"))]
    for taint in repelling(entries(flavor.spec, "nodeTaints"), tolerations):
        said = {"place": "spec.nodeTaints", "shown": taint["shown"]}
        return {"case": "taint", "flavor": flavor, **said}
    labels = mapping_at(flavor.spec, "nodeLabels")
    for key, value in mapping_at(spec, "nodeSelector").items():
        if key in keys and labels.get(key) != value:
            place = "spec.nodeLabels"
            return {"case": "selector", "flavor": flavor, "place": place, "shown": f"{key}={value}"}
    return None


def _groups(queue: Seen) -> list[tuple[list[str], dict[str, list[dict[str, Any]]]]]:
    """Resource groups of a ClusterQueue: what each covers, and the quotas of its flavors."""
    return [
        (
            [text(name) for name in items(group.get("coveredResources"))],
            {text(one.get("name")): entries(one, "resources") for one in entries(group, "flavors")},
        )
        for group in entries(queue.spec, "resourceGroups")
    ]


class InQueue:
    """A Workload of Kueue that is not admitted.

    Attributes:
        local: Its LocalQueue, without a name where the dump has none; `queue` its ClusterQueue.
        asked: What all its pods request.
        gpus: Accelerators that wait with it.
        groups: Resource groups of its ClusterQueue.
        refusing: Flavors of them that do not take its pods, and why.
    """

    def __init__(self, workload: Seen, cluster: Dump) -> None:
        """Look its queues up."""
        self.workload, self.name = workload, text(workload.spec.get("queueName"))
        self.local = cluster.get("LocalQueue", self.name, workload.namespace) or Seen({})
        named = text(self.local.spec.get("clusterQueue"))
        self.queue = cluster.get("ClusterQueue", named) or Seen({})
        self.asked: dict[str, Fraction] = defaultdict(Fraction)
        pods = entries(workload.spec, "podSets")
        specs = [mapping_at(one, "template.spec") for one in pods]
        for one, spec in zip(pods, specs, strict=True):
            count = one.get("count")
            for name, amount in reserved(spec).items():
                self.asked[name] += amount * (count if isinstance(count, int) else 1)
        self.gpus = int(sum(v for n, v in self.asked.items() if is_device(n)))
        self.groups, self.refusing = _groups(self.queue), dict[str, dict[str, Any]]()
        for _, names in self.groups:
            flavors = [one for name in names if (one := cluster.get("ResourceFlavor", name))]
            keys = {key for one in flavors for key in mapping_at(one.spec, "nodeLabels")}
            for flavor in flavors:
                refusals = (
                    _refusal(flavor, mapping_at(pod, "template.spec"), keys) for pod in pods
                )
                if (first := next(filter(None, refusals), None)) is not None:
                    self.refusing[flavor.name] = first

    def found(self, *signs: Sign, **values: Any) -> Sighting:
        """A cause at it."""
        return Sighting(self.workload, *signs, gpus=self.gpus, queue=self.queue, **values)


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
_of_placed = each(lambda patient: (one for one in queued(patient) if one.queue.name))
"""Causes of Workloads whose ClusterQueue is there."""


def _queues(patient: Patient) -> Iterator[tuple[Seen, dict[str, Any]]]:
    waiting: dict[str, list[InQueue]] = defaultdict(list)
    for one in queued(patient):
        waiting[one.queue.name].append(one)
    for queue in patient.cluster.all("ClusterQueue"):
        here = waiting[queue.name]
        refs, gpus = [one.workload.ref for one in here], sum(one.gpus for one in here)
        yield queue, {"explains": refs, "gpus": gpus, "count": len(here)}


_of_queues = each(_queues)
"""Causes of ClusterQueues, with what is said of the Workloads that wait for them."""


@_of_workloads("workload-deactivated")
def _deactivated(patient: Patient, one: InQueue) -> Sighting | None:
    return one.found() if one.workload.spec.get("active") is False else None


@_of_workloads("queue-missing")
def _no_queue(patient: Patient, one: InQueue) -> Sighting | None:
    if one.local.name:
        return None
    space = one.workload.namespace
    there = sorted(q.name for q in patient.cluster.all("LocalQueue") if q.namespace == space)
    return one.found(
        Sign("LocalQueue", f"in {space}", ", ".join(there) or "none"),
        case="other" if one.name else "none",
        name=one.name or "not there",
        there=" or ".join(there) or "NAME, and make a LocalQueue of that name",
    )


@_of_queues("queue-stopped")
def _stopped(patient: Patient, one: tuple[Seen, dict[str, Any]]) -> Sighting | None:
    queue, waiting = one
    policy = text(queue.spec.get("stopPolicy"))
    held = policy in {"Hold", "HoldAndDrain"}
    return Sighting(queue, policy=policy, **waiting) if held else None


@_of_queues("queue-inactive")
def _inactive(patient: Patient, one: tuple[Seen, dict[str, Any]]) -> Sighting | None:
    queue, waiting = one
    active = queue.conditions.get("Active", {})
    if active.get("status") != "False" or queue.ref in patient.explained:
        return None
    there = {flavor.name for flavor in patient.cluster.all("ResourceFlavor")}
    named = {name for _, flavors in _groups(queue) for name in flavors}
    missing, reason = ", ".join(sorted(named - there)), text(active.get("reason"))
    case = "flavors" if missing else "other"
    return Sighting(queue, case=case, reason=reason, missing=missing, **waiting)


@_of_placed("queue-namespace-refused")
def _refused(patient: Patient, one: InQueue) -> Sighting | None:
    name = one.workload.namespace
    space = patient.cluster.get("Namespace", name)
    labels = {"kubernetes.io/metadata.name": name, **(space.labels if space is not None else {})}
    selector = one.queue.spec.get("namespaceSelector")
    equal = mapping_at(selector, "matchLabels")
    unknown = space is None and equal and patient.cluster.all("Namespace")
    if (selector is not None and selects(mapping(selector), labels)) or unknown:
        return None
    pairs = [f"{k}={v}" for k, v in equal.items()]
    case = "labels" if pairs else "other"
    return one.found(case=case, labels=", ".join(pairs) or "nothing", pairs=" ".join(pairs))


def _quotas(one: InQueue, resource: str) -> Iterator[tuple[str, Fraction, Fraction | None]]:
    """Flavors that take the pods, the nominal quota of each, and with what may be borrowed; None:
    as much as the cohort lends."""
    cohort = one.queue.spec.get("cohortName") or one.queue.spec.get("cohort")
    quotas = (
        (flavor, row) for _, flavors in one.groups for flavor in flavors for row in flavors[flavor]
    )
    for flavor, row in quotas:
        if row.get("name") == resource and flavor not in one.refusing:
            given = amounts(row)
            nominal, borrow = given.get("nominalQuota", Fraction(0)), given.get("borrowingLimit")
            yield flavor, nominal, None if cohort and borrow is None else nominal + (borrow or 0)


@lru_cache(maxsize=1024)
def _used(cluster: Dump, queue: str, flavor: str, resource: str) -> Fraction:
    return sum(
        (
            amounts(part.get("resourceUsage")).get(resource, Fraction(0))
            for one in cluster.all("Workload")
            if mapping_at(one.status, "admission").get("clusterQueue") == queue
            and not one.holds("Finished")
            for part in entries(one.status, "admission.podSetAssignments")
            if mapping(part.get("flavors")).get(resource) == flavor
        ),
        Fraction(0),
    )


@_of_placed("queue-resource-uncovered")
def _uncovered(patient: Patient, one: InQueue) -> Sighting | None:
    covered = {name for names, _ in one.groups for name in names}
    name = next((name for name in one.asked if name not in covered and is_device(name)), "")
    return one.found(name=name, covered=", ".join(sorted(covered))) if name else None


@_of_placed("queue-flavor-refuses-pods")
def _no_flavor(patient: Patient, one: InQueue) -> Sighting | None:
    for covered, flavors in one.groups:
        refused = [one.refusing.get(name) for name in flavors]
        asked = any(name in one.asked for name in covered)
        if asked and refused and refused[0] is not None and None not in refused:
            return one.found(**refused[0])
    return None


@_of_placed("queue-exceeds-quota")
def _exceeds(patient: Patient, one: InQueue) -> Sighting | None:
    for name, amount in one.asked.items():
        bounds = [most for _, _, most in _quotas(one, name)]
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
        found = patient.cluster.get("AdmissionCheck", name) or Seen({})
        runs = text(found.spec.get("controllerName")) or "not in the dump"
        case = "provisioning" if "provisioning" in runs else "other"
        return one.found(case=case, name=name, state=state, controller=runs)
    return None


@_of_placed("queue-full")
def _full(patient: Patient, one: InQueue) -> Sighting | None:
    for name, amount in one.asked.items() if not one.workload.holds("QuotaReserved") else ():
        free = [
            (most or nominal) - _used(patient.cluster, one.queue.name, flavor, name)
            for flavor, nominal, most in _quotas(one, name)
        ]
        if free and amount > max(free):
            left = shown(name, max(*free, Fraction(0)))
            return one.found(name=name, free=left, asked=shown(name, amount))
    return None


@cause("queue-flavor-fits-no-node")
def _flavor(patient: Patient) -> Iterator[Sighting]:
    for one in patient.cluster.all("ResourceFlavor"):
        labels = mapping_at(one.spec, "nodeLabels").items()
        nodes = patient.cluster.nodes.values()
        if not labels or any(all(n.labels.get(k) == v for k, v in labels) for n in nodes):
            continue
        waiting = [
            proof
            for proof in patient.proofs
            if labels <= mapping_at(proof.pod.spec, "nodeSelector").items()
            and all(pool.reason for pool in proof.pools)
        ]
        if waiting:
            pairs = ", ".join(f"{k}={v}" for k, v in labels)
            yield Sighting(one, waiting=waiting, labels=pairs, first=waiting[0].pod)


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
    others, above = " or ".join(there) or "NAME", parent or "none"
    return Sighting(proof, given, named, case=case, name=name, parent=above, there=others)


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
        if not fewer and (room >= least or patient.cluster.all("NodePool")):
            continue
        counts = ", ".join(f"{name}: {shown(name, v)}" for name, v in asked if is_device(name))
        yield Sighting(
            group,
            Sign(waiting[0].ref, "spec.containers[].resources", counts),
            case="fewer" if fewer else "room",
            explains=[pod.ref for pod in waiting],
            gpus=sum(sum(pod.devices.values()) for pod in waiting),
            least=least,
            room=len(pods) if fewer else room,
        )
