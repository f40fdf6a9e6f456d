"""Pods that need each other, and priorities when GPUs are short."""

from collections.abc import Iterator
from fractions import Fraction

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.cluster.container import GPU
from gpufleet.cluster.queues import LocalQueue
from gpufleet.findings import Finding
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.names import names
from gpufleet_policies.rules.purpose import is_training, serving, training
from gpufleet_policies.rules.written import written_rule

KAI_QUEUES = ("kai.scheduler/queue", "runai/queue")
"""Labels by which a pod names its queue: KAI's, and the one of NVIDIA Run:ai."""

_QUEUE = "kueue.x-k8s.io/queue-name"
_GANGS = frozenset(
    {"volcano", "yunikorn", "kai-scheduler", "scheduler-plugins-scheduler", "coscheduling"}
)
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
