"""Jobs that hold GPUs too long: no deadline, endless retries, overlaps, forgotten clusters."""

from collections.abc import Iterator

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.written import written_rule

_LONGEST = (
    "kueue.x-k8s.io/max-exec-time-seconds",
    "provreq.kueue.x-k8s.io/maxRunDurationSeconds",
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
)
"""Label by which Kueue ends a job, and annotations by which GKE's Dynamic Workload Scheduler takes
its nodes away (GoogleCloudPlatform/kubernetes-engine-samples, batch/kueue-dws; Google Kubernetes
Engine, flex-start: at most seven days)."""

_LIMITED_NODES = (
    "cloud.google.com/gke-flex-start",
    "cloud.google.com/gke-max-run-duration-seconds",
)
"""Labels of nodes that Google takes away after a time, seven days at most."""

DAY_SECONDS = 86_400
"""Deadline a patch writes: long for a run, short for a month."""

MANY_RETRIES = 10
MANY_RESTARTS = 50
SOON_SECONDS = 300
"""After which a finished Ray cluster may go: long enough to read its logs."""


@written_rule("gpu-job-without-deadline")
def without_deadline(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Kinds with their own deadline field; Kueue's label counts too."""
    if not workload.runs_to_completion or not workload.deadline_seconds.is_absent:
        return
    if not workload.uses_gpus or workload.may_say(*_LONGEST):
        return
    field = workload.deadline_seconds.place
    if all(_ends(group) for group in workload.pod_groups if group.gpu_resources):
        return
    yield without_deadline.say(field, field=field, remediation=_deadline(workload, field))


def _ends(group: PodGroup) -> bool:
    limited = any(key in group.node_labels for key in _LIMITED_NODES)
    return limited or not group.deadline_seconds.is_absent


def _deadline(workload: WorkloadFacts, field: str) -> JsonPatch:
    """With its parent where the field is missing; none where it is not known."""
    parent, _, name = field.rpartition(".")
    if parent not in ("spec", "spec.jobTemplate.spec") and workload.job is not None:
        written = workload.job.deadline_parent_written
        if not written.is_known:
            return ()
        if not written.value:
            return (add({name: DAY_SECONDS}, parent),)
    return (add(DAY_SECONDS, field),)


@written_rule("rayjob-cluster-outlives-job")
def cluster_outlives(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Not with a deletion strategy, and not for a cluster chosen by `clusterSelector`."""
    ray = workload.ray
    if ray is None or not workload.uses_gpus:
        return
    if not ray.ends_with_job.is_known or ray.ends_with_job.value:
        return
    place = "spec.shutdownAfterJobFinishes"
    job = workload.job
    patch = [add(value=True, place=place)]
    if job is not None and job.time_to_live.is_absent:
        patch.append(add(SOON_SECONDS, job.time_to_live_place))
    yield cluster_outlives.say(
        place,
        soon_seconds=SOON_SECONDS,
        money=held(context, workload, workload.gpu_containers[0][0]),
        remediation=tuple(patch),
    )


@written_rule("gpu-job-unbounded-retries")
def many_retries(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """More than 10 retries or 50 restarts, and no deadline: that one is over all retries."""
    job = workload.job
    if job is None or not workload.uses_gpus or workload.deadline_seconds.is_known:
        return
    group = workload.gpu_containers[0][0]
    for number, place, limit in (
        (job.retries, job.retries_place, MANY_RETRIES),
        (job.restarts, job.restarts_place, MANY_RESTARTS - 1),
    ):
        if not number.is_known or number.value <= limit:
            continue
        yield many_retries.say(
            place,
            number=number,
            bound=limit,
            money=held(context, workload, group, kind=AmountKind.EXPOSURE),
        )


@written_rule("gpu-cronjob-overlaps")
def overlaps(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Without a deadline: the next run may start before the last one ends."""
    job = workload.job
    if job is None or not job.schedule.is_known or not workload.uses_gpus or workload.is_idle_now:
        return
    if job.concurrency.found != "Allow" or not workload.deadline_seconds.is_absent:
        return
    yield overlaps.say(
        job=job,
        money=held(context, workload, workload.gpu_containers[0][0], kind=AmountKind.EXPOSURE),
        remediation=(add("Forbid", "spec.concurrencyPolicy"),),
    )
