"""Cases of rules/jobs.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.workloads import JOB, job, template
from tests.policies.objects import REMOVE, changed

RAY_JOB = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "tune", "namespace": "ml"},
    "spec": {
        "shutdownAfterJobFinishes": True,
        "activeDeadlineSeconds": 86400,
        "rayClusterSpec": {
            "headGroupSpec": {"rayStartParams": {}, "template": template(None)},
            "workerGroupSpecs": [{"groupName": "gpu", "replicas": 1, "template": template(1)}],
        },
    },
}
JOB_SET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "sweep", "namespace": "ml"},
    "spec": {
        "failurePolicy": {"maxRestarts": 3},
        "replicatedJobs": [{"name": "work", "template": {"spec": {"template": template(1)}}}],
    },
}
CRON = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "nightly", "namespace": "ml"},
    "spec": {
        "schedule": "0 */4 * * *",
        "concurrencyPolicy": "Forbid",
        "jobTemplate": {"spec": JOB["spec"]},
    },
}
_DEADLINE = "spec.jobTemplate.spec.activeDeadlineSeconds"
STRICT = {"profile": "strict"}
"""The only profile in which these rules are on."""

CASES = (
    Case(
        "gpu-job-without-deadline",
        job(),
        job({"spec.activeDeadlineSeconds": REMOVE}),
        "set spec.activeDeadlineSeconds to about twice the expected run",
        settings=STRICT,
    ),
    Case(
        "rayjob-cluster-outlives-job",
        manifest(RAY_JOB),
        manifest(changed(RAY_JOB, {"spec.shutdownAfterJobFinishes": REMOVE})),
        "is not true, and no deletionStrategy deletes the cluster",
    ),
    Case(
        "gpu-job-unbounded-retries",
        manifest(JOB_SET),
        manifest(changed(JOB_SET, {"spec.failurePolicy.maxRestarts": 100})),
        "may start 100 times again",
        settings=STRICT,
    ),
    Case(
        "gpu-cronjob-overlaps",
        manifest(CRON),
        manifest(changed(CRON, {"spec.concurrencyPolicy": REMOVE, _DEADLINE: REMOVE})),
        "one starts by `0 */4 * * *`, and none has to end",
        Level.ADVISORY,
    ),
)
