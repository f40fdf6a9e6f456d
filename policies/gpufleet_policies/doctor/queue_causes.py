"""Causes in queues: Kueue's, and those of KAI Scheduler and of other schedulers of gangs.

Sources: kubernetes-sigs/kueue `apis/kueue/v1beta2/workload_types.go` (reasons of QuotaReserved),
`pkg/scheduler/flavorassigner`, `pkg/cache/scheduler/clusterqueue.go` (reasons of Active);
kai-scheduler/KAI-Scheduler docs (queue label, PodGroup); volcano-sh/apis `scheduling/v1beta1`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpufleet.documents.shapes import items, mapping
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, each, found_at
from gpufleet_policies.doctor.fit import meets, shown
from gpufleet_policies.doctor.observed import Seen, SeenPod, amounts, is_device, pod_requests, text
from gpufleet_policies.doctor.snapshot import Dump


@dataclass(frozen=True, eq=False)
class InQueue:
    """A Workload of Kueue that is not admitted."""

    workload: Seen
    cluster: Dump

    def found(self, *evidence: Sign, **values: Any) -> Sighting:
        """A cause at it."""
        return found_at(self.workload, *evidence, gpus=self.gpus, **values)

    @property
    def queue(self) -> str:
        """Name of its LocalQueue."""
        return text(self.workload.spec.get("queueName"))

    @property
    def local(self) -> Seen | None:
        """Its LocalQueue."""
        return self.cluster.get("LocalQueue", self.queue, self.workload.namespace)

    @property
    def cluster_queue(self) -> Seen | None:
        """Its ClusterQueue."""
        name = "" if self.local is None else text(self.local.spec.get("clusterQueue"))
        return self.cluster.get("ClusterQueue", name) if name else None

    @property
    def asked(self) -> dict[str, Fraction]:
        """What all its pods ask for."""
        total: dict[str, Fraction] = defaultdict(Fraction)
        for one in map(mapping, items(self.workload.spec.get("podSets"))):
            count = one.get("count")
            spec = mapping(mapping(one.get("template")).get("spec"))
            for name, amount in pod_requests(spec).items():
                total[name] += amount * (count if isinstance(count, int) else 1)
        return total

    @property
    def gpus(self) -> int:
        """Accelerators that wait with it."""
        return int(sum(v for n, v in self.asked.items() if is_device(n)))

    @property
    def says(self) -> Sign:
        """What Kueue says of it."""
        found = self.workload.conditions.get("QuotaReserved", {})
        value = f"{text(found.get('status')) or 'not there'} ({text(found.get('reason'))})"
        return Sign(self.workload.ref, "status.conditions[QuotaReserved]", value)


def _is_true(one: Seen, kind: str) -> bool:
    return one.conditions.get(kind, {}).get("status") == "True"


def queued(patient: Patient) -> Iterator[InQueue]:
    """Workloads that are not admitted and that no cause explains yet."""
    for one in patient.cluster.all("Workload"):
        own = text(one.raw.get("apiVersion")).startswith("kueue.x-k8s.io/")
        done = _is_true(one, "Admitted") or _is_true(one, "Finished")
        if own and not done and one.ref not in patient.explained:
            yield InQueue(one, patient.cluster)


_of_workloads = each(queued)
"""Causes of Workloads that are not admitted."""


@_of_workloads("workload-deactivated")
def _deactivated(patient: Patient, one: InQueue) -> Sighting | None:
    if one.workload.spec.get("active") is not False:
        return None
    evidence = Sign(one.workload.ref, "spec.active", "false")
    return one.found(evidence)


@_of_workloads("queue-missing")
def _no_queue(patient: Patient, one: InQueue) -> Sighting | None:
    space = one.workload.namespace
    if one.local is not None:
        return None
    there = sorted(q.name for q in patient.cluster.all("LocalQueue") if q.namespace == space)
    return found_at(
        one.workload,
        Sign(one.workload.ref, "spec.queueName", one.queue or "not there"),
        Sign("LocalQueue", f"in {space}", ", ".join(there) or "none"),
        gpus=one.gpus,
        named=f"the queue {one.queue}, which {space} does not have" if one.queue else "no queue",
        there=" or ".join(there) or "NAME, and make a LocalQueue of that name",
    )


def _closed(patient: Patient, *, by_person: bool) -> Iterator[tuple[Seen, dict[str, Any]]]:
    """ClusterQueues that admit nothing, and what waits for them."""
    waiting: dict[str, list[InQueue]] = defaultdict(list)
    for one in queued(patient):
        if one.cluster_queue is not None:
            waiting[one.cluster_queue.name].append(one)
    for queue in patient.cluster.all("ClusterQueue"):
        held = text(queue.spec.get("stopPolicy")) in {"Hold", "HoldAndDrain"}
        inactive = queue.conditions.get("Active", {}).get("status") == "False"
        here = waiting[queue.name]
        if held is by_person and (held or inactive):
            refs = tuple(one.workload.ref for one in here)
            gpus = sum(one.gpus for one in here)
            yield queue, {"explains": refs, "gpus": gpus, "count": len(here)}


@cause("queue-stopped")
def _stopped(patient: Patient) -> Iterator[Sighting]:
    for queue, waiting in _closed(patient, by_person=True):
        policy = text(queue.spec.get("stopPolicy"))
        evidence = Sign(queue.ref, "spec.stopPolicy", policy)
        yield found_at(queue, evidence, policy=policy, **waiting)


def _flavors(queue: Seen) -> Iterator[dict[str, Any]]:
    for group in map(mapping, items(queue.spec.get("resourceGroups"))):
        yield from map(mapping, items(group.get("flavors")))


@cause("queue-inactive")
def _inactive(patient: Patient) -> Iterator[Sighting]:
    there = {one.name for one in patient.cluster.all("ResourceFlavor")}
    for queue, waiting in _closed(patient, by_person=False):
        reason = text(queue.conditions["Active"].get("reason"))
        missing = ", ".join(sorted({text(one.get("name")) for one in _flavors(queue)} - there))
        yield found_at(
            queue,
            Sign(queue.ref, "status.conditions[Active]", f"False ({reason})"),
            reason=reason,
            named=f": the flavors {missing} do not exist" if missing else "",
            help=f"make the ResourceFlavors {missing}, or take them out of the queue"
            if missing
            else f"kubectl describe clusterqueue {queue.name}, and make what it names",
            **waiting,
        )


@_of_workloads("queue-namespace-refused")
def _refused(patient: Patient, one: InQueue) -> Sighting | None:
    queue, name = one.cluster_queue, one.workload.namespace
    if queue is None:
        return None
    space = patient.cluster.get("Namespace", name)
    labels = {"kubernetes.io/metadata.name": name} | ({} if space is None else space.labels)
    selector = mapping(queue.spec.get("namespaceSelector"))
    equal: Mapping[str, Any] = mapping(selector.get("matchLabels"))
    selected = queue.spec.get("namespaceSelector") is not None and (
        all(labels.get(k) == v for k, v in equal.items())
        and all(meets(mapping(e), labels) for e in items(selector.get("matchExpressions")))
    )
    if selected or (space is None and equal and patient.cluster.has("Namespace")):
        return None
    pairs = [f"{k}={v}" for k, v in equal.items()]
    return found_at(
        one.workload,
        Sign(queue.ref, "spec.namespaceSelector", ", ".join(pairs) or "nothing"),
        one.says,
        gpus=one.gpus,
        queue=queue,
        labels=", ".join(pairs) or "nothing",
        help=f"kubectl label namespace {name} {' '.join(pairs)}"
        if pairs
        else f"write namespaceSelector: {{}} into {queue.name}",
    )


@dataclass(frozen=True, slots=True)
class _Quota:
    flavor: str
    nominal: Fraction
    most: Fraction | None
    """With what may be borrowed; None: as much as the cohort lends."""


def _quotas(queue: Seen, resource: str) -> list[_Quota]:
    cohort = queue.spec.get("cohortName") or queue.spec.get("cohort")
    found: list[_Quota] = []
    for group in map(mapping, items(queue.spec.get("resourceGroups"))):
        for flavor in map(mapping, items(group.get("flavors"))):
            for one in map(mapping, items(flavor.get("resources"))):
                if one.get("name") != resource:
                    continue
                given = amounts(one)
                nominal = given.get("nominalQuota", Fraction(0))
                borrow = given.get("borrowingLimit")
                most = None if cohort and borrow is None else nominal + (borrow or 0)
                found.append(_Quota(text(flavor.get("name")), nominal, most))
    return found


def _used(cluster: Dump, queue: str, flavor: str, resource: str) -> Fraction:
    total = Fraction(0)
    for one in cluster.all("Workload"):
        admission = mapping(one.status.get("admission"))
        if admission.get("clusterQueue") != queue or _is_true(one, "Finished"):
            continue
        for part in map(mapping, items(admission.get("podSetAssignments"))):
            if mapping(part.get("flavors")).get(resource) == flavor:
                total += amounts(part.get("resourceUsage")).get(resource, Fraction(0))
    return total


@_of_workloads("queue-resource-uncovered")
def _uncovered(patient: Patient, one: InQueue) -> Sighting | None:
    queue = one.cluster_queue
    groups = [] if queue is None else items(queue.spec.get("resourceGroups"))
    covered = {text(r) for g in map(mapping, groups) for r in items(g.get("coveredResources"))}
    for name in one.asked:
        if queue is not None and name not in covered and is_device(name):
            there = ", ".join(sorted(covered))
            evidence = Sign(queue.ref, "spec.resourceGroups[].coveredResources", there)
            return one.found(evidence, one.says, name=name, queue=queue, covered=there)
    return None


@_of_workloads("queue-exceeds-quota")
def _exceeds(patient: Patient, one: InQueue) -> Sighting | None:
    queue = one.cluster_queue
    for name, amount in one.asked.items() if queue is not None else ():
        quotas = _quotas(queue, name) if queue is not None else []
        bounds = [quota.most for quota in quotas if quota.most is not None]
        if queue is None or not quotas or len(bounds) < len(quotas) or amount <= max(bounds):
            continue
        asked, most = shown(name, amount), shown(name, max(bounds))
        return one.found(
            Sign(one.workload.ref, f"podSets, {name}", asked),
            Sign(queue.ref, "nominalQuota and borrowingLimit", most),
            name=name,
            queue=queue,
            asked=asked,
            most=most,
        )
    return None


@_of_workloads("queue-check-pending")
def _check(patient: Patient, one: InQueue) -> Sighting | None:
    for check in map(mapping, items(one.workload.status.get("admissionChecks"))):
        state, name = text(check.get("state")), text(check.get("name"))
        if state == "Ready" or not _is_true(one.workload, "QuotaReserved"):
            continue
        found = patient.cluster.get("AdmissionCheck", name)
        controller = "" if found is None else text(found.spec.get("controllerName"))
        return one.found(
            Sign(one.workload.ref, f"status.admissionChecks[{name}].state", state),
            name=name,
            state=state,
            help="look at its ProvisioningRequest: the autoscaler has no capacity, or does not "
            "know the class"
            if "provisioning" in controller
            else f"see that the controller of {name} runs ({controller or 'not in the dump'})",
        )
    return None


@_of_workloads("queue-full")
def _full(patient: Patient, one: InQueue) -> Sighting | None:
    queue = one.cluster_queue
    if queue is None or _is_true(one.workload, "QuotaReserved"):
        return None
    for name, amount in one.asked.items():
        free = [
            (quota.most or quota.nominal) - _used(patient.cluster, queue.name, quota.flavor, name)
            for quota in _quotas(queue, name)
        ]
        if free and amount > max(free):
            left = shown(name, max(*free, Fraction(0)))
            evidence = Sign(queue.ref, f"unused quota of {name}", left)
            more = shown(name, amount)
            return one.found(one.says, evidence, queue=queue, name=name, free=left, asked=more)
    return None


@cause("queue-flavor-fits-no-node")
def _flavor(patient: Patient) -> Iterator[Sighting]:
    for one in patient.cluster.all("ResourceFlavor"):
        labels = mapping(one.spec.get("nodeLabels")).items()
        nodes = patient.cluster.nodes.values()
        if not labels or any(all(n.labels.get(k) == v for k, v in labels) for n in nodes):
            continue
        waiting = [
            proof
            for proof in patient.proofs
            if labels <= mapping(proof.pod.spec.get("nodeSelector")).items()
            and all(pool.reason for pool in proof.pools)
        ]
        if waiting:
            pairs, pod = ", ".join(f"{k}={v}" for k, v in labels), waiting[0].pod
            yield found_at(
                one,
                Sign(one.ref, "spec.nodeLabels", pairs),
                Sign(pod.ref, "spec.nodeSelector", pairs),
                explains=tuple(proof.pod.ref for proof in waiting),
                gpus=sum(sum(p.pod.devices.values()) * p.same for p in waiting),
                labels=pairs,
                waiting=pod.name,
            )


_KAI_LABELS = ("kai.scheduler/queue", "runai/queue")


@cause("kai-queue-missing")
def _kai_queue(patient: Patient) -> Iterator[Sighting]:
    queues = (
        one for one in patient.cluster.all("Queue") if "run.ai" in str(one.raw.get("apiVersion"))
    )
    there = sorted(one.name for one in queues)
    for proof in patient.proofs:
        labels = proof.pod.labels
        name = next((labels[key] for key in _KAI_LABELS if key in labels), "")
        if proof.pod.scheduler != "kai-scheduler" or name in there or not there:
            continue
        yield found_at(
            proof,
            Sign(proof.pod.ref, f"metadata.labels[{_KAI_LABELS[0]}]", name or "not there"),
            Sign("Queue", "metadata.name", ", ".join(there)),
            named=f"the queue {name}, which does not exist" if name else "no queue",
            there=" or ".join(there),
        )


_MEMBERS = ("pod-group-name", "scheduling.k8s.io/group-name", "scheduling.x-k8s.io/pod-group")


def _is_member(pod: SeenPod, group: Seen) -> bool:
    names = (pod.annotations.get(key, pod.labels.get(key)) for key in _MEMBERS)
    return pod.namespace == group.namespace and not pod.ended and group.name in names


@cause("gang-cannot-be-complete")
def _gang(patient: Patient) -> Iterator[Sighting]:
    for group in patient.cluster.all("PodGroup"):
        least = group.spec.get("minMember")
        pods = [pod for pod in patient.cluster.pods if _is_member(pod, group)]
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
            Sign(group.ref, "spec.minMember", str(least)),
            Sign(waiting[0].ref, "spec.containers[].resources", counts),
            explains=tuple(pod.ref for pod in waiting),
            gpus=sum(sum(pod.devices.values()) for pod in waiting),
            least=least,
            why=f"it has {len(pods)}"
            if fewer
            else f"the nodes hold {room} of them even if they were empty",
            room=len(pods) if fewer else room,
            what="the missing pods" if fewer else "nodes",
        )


CAUSES = (
    *(_deactivated, _stopped, _inactive, _no_queue, _refused, _uncovered, _exceeds, _check),
    *(_full, _flavor, _kai_queue, _gang),
)
