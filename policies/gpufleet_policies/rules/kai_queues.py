"""Queues of KAI's scheduler that it never reads."""

from collections.abc import Iterator

from gpufleet.cluster import PodGroup, WorkloadFacts
from gpufleet.findings import Finding, Level, finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.fractions_of_gpus import FRACTIONS
from gpufleet_policies.rules.written import written_rule

KAI_QUEUES = ("kai.scheduler/queue", "runai/queue")
"""Labels by which a pod names its queue: KAI's, and the one of NVIDIA Run:ai."""
_KAI = "kai-scheduler"
_PLAIN = frozenset({"Pod", "Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob"})
"""Kinds whose scheduler only their author sets."""


@written_rule("kai-queue-not-read")
def not_read(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Pods with GPUs, or with a part of one by annotation, which another scheduler gives no GPU.
    The scheduler's name counts for kinds that no operator writes pods for.
    """
    for group in workload.running_groups():
        parts = {*workload.annotations, *group.annotations} & set(FRACTIONS)
        if not group.gpu_resources and not parts:
            continue
        labels = {**workload.labels, **group.labels}
        named = [key for key in KAI_QUEUES if key in labels]
        if named and _is_of_default(workload, group):
            yield finding(
                where=f"{group.place}.schedulerName",
                found=f"the label {named[0]} names the queue {labels[named[0]]}, and the default "
                "scheduler takes the pods",
                limit=f"queues are read by {_KAI} alone: its quota and order do not hold",
                alternative=f"write `schedulerName: {_KAI}`",
                evidence={"queue": labels[named[0]]},
            )
        elif named == [KAI_QUEUES[1]] and _is_of_kai(group) and not workload.may_say(KAI_QUEUES[0]):
            yield finding(
                where=f"metadata.labels[{KAI_QUEUES[1]}]",
                found=f"names the queue {labels[KAI_QUEUES[1]]} in the label of Run:ai",
                limit=f"{_KAI} reads {KAI_QUEUES[0]}, and takes its default queue else, unless its "
                "queueLabelKey names this label",
                alternative=f"write it as the label {KAI_QUEUES[0]}",
                at_most=Level.ADVISORY,
                evidence={"queue": labels[KAI_QUEUES[1]]},
            )
        elif not named and _is_of_kai(group) and workload.metadata_known:
            for key in sorted(workload.annotations.keys() & set(KAI_QUEUES)):
                queue = workload.annotations[key]
                yield finding(
                    where=f"metadata.annotations[{key}]",
                    found=f"names the queue {queue} in an annotation",
                    limit=f"{_KAI} reads it from a label, and takes its default queue else",
                    alternative=f"write it as the label {KAI_QUEUES[0]}",
                    evidence={"queue": queue},
                )
            return


def _is_of_default(workload: WorkloadFacts, group: PodGroup) -> bool:
    if workload.locator.kind not in _PLAIN:
        return False
    scheduler = group.scheduler
    return scheduler.is_absent or (scheduler.found == "default-scheduler")


def _is_of_kai(group: PodGroup) -> bool:
    return group.scheduler.found == _KAI
