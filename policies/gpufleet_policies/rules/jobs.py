"""Jobs that hold GPUs too long, and training jobs whose pods do not come together."""

import re
from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.cluster.queues import LocalQueue
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.purpose import is_training, serving, training
from gpufleet_policies.rules.written import written_rule

_LONGEST = names("key that ends a job")
"""Label by which Kueue ends a job, and annotations by which GKE's Dynamic Workload Scheduler takes
its nodes away (GoogleCloudPlatform/kubernetes-engine-samples, batch/kueue-dws; Google Kubernetes
Engine, flex-start: at most seven days)."""

_LIMITED_NODES = names("label of nodes for a time")
"""Labels of nodes that Google takes away after a time, seven days at most."""

DAY_SECONDS = 86_400
"""Deadline a patch writes: long for a run, short for a month."""

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
    if ray is None or not workload.uses_gpus or ray.ends_with_job.found is not False:
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


KAI_QUEUES = ("kai.scheduler/queue", "runai/queue")
"""Labels by which a pod names its queue: KAI's, and the one of NVIDIA Run:ai."""

_QUEUE = "kueue.x-k8s.io/queue-name"
_GANGS = frozenset(names("scheduler of gangs"))
"""Schedulers that start all pods of a group or none."""

_VOLCANO = ("batch.volcano.sh", "Job")
"""Its pods get `spec.schedulerName`, volcano by default, and start together from `minAvailable` on,
all of them by default (volcano-sh/volcano pkg/controllers/job/job_controller_util.go and
pkg/webhooks/admission/jobs/mutate/mutate_job.go)."""

_POD_GROUPS = names("label of a group of pods")
"""Labels and annotations that name a group of pods."""


def _together(workload: WorkloadFacts) -> list[PodGroup]:
    """Groups with GPUs of a workload that trains over several pods."""
    groups = [g for g in workload.running_groups() if g.gpu_resources]
    pods = [g.pods.value if g.pods.is_known else 2 for g in groups]
    if sum(pods) < 2 or not (workload.starts_together or workload.trains):
        return []
    return groups


@written_rule("training-without-queue-or-gang")
def without_gang(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Jobs, and what is known to train, of two pods and more with many GPUs; advice for what has no
    end, and for a TrainJob, whose runtime may make a group of its pods. Not for groups that serve.
    """
    if not workload.starts_together or _has_gang(workload) or _serves(workload):
        return
    if not workload.runs_to_completion and training(workload) is None:
        return
    total, largest = Fraction(0), None
    for group in _together(workload):
        gpus = group.pod_gpus(GPU)
        if not gpus.is_known or not group.pods.is_known:
            return
        total += gpus.value * group.pods.value
        largest = largest or group
    if largest is None or total < context.thresholds.training_gpus:
        return
    queue = _only_queue(context, workload)
    yield without_gang.say(
        gpus=int(total),
        certain=workload.runs_to_completion and workload.api_group != "trainer.kubeflow.org",
        remediation=queue_patch(workload, queue),
    )


_SERVING_KINDS = ("LeaderWorkerSet",)
"""Kinds made for inference over several nodes (kubernetes-sigs/lws, README)."""


def _serves(workload: WorkloadFacts) -> bool:
    if workload.locator.kind in _SERVING_KINDS and not is_training(workload):
        return not workload.starts_training
    return serving(workload) is not None


def _only_queue(context: RuleContext, workload: WorkloadFacts) -> str:
    """The only LocalQueue of its namespace; empty where there are none, or several."""
    if not workload.locator.namespace:
        return ""
    names = {
        queue.locator.name
        for queue in context.declared(LocalQueue)
        if queue.locator.namespace == workload.locator.namespace
    }
    return names.pop() if len(names) == 1 else ""


def queue_patch(workload: WorkloadFacts, queue: str) -> JsonPatch:
    """The label of a LocalQueue, where the object that is written takes labels; no queue: none."""
    if not queue or workload.api_group == "helm.sh" or not workload.metadata_known:
        return ()
    if workload.labels_written:
        return (add(queue, "metadata.labels", _QUEUE),)
    return (add({_QUEUE: queue}, "metadata.labels"),)


def _has_gang(workload: WorkloadFacts) -> bool:
    if (workload.api_group, workload.locator.kind) == _VOLCANO:
        return True
    keys = (_QUEUE, *KAI_QUEUES, *_POD_GROUPS)
    for group in workload.pod_groups:
        if any(key in group.labels for key in keys):
            return True
        scheduler = group.scheduler
        named = scheduler.is_unknown or (scheduler.is_known and scheduler.value in _GANGS)
        if named or group.gated:
            return True
    return workload.may_say(*keys)


@written_rule("job-fewer-pods-than-ranks")
def fewer_pods(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """WORLD_SIZE against the pods of a Job that run at a time, each with a rank for each GPU."""
    if workload.locator.kind != "Job" or workload.api_group != "batch":
        return
    for group, container in workload.gpu_containers:
        ranks = container.variables.get("WORLD_SIZE", "")
        asked = group.pod_gpus(GPU)
        if not ranks.isdigit() or not asked.is_known or not group.pods.is_known:
            continue
        most = group.pods.value * max(asked.value, 1)
        if container.init or int(ranks) <= most or len(ranks) > 6:
            continue
        yield fewer_pods.say(
            container=container,
            ranks=ranks,
            group=group,
            asked=asked,
            number=int(ranks),
            money=held(context, workload, group),
        )


_NUMBER = ("-np", "--np")


@written_rule("mpi-fewer-processes-than-gpus")
def fewer_processes(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """`mpirun -np` of the launcher against the GPUs of all workers; `-g` of nccl-tests counts."""
    if workload.locator.kind != "MPIJob":
        return
    holders = [g for g in workload.running_groups() if g.gpu_resources == (GPU,)]
    if len(holders) != 1 or holders[0].name != "Worker":
        return
    workers = holders[0]
    asked = workers.pod_gpus(GPU)
    if not asked.is_known or not workers.pods.is_known:
        return
    total = asked.value * workers.pods.value
    for group in workload.pod_groups:
        for container in group.containers:
            started = _processes(container.words.found or ())
            if group.name == "Launcher" and started is not None and started < total:
                yield fewer_processes.say(
                    container.where,
                    started=started,
                    total=total,
                    idle=total - started,
                    money=held(context, workload, workers, Fraction(total - started, total)),
                )
            elif group.name == "Launcher" and started is not None and started > total:
                yield fewer_processes.say(
                    container.where,
                    case="more",
                    started=started,
                    total=total,
                    money=held(context, workload, workers, kind=AmountKind.STANDING),
                )


def _processes(words: tuple[str, ...]) -> int | None:
    parts = [part for word in words for part in word.split()]
    if not any(part.rsplit("/", 1)[-1] in ("mpirun", "mpiexec") for part in parts):
        return None
    if any("$" in part for part in parts):
        return None
    found = [parts[at + 1] for at, part in enumerate(parts[:-1]) if part in _NUMBER]
    each = [parts[at + 1] for at, part in enumerate(parts[:-1]) if part == "-g"]
    numbers = [int(one) for one in (*found, *each) if one.isdigit() and len(one) < 7]
    if len(found) != 1 or len(numbers) != len(found) + len(each) or len(each) > 1:
        return None
    return numbers[0] * (numbers[1] if each else 1)


_SET_UP = frozenset({"PyTorchJob", "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"})
"""Kinds whose controllers write PET_MASTER_ADDR (kubeflow/trainer, torch plugin)."""


@written_rule("torchrun-without-address")
def without_address(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """More than one `--nnodes`; not where the kind's controller writes the address."""
    if workload.locator.kind in _SET_UP:
        return
    for group, container in workload.gpu_containers:
        launch = container.launch
        nodes = group.together if launch.nodes.is_unknown else launch.nodes
        if container.init or not nodes.is_known or nodes.value < 2 or not launch.trains:
            continue
        if not launch.meeting.is_absent or group not in workload.running_groups():
            continue
        yield without_address.say(
            container.where, nodes=nodes, money=held(context, workload, group)
        )


_NAMED_PODS = {"Job": "batch", "StatefulSet": "apps", "JobSet": "jobset.x-k8s.io"}
"""Kinds whose pods have their own names -> group."""


@written_rule("rank-address-unknown")
def unknown_address(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """`NAME-0.SERVICE` in MASTER_ADDR or in torchrun's options, against the pods' subdomain."""
    if _NAMED_PODS.get(workload.locator.kind) != workload.api_group:
        return
    for group, container in workload.gpu_containers:
        said = container.launch.meeting.found or container.variables.get("MASTER_ADDR", "")
        pod, _, rest = said.partition(":")[0].partition(".")
        service = rest.partition(".")[0]
        if container.init or not service or not _is_own(workload.locator.name, pod):
            continue
        if group.subdomain.is_unknown or group.subdomain.found == service:
            continue
        yield unknown_address.say(
            container=container,
            words=f"looks for {pod}.{service}, and the pods have the subdomain "
            f"{group.subdomain.found}"
            if group.subdomain.is_known
            else f"looks for {pod}.{service}, and the pods have no subdomain",
            address=f"{pod}.{service}",
            alternative=f"write {pod}.{group.subdomain.found}"
            if group.subdomain.is_known
            else f"write `subdomain: {service}` in the pod template",
            money=held(context, workload, group),
        )


def _is_own(name: str, pod: str) -> bool:
    """Whether a host name is one that pods of this object get: its name and numbers."""
    return bool(name) and re.fullmatch(re.escape(name) + r"(?:-[a-z0-9-]+)?-\d+", pod) is not None
