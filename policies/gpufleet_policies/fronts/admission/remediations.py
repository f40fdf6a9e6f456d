"""Fixes: the changes an API server can make to one object, as CEL that gives JSON patches."""

from dataclasses import dataclass
from functools import partial

from gpufleet_policies.fronts.admission.check import Constants, Expression, cel, quoted
from gpufleet_policies.fronts.admission.conditions import CONDITIONS
from gpufleet_policies.fronts.admission.container_checks import IS_GPU, LIMITS, REQUESTS
from gpufleet_policies.fronts.admission.targets import (
    CRON_JOBS,
    HPAS,
    JOB_SETS,
    JOBS,
    LEADER_WORKER_SETS,
    MPI_JOBS,
    NODE_POOLS,
    NOTEBOOKS,
    POD_TARGETS,
    PYTORCH_JOBS,
    RAY_JOBS,
    SCALED_OBJECTS,
    TRAIN_JOBS,
    AdmissionTarget,
)
from gpufleet_policies.rules.jobs import DAY_SECONDS, SOON_SECONDS
from gpufleet_policies.rules.scaling import SLOW_SECONDS

_QUEUE = "kueue.x-k8s.io/queue-name"
_GPU = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class Mend:
    """How a rule's finding about one object is fixed."""

    rule: str
    targets: tuple[AdmissionTarget, ...]
    operations: Expression
    """CEL: a list of JSONPatch."""
    condition: Expression
    """CEL: true where it is needed; empty text: never, as the settings are."""
    on_update: bool = False
    """Whether a later change is fixed too; what makes pods is fixed when it is made."""


def _add(path: str, value: str) -> str:
    """CEL of one operation; `path` is a JSON pointer, `value` CEL."""
    return f"JSONPatch{{op: 'add', path: {quoted(path)}, value: {value}}}"


def _added(*operations: tuple[str, str]) -> str:
    return "[" + ", ".join(_add(path, value) for path, value in operations) + "]"


def _offence(rule: str, target: AdmissionTarget, constants: Constants) -> str:
    """Where an object of the target breaks the rule."""
    return cel(CONDITIONS[rule], target, constants)


def _remediate(
    rule: str,
    targets: tuple[AdmissionTarget, ...],
    operations: Expression,
    condition: Expression | None = None,
    *,
    on_update: bool = False,
) -> Mend:
    return Mend(rule, targets, operations, condition or partial(_offence, rule), on_update)


def _deadline(target: AdmissionTarget, constants: Constants) -> str:
    if target not in (PYTORCH_JOBS, MPI_JOBS):
        return f"[{_add('/' + target.deadline.replace('.', '/'), str(DAY_SECONDS))}]"
    parent, _, name = ("/" + target.deadline.replace(".", "/")).rpartition("/")
    one = _add(f"{parent}/{name}", str(DAY_SECONDS))
    whole = _add(parent, f"{{'{name}': {DAY_SECONDS}}}")
    return f"object.spec.?runPolicy.hasValue() ? [{one}] : [{whole}]"


def _ends_with_job(target: AdmissionTarget, constants: Constants) -> str:
    kept = "object.spec.?ttlSecondsAfterFinished.hasValue()"
    later = _add("/spec/ttlSecondsAfterFinished", str(SOON_SECONDS))
    return f"[{_add('/spec/shutdownAfterJobFinishes', 'true')}] + ({kept} ? [] : [{later}])"


def _labelled(target: AdmissionTarget, constants: Constants) -> str:
    queue = quoted(constants.queue)
    one = _add(f"/metadata/labels/{_QUEUE.replace('/', '~1')}", queue)
    whole = _add("/metadata/labels", f"{{'{_QUEUE}': {queue}}}")
    return f"object.metadata.?labels.hasValue() ? [{one}] : [{whole}]"


def _in_a_queue(target: AdmissionTarget, constants: Constants) -> str:
    return _offence("training-without-queue-or-gang", target, constants) if constants.queue else ""


def _limited(target: AdmissionTarget, constants: Constants) -> str:
    most = f"{{'{_GPU}': '{constants.thresholds.max_gpus}'}}"
    return f"[{_add('/spec/limits', most)}]"


_TEMPLATES: dict[str, tuple[str, str, str]] = {
    NOTEBOOKS.name: ("['template']", "object.spec[?t]", "'/spec/' + t"),
    LEADER_WORKER_SETS.name: (
        "['leaderTemplate', 'workerTemplate']",
        "object.spec.leaderWorkerTemplate[?t]",
        "'/spec/leaderWorkerTemplate/' + t",
    ),
    PYTORCH_JOBS.name: (
        "object.spec.?pytorchReplicaSpecs.orValue({}).map(r, r)",
        "object.spec.pytorchReplicaSpecs[t].?template",
        "'/spec/pytorchReplicaSpecs/' + jsonpatch.escapeKey(t) + '/template'",
    ),
    MPI_JOBS.name: (
        "object.spec.?mpiReplicaSpecs.orValue({}).map(r, r)",
        "object.spec.mpiReplicaSpecs[t].?template",
        "'/spec/mpiReplicaSpecs/' + jsonpatch.escapeKey(t) + '/template'",
    ),
}
"""Target -> keys `t` of its pod templates, the template and its JSON pointer, in CEL."""
_LISTS = "['containers', 'initContainers']"
_MISSING = f"{IS_GPU} && !(k in {LIMITS})"
"""Of a key `k` of a container's requests: no limit says the same."""
_ASKS = f"{REQUESTS}.exists(k, {_MISSING})"
"""Of a container `c`: it asks for a GPU by request alone."""


def _containers(template: str) -> str:
    """The elements of a template's list `l`."""
    return f"{template}.?spec[?l].orValue([])"


def _lacks_limit(target: AdmissionTarget, constants: Constants) -> str:
    """Some container asks for GPUs by request alone."""
    keys, template, _ = _TEMPLATES[target.name]
    return f"{keys}.exists(t, {_LISTS}.exists(l, {_containers(template)}.exists(c, {_ASKS})))"


def _copied(target: AdmissionTarget, constants: Constants) -> str:
    """Each GPU that a container asks for by request alone, as a limit too."""
    keys, template, pointer = _TEMPLATES[target.name]
    limits = f"{pointer} + '/spec/' + l + '/' + string(i) + '/resources/limits'"
    one = f"{limits} + '/' + jsonpatch.escapeKey(k), value: string({REQUESTS}[k])"
    each = f"{REQUESTS}.map(k, k).filter(k, {_MISSING}).map(k, JSONPatch{{op: 'add', path: {one}}})"
    copy = f"{REQUESTS}.transformMap(k, v, {_MISSING}, string(v))"
    whole = f"[JSONPatch{{op: 'add', path: {limits}, value: {copy}}}]"
    chosen = f"c.?resources.?limits.hasValue() ? {each} : {whole}"
    of_list = f"{_containers(template)}.transformList(i, c, {_ASKS}, {chosen}).flatten()"
    return f"{keys}.map(t, {_LISTS}.map(l, {of_list}).flatten()).flatten()"


MENDS = (
    _remediate(
        "gpu-job-without-deadline",
        (JOBS, CRON_JOBS, PYTORCH_JOBS, MPI_JOBS, RAY_JOBS, TRAIN_JOBS),
        _deadline,
    ),
    _remediate("rayjob-cluster-outlives-job", (RAY_JOBS,), _ends_with_job),
    _remediate(
        "gpu-cronjob-overlaps", (CRON_JOBS,), _added(("/spec/concurrencyPolicy", quoted("Forbid")))
    ),
    _remediate(
        "training-without-queue-or-gang",
        (JOBS, JOB_SETS, PYTORCH_JOBS, MPI_JOBS, RAY_JOBS, TRAIN_JOBS),
        _labelled,
        _in_a_queue,
    ),
    _remediate(
        "gpu-request-without-limit",
        tuple(target for target in POD_TARGETS if target.name in _TEMPLATES),
        _copied,
        _lacks_limit,
    ),
    _remediate("gpu-pool-unbounded", (NODE_POOLS,), _limited, on_update=True),
    _remediate(
        "karpenter-never-consolidates",
        (NODE_POOLS,),
        _added(
            ("/spec/disruption/consolidationPolicy", quoted("WhenEmpty")),
            ("/spec/disruption/consolidateAfter", quoted("5m")),
        ),
        on_update=True,
    ),
    _remediate(
        "karpenter-never-expires",
        (NODE_POOLS,),
        _added(("/spec/template/spec/expireAfter", quoted("720h"))),
        on_update=True,
    ),
    _remediate(
        "scale-down-too-slow",
        (HPAS,),
        _added(("/spec/behavior/scaleDown/stabilizationWindowSeconds", str(SLOW_SECONDS))),
        on_update=True,
    ),
    _remediate(
        "scale-down-too-slow",
        (SCALED_OBJECTS,),
        _added(("/spec/cooldownPeriod", str(SLOW_SECONDS))),
        on_update=True,
    ),
)
"""Every fix."""
