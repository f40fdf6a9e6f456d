"""Where a fix at admission is needed: CEL that is true while an object breaks the rule."""

from collections.abc import Mapping

from gpufleet_policies.fronts.admission.check import Constants, Expression
from gpufleet_policies.fronts.admission.container_checks import HOLDS_GPU, LIMITS
from gpufleet_policies.fronts.admission.targets import (
    HPAS,
    JOB_SETS,
    JOBS,
    PYTORCH_JOBS,
    RAY_JOBS,
    SCALED_OBJECTS,
    TRAIN_JOBS,
    AdmissionTarget,
)
from gpufleet_policies.rules.scaling import SLOW_SECONDS

_USES_GPUS = f"variables.containerLists.exists(cs, cs.exists(c, {HOLDS_GPU}))"
_GANG_GPUS = 8
_SCHEDULERS = ("kai-scheduler", "volcano", "yunikorn", "scheduler-plugins-scheduler")
_FAMILIES = "^(p[2-9]|g[3-9]|gr[0-9])[a-z0-9-]*$"
"""EC2 families with GPUs: P and G lines."""
_REQUIREMENTS = "object.spec.?template.?spec.?requirements.orValue([])"
_SELECTS_GPUS = (
    f"({_REQUIREMENTS}.exists(r, r.key.startsWith('karpenter.k8s.aws/instance-gpu-')"
    " && r.operator != 'DoesNotExist')"
    f" || {_REQUIREMENTS}.exists(r, r.key in ['karpenter.k8s.aws/instance-family',"
    " 'node.kubernetes.io/instance-type'] && r.operator == 'In'"
    f" && r.?values.orValue([]).exists(v, v.split('.')[0].matches('{_FAMILIES}')))"
    " || object.spec.?template.?spec.?taints.orValue([]).exists(t, t.key == 'nvidia.com/gpu'))"
)
_STATIC = "object.spec.?replicas.hasValue()"
_CONSOLIDATE = "object.spec.?disruption.?consolidateAfter.orValue('0s')"
_GPU_METRICS = (
    "object.spec.?metrics.orValue([]).exists(m, [m.?pods.?metric.?name.orValue(''),"
    " m.?external.?metric.?name.orValue(''), m.?object.?metric.?name.orValue('')]"
    ".exists(n, n.matches('(?i)(dcgm|gpu|vllm|triton|tgi|nim)')))"
)
_MODE = "'gpufleet.dev/mode' in variables.annotations"
_ABOUT_GPUS = f"({_GPU_METRICS} || {_MODE})"
"""An autoscaler does not say whether its target holds GPUs: its metrics or our annotation do."""
_TRIGGERS = (
    "(object.spec.?triggers.orValue([]).exists(t, t.?metadata.orValue({}).exists(k,"
    " string(t.metadata[k]).matches('(?i)(dcgm|gpu|vllm|triton|tgi|nim)')))"
    f" || {_MODE})"
)
_HPA_WINDOW = "object.spec.?behavior.?scaleDown.?stabilizationWindowSeconds.orValue(0)"


def _without_deadline(target: AdmissionTarget, constants: Constants) -> str:
    kueue = "'kueue.x-k8s.io/max-exec-time-seconds' in variables.labels"
    dws = "'provreq.kueue.x-k8s.io/maxRunDurationSeconds'"
    bounded = f"{kueue} || variables.annotationMaps.exists(a, {dws} in a)"
    return f"{_USES_GPUS} && !({bounded}) && !{target.job}.?activeDeadlineSeconds.hasValue()"


def _gang(target: AdmissionTarget, constants: Constants) -> str:
    """Pods times GPUs of each role, without a queue, a gang scheduler or a gate."""
    gpus = (
        f"t.?spec.?containers.orValue([]).map(c, {LIMITS}.filter(k, k == 'nvidia.com/gpu')"
        f".map(k, quantity(string({LIMITS}[k])).asInteger()).sum()).sum()"
    )
    if target is JOBS:
        pods = "object.spec.?parallelism.orValue(1)"
        total, several = f"variables.templates.map(t, {gpus}).sum() * {pods}", f"{pods} >= 2"
    elif target is JOB_SETS:
        jobs = "object.spec.?replicatedJobs.orValue([])"
        count = "int(j.?replicas.orValue(1)) * int(j.?template.?spec.?parallelism.orValue(1))"
        each = gpus.replace("t.?spec", "j.?template.?spec.?template.?spec")
        total = f"{jobs}.map(j, {count} * {each}).sum()"
        several = f"{jobs}.map(j, {count}).sum() >= 2"
    elif target is RAY_JOBS:
        head = gpus.replace("t.?spec", "object.spec.?rayClusterSpec.?headGroupSpec.?template.?spec")
        groups = "object.spec.?rayClusterSpec.?workerGroupSpecs.orValue([])"
        count = (
            "int(w.?replicas.orValue(w.?minReplicas.orValue(0))) * int(w.?numOfHosts.orValue(1))"
        )
        each = gpus.replace("t.?spec", "w.?template.?spec")
        total = f"{groups}.map(w, {count} * {each}).sum() + {head}"
        several = f"{groups}.map(w, {each} > 0 ? {count} : 0).sum() + ({head} > 0 ? 1 : 0) >= 2"
    elif target is TRAIN_JOBS:
        pods = "int(object.spec.?trainer.?numNodes.orValue(1))"
        total, several = f"variables.templates.map(t, {gpus}).sum() * {pods}", f"{pods} >= 2"
    else:
        field = "pytorchReplicaSpecs" if target is PYTORCH_JOBS else "mpiReplicaSpecs"
        roles = f"object.spec.?{field}.orValue({{}})"
        role = f"{roles}[r]"
        count = f"int({role}.?replicas.orValue(1))"
        each = gpus.replace("t.?spec", f"{role}.?template.?spec")
        total = f"{roles}.map(r, {count} * {each}).sum()"
        several = f"{roles}.map(r, {each} > 0 ? {count} : 0).sum() >= 2"
    names = ", ".join(f"'{name}'" for name in _SCHEDULERS)
    queued = (
        "'kueue.x-k8s.io/queue-name' in variables.labels || 'kai.scheduler/queue' in"
        " variables.labels || 'runai/queue' in variables.labels"
        f" || variables.specs.exists(p, p.?schedulerName.orValue('') in [{names}]"
        " || p.?schedulingGates.orValue([]).size() > 0)"
        " || variables.annotationMaps.exists(a, a.exists(k, k.endsWith('/pod-group')"
        " || k.endsWith('/group-name')))"
    )
    return f"{several} && {total} >= {_GANG_GPUS} && !({queued})"


def _slow(target: AdmissionTarget, constants: Constants) -> str:
    return {
        HPAS.name: f"{_ABOUT_GPUS} && {_HPA_WINDOW} > {SLOW_SECONDS}",
        SCALED_OBJECTS.name: f"{_TRIGGERS}"
        f" && object.spec.?cooldownPeriod.orValue(300) > {SLOW_SECONDS}",
    }[target.name]


CONDITIONS: Mapping[str, Expression] = {
    "gpu-job-without-deadline": _without_deadline,
    "gpu-cronjob-overlaps": f"{_USES_GPUS} && object.spec.?concurrencyPolicy.orValue('Allow')"
    " == 'Allow' && !object.spec.jobTemplate.?spec.?activeDeadlineSeconds.hasValue()",
    "rayjob-cluster-outlives-job": f"{_USES_GPUS}"
    " && !object.spec.?shutdownAfterJobFinishes.orValue(false)"
    " && !object.spec.?deletionStrategy.hasValue()"
    " && object.spec.?clusterSelector.orValue({}).size() == 0",
    "training-without-queue-or-gang": _gang,
    "gpu-pool-unbounded": f"{_SELECTS_GPUS} && !{_STATIC}"
    " && object.spec.?limits.orValue({}).size() == 0",
    # Budgets that never let a node go are left to a person.
    "karpenter-never-consolidates": f"{_SELECTS_GPUS} && !{_STATIC} && {_CONSOLIDATE} == 'Never'",
    "karpenter-never-expires": f"{_SELECTS_GPUS} && !{_STATIC}"
    " && object.spec.?template.?spec.?expireAfter.orValue('720h') == 'Never'",
    "scale-down-too-slow": _slow,
}
"""Rule -> where its fix is needed, for each target of the fix."""
