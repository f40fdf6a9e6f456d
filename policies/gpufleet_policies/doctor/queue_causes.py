"""Causes in queues: Kueue's, and those of KAI Scheduler and of other schedulers of gangs.

Sources: kubernetes-sigs/kueue `apis/kueue/v1beta2/workload_types.go` (reasons of QuotaReserved),
`pkg/scheduler/flavorassigner`, `pkg/cache/scheduler/clusterqueue.go` (reasons of Active);
kai-scheduler/KAI-Scheduler docs (queue label, PodGroup); volcano-sh/apis `scheduling/v1beta1`.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import Severity
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.fit import meets, shown
from gpufleet_policies.doctor.observed import (
    Cluster,
    Pod,
    Seen,
    amounts,
    is_device,
    pod_requests,
    text,
)

_KUEUE = "https://github.com/kubernetes-sigs/kueue/"
_KAI = "https://github.com/kai-scheduler/KAI-Scheduler/"
_GROUP = "kueue.x-k8s.io/"


@dataclass(frozen=True, eq=False)
class Queued:
    """A Workload of Kueue that is not admitted."""

    workload: Seen
    cluster: Cluster

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
    def says(self) -> Evidence:
        """What Kueue says of it."""
        found = self.workload.conditions.get("QuotaReserved", {})
        value = f"{text(found.get('status')) or 'not there'} ({text(found.get('reason'))})"
        return Evidence(self.workload.ref, "status.conditions[QuotaReserved]", value)


def _is_true(one: Seen, kind: str) -> bool:
    return one.conditions.get(kind, {}).get("status") == "True"


def queued(patient: Patient) -> Iterator[Queued]:
    """Workloads that are not admitted and that no cause explains yet."""
    for one in patient.cluster.all("Workload"):
        if not text(one.raw.get("apiVersion")).startswith(_GROUP):
            continue
        done = _is_true(one, "Admitted") or _is_true(one, "Finished")
        if not done and one.ref not in patient.explained:
            yield Queued(one, patient.cluster)


@cause("workload-deactivated")
def deactivated(patient: Patient) -> Iterator[Found]:
    for one in queued(patient):
        if one.workload.spec.get("active") is not False:
            continue
        name, namespace = one.workload.name, one.workload.namespace
        yield found_at(
            one.workload,
            Evidence(one.workload.ref, "spec.active", "false"),
            gpus=one.gpus,
            name=name,
            namespace=namespace,
        )


@cause("queue-missing")
def no_queue(patient: Patient) -> Iterator[Found]:
    for one in queued(patient):
        if one.local is not None:
            continue
        there = sorted(
            q.name
            for q in patient.cluster.all("LocalQueue")
            if q.namespace == one.workload.namespace
        )
        named = (
            f"the queue {one.queue}, which {one.workload.namespace} does not have"
            if one.queue
            else "no queue"
        )
        yield found_at(
            one.workload,
            Evidence(one.workload.ref, "spec.queueName", one.queue or "not there"),
            Evidence("LocalQueue", f"in {one.workload.namespace}", ", ".join(there) or "none"),
            gpus=one.gpus,
            named=named,
            a=" or ".join(there) if there else "NAME, and make a LocalQueue of that name",
        )


def _stopped(patient: Patient, *, by_person: bool) -> Iterator[tuple[Seen, list[Queued]]]:
    waiting: dict[str, list[Queued]] = defaultdict(list)
    for one in queued(patient):
        if one.cluster_queue is not None:
            waiting[one.cluster_queue.name].append(one)
    for queue in patient.cluster.all("ClusterQueue"):
        active = queue.conditions.get("Active", {})
        held = text(queue.spec.get("stopPolicy")) in {"Hold", "HoldAndDrain"}
        if held is by_person and (held or active.get("status") == "False"):
            yield queue, waiting[queue.name]


@cause("queue-stopped")
def stopped(patient: Patient) -> Iterator[Found]:
    for queue, waiting in _stopped(patient, by_person=True):
        policy = text(queue.spec.get("stopPolicy"))
        yield found_at(
            queue,
            Evidence(queue.ref, "spec.stopPolicy", policy),
            explains=tuple((one.workload.ref for one in waiting)),
            gpus=sum((one.gpus for one in waiting)),
            policy=policy,
            a=len(waiting),
        )


@cause("queue-inactive")
def inactive(patient: Patient) -> Iterator[Found]:
    for queue, waiting in _stopped(patient, by_person=False):
        reason = text(queue.conditions["Active"].get("reason"))
        missing = sorted(
            {
                text(mapping(flavor).get("name"))
                for group in map(mapping, items(queue.spec.get("resourceGroups")))
                for flavor in items(group.get("flavors"))
            }
            - {one.name for one in patient.cluster.all("ResourceFlavor")}
        )
        named = f": the flavors {', '.join(missing)} do not exist" if missing else ""
        yield found_at(
            queue,
            Evidence(queue.ref, "status.conditions[Active]", f"False ({reason})"),
            explains=tuple((one.workload.ref for one in waiting)),
            gpus=sum((one.gpus for one in waiting)),
            fix=f"make the ResourceFlavors {', '.join(missing)}, or take them out of the queue"
            if missing
            else f"kubectl describe clusterqueue {queue.name}, and make what it names",
            reason=reason,
            named=named,
            a=len(waiting),
        )


@cause("queue-namespace-refused")
def refused(patient: Patient) -> Iterator[Found]:
    for one in queued(patient):
        queue = one.cluster_queue
        if queue is None:
            continue
        selector = queue.spec.get("namespaceSelector")
        space = patient.cluster.get("Namespace", one.workload.namespace)
        labels = {"kubernetes.io/metadata.name": one.workload.namespace}
        labels |= {} if space is None else space.labels
        wanted = mapping(selector)
        equal = mapping(wanted.get("matchLabels"))
        selected = selector is not None and (
            all(labels.get(k) == v for k, v in equal.items())
            and all(meets(mapping(e), labels) for e in items(wanted.get("matchExpressions")))
        )
        if selected or (space is None and equal and patient.cluster.has("Namespace")):
            continue
        shown_ = ", ".join(f"{k}={v}" for k, v in equal.items()) or "nothing"
        yield found_at(
            one.workload,
            Evidence(queue.ref, "spec.namespaceSelector", shown_),
            one.says,
            gpus=one.gpus,
            fix=f"kubectl label namespace {one.workload.namespace} "
            + " ".join((f"{k}={v}" for k, v in equal.items()))
            if equal
            else f"write namespaceSelector: {{}} into {queue.name}",
            queue=queue,
            shown_=shown_,
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


def _used(cluster: Cluster, queue: str, flavor: str, resource: str) -> Fraction:
    total = Fraction(0)
    for one in cluster.all("Workload"):
        admission = mapping(one.status.get("admission"))
        if admission.get("clusterQueue") != queue or _is_true(one, "Finished"):
            continue
        for part in map(mapping, items(admission.get("podSetAssignments"))):
            if mapping(part.get("flavors")).get(resource) == flavor:
                total += amounts(part.get("resourceUsage")).get(resource, Fraction(0))
    return total


@cause("queue-resource-uncovered")
def uncovered(patient: Patient) -> Iterator[Found]:
    for one in queued(patient):
        queue = one.cluster_queue
        for name in one.asked if queue is not None else ():
            covered = {
                text(r)
                for g in map(mapping, items(queue.spec.get("resourceGroups") if queue else None))
                for r in items(g.get("coveredResources"))
            }
            if queue is None or name in covered or not is_device(name):
                continue
            yield found_at(
                one.workload,
                Evidence(
                    queue.ref, "spec.resourceGroups[].coveredResources", ", ".join(sorted(covered))
                ),
                one.says,
                gpus=one.gpus,
                name=name,
                queue=queue,
                a=", ".join(sorted(covered)),
            )
            break


@cause("queue-exceeds-quota")
def exceeds(patient: Patient) -> Iterator[Found]:
    for one in queued(patient):
        queue = one.cluster_queue
        for name, amount in one.asked.items() if queue is not None else ():
            quotas = _quotas(queue, name) if queue is not None else []
            most = [quota.most for quota in quotas if quota.most is not None]
            if queue is None or not quotas or len(most) < len(quotas) or amount <= max(most):
                continue
            yield found_at(
                one.workload,
                Evidence(one.workload.ref, f"podSets, {name}", shown(name, amount)),
                Evidence(queue.ref, "nominalQuota and borrowingLimit", shown(name, max(most))),
                gpus=one.gpus,
                a=shown(name, amount),
                name=name,
                queue=queue,
                b=shown(name, max(most)),
            )
            break


@cause("queue-check-pending")
def check(patient: Patient) -> Iterator[Found]:
    for one in queued(patient):
        for state in map(mapping, items(one.workload.status.get("admissionChecks"))):
            if state.get("state") not in {"Pending", "Retry", "Rejected"}:
                continue
            if not _is_true(one.workload, "QuotaReserved"):
                continue
            name = text(state.get("name"))
            found = patient.cluster.get("AdmissionCheck", name)
            controller = "" if found is None else text(found.spec.get("controllerName"))
            yield found_at(
                one.workload,
                Evidence(
                    one.workload.ref,
                    f"status.admissionChecks[{name}].state",
                    text(state.get("state")),
                ),
                gpus=one.gpus,
                fix="look at its ProvisioningRequest: the autoscaler has no capacity, or does not know the class"
                if "provisioning" in controller
                else f"see that the controller of {name} runs ({controller or 'not in the dump'})",
                name=name,
                a=state.get("state"),
            )
            break


@cause("queue-full")
def full(patient: Patient) -> Iterator[Found]:
    for one in queued(patient):
        queue = one.cluster_queue
        if queue is None or _is_true(one.workload, "QuotaReserved"):
            continue
        for name, amount in one.asked.items():
            free = [
                (quota.most or quota.nominal)
                - _used(patient.cluster, queue.name, quota.flavor, name)
                for quota in _quotas(queue, name)
            ]
            if not free or amount <= max(free):
                continue
            yield found_at(
                one.workload,
                one.says,
                Evidence(queue.ref, f"unused quota of {name}", shown(name, max(free))),
                gpus=one.gpus,
                queue=queue,
                a=shown(name, max(max(free), Fraction(0))),
                name=name,
                b=shown(name, amount),
            )
            break


@cause("queue-flavor-fits-no-node")
def flavor(patient: Patient) -> Iterator[Found]:
    for one in patient.cluster.all("ResourceFlavor"):
        labels = mapping(one.spec.get("nodeLabels"))
        if not labels or any(
            all(node.labels.get(k) == v for k, v in labels.items())
            for node in patient.cluster.nodes.values()
        ):
            continue
        waiting = [
            proof
            for proof in patient.proofs
            if all(
                mapping(proof.pod.spec.get("nodeSelector")).get(k) == v for k, v in labels.items()
            )
            and not any(not pool.reason for pool in proof.pools)
        ]
        if not waiting:
            continue
        shown_ = ", ".join(f"{k}={v}" for k, v in labels.items())
        yield found_at(
            one,
            Evidence(one.ref, "spec.nodeLabels", shown_),
            Evidence(waiting[0].pod.ref, "spec.nodeSelector", shown_),
            explains=tuple((proof.pod.ref for proof in waiting)),
            gpus=sum((sum(p.pod.devices.values()) * p.same for p in waiting)),
            shown_=shown_,
            a=waiting[0].pod.name,
        )


_KAI_LABELS = ("kai.scheduler/queue", "runai/queue")


def _kai_queues(cluster: Cluster) -> list[Seen]:
    return [
        one
        for one in cluster.all("Queue")
        if text(one.raw.get("apiVersion")).startswith("scheduling.run.ai")
    ]


@cause("kai-queue-missing")
def kai_queue(patient: Patient) -> Iterator[Found]:
    there = sorted(one.name for one in _kai_queues(patient.cluster))
    for proof in patient.proofs:
        pod = proof.pod
        name = next((pod.labels[key] for key in _KAI_LABELS if key in pod.labels), "")
        if pod.scheduler != "kai-scheduler" or (name and (name in there or not there)):
            continue
        if not there and not name:
            continue
        yield found_at(
            pod,
            Evidence(pod.ref, "metadata.labels[kai.scheduler/queue]", name or "not there"),
            Evidence("Queue", "metadata.name", ", ".join(there)),
            gpus=proof.same * sum(pod.devices.values()),
            a=f"the queue {name}, which does not exist" if name else "no queue",
            b=" or ".join(there),
        )


_MEMBERS = ("pod-group-name", "scheduling.k8s.io/group-name", "scheduling.x-k8s.io/pod-group")


def _members(cluster: Cluster, group: Seen) -> list[Pod]:
    return [
        pod
        for pod in cluster.pods
        if pod.namespace == group.namespace
        and not pod.ended
        and any(pod.annotations.get(key, pod.labels.get(key)) == group.name for key in _MEMBERS)
    ]


@cause("gang-cannot-be-complete")
def gang(patient: Patient) -> Iterator[Found]:
    for group in patient.cluster.all("PodGroup"):
        least = group.spec.get("minMember")
        pods = _members(patient.cluster, group)
        waiting = [pod for pod in pods if pod.waits and pod.wants_gpus]
        if not isinstance(least, int) or not waiting:
            continue
        if len(pods) < least:
            yield found_at(
                group,
                Evidence(group.ref, "spec.minMember", str(least)),
                Evidence(group.ref, "pods", str(len(pods))),
                explains=tuple((pod.ref for pod in waiting)),
                gpus=sum((sum(pod.devices.values()) for pod in waiting)),
                message=f"{group.name} starts with {least} pods and has {len(pods)}: none of them is bound",
                fix="make the missing pods, or lower minMember",
            )
            continue
        asked = waiting[0].requests
        room = sum(
            int(min(node.allocatable.get(n, Fraction(0)) // v for n, v in asked.items() if v))
            for node in patient.cluster.nodes.values()
        )
        if room >= least or patient.cluster.has("NodePool"):
            continue
        yield found_at(
            group,
            Evidence(group.ref, "spec.minMember", str(least)),
            Evidence(
                waiting[0].ref,
                "spec.containers[].resources",
                ", ".join((f"{n}: {shown(n, v)}" for n, v in asked.items() if is_device(n))),
            ),
            explains=tuple((pod.ref for pod in waiting)),
            gpus=sum((sum(pod.devices.values()) for pod in waiting)),
            least=least,
            room=room,
        )


CAUSES = (
    deactivated,
    stopped,
    inactive,
    no_queue,
    refused,
    uncovered,
    exceeds,
    check,
    full,
    flavor,
    kai_queue,
    gang,
)
