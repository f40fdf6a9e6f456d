"""Targets: the objects that a policy validates, and the place of their pod templates, in CEL.

Policies are split by the place of the pod template, because the API server checks the types of an
expression against every kind a policy matches: a field that one of them lacks is an error.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdmissionTarget:
    """Objects with their pod templates at one place."""

    name: str
    api_group: str
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    kinds: tuple[str, ...]
    templates: str = "[]"
    """CEL: list of the pod templates; their `metadata` may be missing."""
    specs: str = "[]"
    """CEL: list of the pod specs."""
    stopped: str = "false"
    """CEL: no pod of it runs as it is written."""
    checked_on_creation: bool = False
    """The API server validates the pod template itself, before any policy sees it."""
    on_update: bool = True


def _built_in(
    name: str, group: str, kinds: tuple[str, ...], at: str, **more: object
) -> AdmissionTarget:
    return AdmissionTarget(
        name,
        group,
        ("v1",),
        tuple(f"{kind.lower()}s" for kind in kinds),
        kinds,
        templates=f"[{at}]",
        specs=f"[{at}.spec]",
        checked_on_creation=True,
        **more,  # type: ignore[arg-type]
    )


def _custom(kind: str, group: str, templates: str, **more: object) -> AdmissionTarget:
    resource = f"{kind.lower()}s"
    return AdmissionTarget(
        "knative-services" if group == "serving.knative.dev" else resource,
        group,
        ("*",),
        (resource,),
        (kind,),
        templates=templates,
        specs=f"({templates}).filter(t, has(t.spec)).map(t, t.spec)",
        **more,  # type: ignore[arg-type]
    )


def _template(optional: str) -> str:
    """CEL: an optional pod template, empty without one.

    As `dyn`: each definition's template has a different type, and a list needs one type.
    """
    return f"{optional}.optMap(t, dyn(t)).orValue(dyn({{}}))"


def _roles(field: str) -> str:
    roles = f"object.spec.?{field}.orValue({{}})"
    return f"{roles}.map(r, {_template(f'{roles}[r].?template')})"


def _ray(spec: str) -> str:
    head = f"[?{spec}.?headGroupSpec.?template.optMap(t, dyn(t))]"
    workers = (
        f"{spec}.?workerGroupSpecs.orValue([])"
        ".filter(w, w.?replicas.orValue(0) != 0 || w.?minReplicas.orValue(0) != 0"
        f" || w.?maxReplicas.orValue(0) != 0).map(w, {_template('w.?template')})"
    )
    return f"{head} + {workers}"


_RUNTIME_TEMPLATES = (
    "object.spec.?template.?spec.?replicatedJobs.orValue([])"
    f".map(j, {_template('j.?template.?spec.?template')})"
)
_SUSPEND = "object.spec.?suspend.orValue(false)"
_KUBEFLOW = {"stopped": "object.spec.?runPolicy.?suspend.orValue(false)"}

PODS = _built_in("pods", "", ("Pod",), "object", on_update=False)
REPLICATED = _built_in(
    "replicated",
    "apps",
    ("Deployment", "StatefulSet", "ReplicaSet"),
    "object.spec.template",
    stopped="object.spec.?replicas.orValue(1) == 0",
)
DAEMON_SETS = _built_in("daemonsets", "apps", ("DaemonSet",), "object.spec.template")
JOBS = _built_in(
    "jobs",
    "batch",
    ("Job",),
    "object.spec.template",
    stopped=f"{_SUSPEND} || object.spec.?parallelism.orValue(1) == 0",
)
CRON_JOBS = _built_in(
    "cronjobs",
    "batch",
    ("CronJob",),
    "object.spec.jobTemplate.spec.template",
    stopped=_SUSPEND,
)
JOB_SETS = _custom(
    "JobSet",
    "jobset.x-k8s.io",
    f"object.spec.?replicatedJobs.orValue([]).map(j, {_template('j.?template.?spec.?template')})",
    stopped=_SUSPEND,
)
LEADER_WORKER_SETS = _custom(
    "LeaderWorkerSet",
    "leaderworkerset.x-k8s.io",
    "[?object.spec.leaderWorkerTemplate.?leaderTemplate.optMap(t, dyn(t)),"
    " ?object.spec.leaderWorkerTemplate.?workerTemplate.optMap(t, dyn(t))]",
    stopped="object.spec.?replicas.orValue(1) == 0",
)
PYTORCH_JOBS = _custom("PyTorchJob", "kubeflow.org", _roles("pytorchReplicaSpecs"), **_KUBEFLOW)
MPI_JOBS = _custom("MPIJob", "kubeflow.org", _roles("mpiReplicaSpecs"), **_KUBEFLOW)
NOTEBOOKS = _custom("Notebook", "kubeflow.org", f"[{_template('object.spec.?template')}]")
RAY_CLUSTERS = _custom("RayCluster", "ray.io", _ray("object.spec"))
RAY_JOBS = _custom(
    "RayJob",
    "ray.io",
    _ray("object.spec.?rayClusterSpec"),
    stopped=_SUSPEND,
)
RAY_SERVICES = _custom("RayService", "ray.io", _ray("object.spec.?rayClusterConfig"))
_TRAINER = "object.spec.?trainer"
TRAIN_JOBS = _custom(
    "TrainJob",
    "trainer.kubeflow.org",
    # The trainer's own fields as the container they become. CEL requires one type: dyn.
    f"({_TRAINER}.hasValue() ? [dyn({{'spec': dyn({{'containers': dyn([dyn({{"
    "'name': dyn('node'),"
    f" 'image': dyn({_TRAINER}.?image.orValue('')),"
    f" 'command': dyn({_TRAINER}.?command.orValue([])),"
    f" 'args': dyn({_TRAINER}.?args.orValue([])),"
    f" 'resources': {_TRAINER}.?resourcesPerNode.optMap(r, dyn(r)).orValue(dyn({{}}))"
    "})])})})] : [])",
    stopped=_SUSPEND,
)
TRAINING_RUNTIMES = AdmissionTarget(
    "training-runtimes",
    "trainer.kubeflow.org",
    ("*",),
    ("trainingruntimes", "clustertrainingruntimes"),
    ("TrainingRuntime", "ClusterTrainingRuntime"),
    templates=_RUNTIME_TEMPLATES,
    specs=f"({_RUNTIME_TEMPLATES}).filter(t, has(t.spec)).map(t, t.spec)",
)
KNATIVE_SERVICES = _custom(
    "Service",
    "serving.knative.dev",
    f"[{_template('object.spec.?template')}]",
)

POD_TARGETS = (
    PODS,
    REPLICATED,
    DAEMON_SETS,
    JOBS,
    CRON_JOBS,
    JOB_SETS,
    LEADER_WORKER_SETS,
    PYTORCH_JOBS,
    MPI_JOBS,
    NOTEBOOKS,
    RAY_CLUSTERS,
    RAY_JOBS,
    RAY_SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
    KNATIVE_SERVICES,
)
"""Everything with pod templates that has a policy."""

FULL_TEMPLATES = tuple(target for target in POD_TARGETS if target is not TRAIN_JOBS)
"""Those whose templates are whole pod specs: a TrainJob has only what it changes of its runtime."""


JUDGED_OWNERS = tuple(
    sorted({kind for target in POD_TARGETS if target is not PODS for kind in target.kinds})
)
"""Kinds that have their own policy: it covers their children, which are not checked again."""
