"""Checks of jobs, Ray objects and training groups."""

from gpufleet.findings import Level
from gpufleet_policies.fronts.admission.check import Constants, ObjectCheck, quoted
from gpufleet_policies.fronts.admission.container_checks import HOLDS_GPU, LIMITS
from gpufleet_policies.fronts.admission.patterns import at_least
from gpufleet_policies.fronts.admission.targets import (
    CRON_JOBS,
    JOB_SETS,
    JOBS,
    LEADER_WORKER_SETS,
    MPI_JOBS,
    PYTORCH_JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
    RAY_SERVICES,
    TRAIN_JOBS,
    AdmissionTarget,
)
from gpufleet_policies.rules.scaling import SLOW_SECONDS

_USES_GPUS = f"variables.containerLists.exists(cs, cs.exists(c, {HOLDS_GPU}))"
_JOBS = (JOBS, CRON_JOBS, PYTORCH_JOBS, MPI_JOBS, RAY_JOBS)
_MOST_RETRIES = 10
_MOST_RESTARTS = 50
_GANG_GPUS = 8
_SLOW_DELAY = quoted(
    rf"downscale_delay_s[\x22\x27]?\s*:\s*[\x22\x27]?{at_least(SLOW_SECONDS + 1)}"
    r"([.][0-9]*)?[\x22\x27]?\s*([,}#\n]|$)"
)
_RAY_UNSET = (1 << 31) - 1
"""`maxReplicas` where its author wrote none: the default of KubeRay's definition (v1.6.2,
ray.io_rayclusters.yaml), which an API server fills in before a policy sees the object."""
_SCHEDULERS = ("kai-scheduler", "volcano", "yunikorn", "scheduler-plugins-scheduler")


def _without_deadline(target: AdmissionTarget, constants: Constants) -> str:
    kueue = "'kueue.x-k8s.io/max-exec-time-seconds' in variables.labels"
    dws = "'provreq.kueue.x-k8s.io/maxRunDurationSeconds'"
    bounded = f"{kueue} || variables.annotationMaps.exists(a, {dws} in a)"
    return f"{_USES_GPUS} && !({bounded}) && !{target.job}.?activeDeadlineSeconds.hasValue()"


def _retries(target: AdmissionTarget, constants: Constants) -> str:
    found = f"{target.job}.?backoffLimit.orValue(6) > {_MOST_RETRIES}"
    if target is PYTORCH_JOBS:
        found += f" || object.spec.?elasticPolicy.?maxRestarts.orValue(0) >= {_MOST_RESTARTS}"
    return f"{_USES_GPUS} && ({found})"


def _ray_spec(target: AdmissionTarget) -> str:
    return {
        RAY_CLUSTERS.name: "object.?spec",
        RAY_JOBS.name: "object.spec.?rayClusterSpec",
        RAY_SERVICES.name: "object.spec.?rayClusterConfig",
    }[target.name]


def _gpu_groups(target: AdmissionTarget) -> str:
    """CEL: worker groups of a Ray object whose pods hold GPUs, where the autoscaler is on."""
    spec = _ray_spec(target)
    holds = f"w.?template.?spec.?containers.orValue([]).exists(c, {HOLDS_GPU})"
    return (
        f"{spec}.?enableInTreeAutoscaling.orValue(false)"
        f" && {spec}.?workerGroupSpecs.orValue([]).exists(w, {holds} && "
    )


def _no_maximum(target: AdmissionTarget, constants: Constants) -> str:
    return f"{_gpu_groups(target)} w.?maxReplicas.orValue({_RAY_UNSET}) == {_RAY_UNSET})"


def _same_sizes(target: AdmissionTarget, constants: Constants) -> str:
    return (
        f"{_gpu_groups(target)} w.?maxReplicas.orValue(0) >= 2"
        " && w.?minReplicas.orValue(0) == w.?maxReplicas.orValue(0))"
    )


def _slow(target: AdmissionTarget, constants: Constants) -> str:
    spec = _ray_spec(target)
    return (
        f"{_USES_GPUS} && ({spec}.?autoscalerOptions.?idleTimeoutSeconds.orValue(0)"
        f" > {SLOW_SECONDS} || {_gpu_groups(target)}"
        f" w.?idleTimeoutSeconds.orValue(0) > {SLOW_SECONDS}))"
    )


def _slow_serve(target: AdmissionTarget, constants: Constants) -> str:
    """The delay of Serve, found in its configuration, which is YAML in a text."""
    text = "string(object.spec.?serveConfigV2.orValue(''))"
    return f"{_USES_GPUS} && {text}.contains('num_gpus') && {text}.matches({_SLOW_DELAY})"


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
    elif target is LEADER_WORKER_SETS:
        parts = "object.spec.leaderWorkerTemplate"
        size, replicas = f"int({parts}.?size.orValue(1))", "int(object.spec.?replicas.orValue(1))"
        worker = gpus.replace("t.?spec", f"{parts}.?workerTemplate.?spec")
        leader = gpus.replace("t.?spec", f"{parts}.?leaderTemplate.?spec")
        first = f"({parts}.?leaderTemplate.hasValue() ? {leader} : {worker})"
        total = f"{replicas} * ({first} + ({size} - 1) * {worker})"
        several = f"{replicas} * {size} >= 2"
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


CHECKS = (
    ObjectCheck(
        "gpu-job-without-deadline",
        (*_JOBS, TRAIN_JOBS),
        "set activeDeadlineSeconds to about twice the expected run",
        offence=_without_deadline,
    ),
    ObjectCheck(
        "gpu-job-unbounded-retries",
        _JOBS,
        f"set backoffLimit to {_MOST_RETRIES} or less and maxRestarts below {_MOST_RESTARTS}",
        offence=_retries,
    ),
    ObjectCheck(
        "gpu-cronjob-overlaps",
        (CRON_JOBS,),
        "set concurrencyPolicy: Forbid",
        offence=f"{_USES_GPUS} && object.spec.?concurrencyPolicy.orValue('Allow') == 'Allow'"
        " && !object.spec.jobTemplate.?spec.?activeDeadlineSeconds.hasValue()",
    ),
    ObjectCheck(
        "rayjob-cluster-outlives-job",
        (RAY_JOBS,),
        "set shutdownAfterJobFinishes: true and ttlSecondsAfterFinished: 300",
        offence=f"{_USES_GPUS} && !object.spec.?shutdownAfterJobFinishes.orValue(false)"
        " && !object.spec.?deletionStrategy.hasValue()"
        " && object.spec.?clusterSelector.orValue({}).size() == 0",
    ),
    ObjectCheck(
        "ray-group-maximum-unset",
        (RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES),
        "set maxReplicas of the worker group",
        offence=_no_maximum,
    ),
    ObjectCheck(
        "autoscaler-min-equals-max",
        (RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES),
        "lower minReplicas, or turn the autoscaler off",
        offence=_same_sizes,
    ),
    ObjectCheck(
        "scale-down-too-slow",
        (RAY_CLUSTERS, RAY_JOBS, RAY_SERVICES),
        f"set idleTimeoutSeconds to {SLOW_SECONDS} or less",
        offence=_slow,
    ),
    ObjectCheck(
        "scale-down-too-slow",
        (RAY_SERVICES,),
        f"set downscale_delay_s in serveConfigV2 to {SLOW_SECONDS} or less",
        offence=_slow_serve,
        at_most=Level.ADVISORY,  # which of its deployments has GPUs is a text inside a text
    ),
    ObjectCheck(
        "training-without-queue-or-gang",
        (JOBS, JOB_SETS, PYTORCH_JOBS, MPI_JOBS, RAY_JOBS),
        "label it kueue.x-k8s.io/queue-name, or name a gang scheduler",
        offence=_gang,
        while_stopped=False,
    ),
    ObjectCheck(
        "training-without-queue-or-gang",
        (LEADER_WORKER_SETS, TRAIN_JOBS),
        "label it kueue.x-k8s.io/queue-name, or name a gang scheduler",
        offence=_gang,
        while_stopped=False,
        at_most=Level.ADVISORY,  # the one may serve, the runtime of the other may make a gang
    ),
    ObjectCheck(
        "gpu-job-keeps-finished-pods",
        (JOBS,),
        "set ttlSecondsAfterFinished",
        offence=f"{_USES_GPUS} && !object.spec.?ttlSecondsAfterFinished.hasValue()",
    ),
)
"""Checks of objects that run to completion, and of Ray's groups."""
