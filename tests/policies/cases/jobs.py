"""Cases of rules/jobs.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing, manifest
from tests.policies.cases.workloads import CONTAINER, JOB, container, job, template, torch
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
        "gpu-cronjob-overlaps",
        manifest(CRON),
        manifest(changed(CRON, {"spec.concurrencyPolicy": REMOVE, _DEADLINE: REMOVE})),
        "one starts by `0 */4 * * *`, and none has to end",
        Level.ADVISORY,
    ),
)


PYTORCH = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {
        "name": "pretrain",
        "namespace": "ml",
        "labels": {"kueue.x-k8s.io/queue-name": "research"},
    },
    "spec": {
        "runPolicy": {"activeDeadlineSeconds": 86400},
        "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": torch(4)}},
    },
}
QUEUE = manifest(
    {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "LocalQueue",
        "metadata": {"name": "research", "namespace": "ml"},
        "spec": {"clusterQueue": "research"},
    }
)
FIRST = (
    Case(
        "training-without-queue-or-gang",
        manifest(PYTORCH),
        manifest(changed(PYTORCH, {"metadata.labels": REMOVE})),
        "8 GPUs that are of use only together, and no queue or group of pods",
        Level.ADVISORY,
        alongside=(FLEET, QUEUE),
    ),
)


def named(name: str) -> Thing:
    """A PyTorchJob of one pod."""
    return manifest(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "metadata": {"name": "train", "namespace": "ml"},
            "spec": {
                "runPolicy": {"activeDeadlineSeconds": 86400},
                "pytorchReplicaSpecs": {
                    "Master": {
                        "replicas": 1,
                        "template": {"spec": {"containers": [{**container(), "name": name}]}},
                    }
                },
            },
        }
    )


def ranks(completions: int) -> Thing:
    """A Job whose program waits for four ranks."""
    return job(
        {
            "spec.parallelism": 4,
            "spec.completions": completions,
            "spec.completionMode": "Indexed",
            f"{CONTAINER}.env": [{"name": "WORLD_SIZE", "value": "4"}],
        }
    )


def mpi(processes: int) -> Thing:
    """An MPIJob of two workers with two GPUs each."""
    launcher: dict[str, Any] = {
        **container(None),
        "command": ["mpirun", "-np", str(processes), "all_reduce_perf", "-g", "1"],
    }
    return manifest(
        {
            "apiVersion": "kubeflow.org/v2beta1",
            "kind": "MPIJob",
            "metadata": {"name": "nccl", "namespace": "ml"},
            "spec": {
                "runPolicy": {"activeDeadlineSeconds": 3600},
                "mpiReplicaSpecs": {
                    "Launcher": {"replicas": 1, "template": {"spec": {"containers": [launcher]}}},
                    "Worker": {
                        "replicas": 2,
                        "template": {"spec": {"containers": [container(2)]}},
                    },
                },
            },
        }
    )


def two_pods(address: str, *, subdomain: bool = True) -> Thing:
    """A Job of two pods that start torchrun, with the options of the rendezvous."""
    changes: dict[str, Any] = {
        "spec.parallelism": 2,
        "spec.completions": 2,
        "spec.completionMode": "Indexed",
        'metadata.labels."kueue.x-k8s.io/queue-name"': "research",
        f"{CONTAINER}.command": ["torchrun", "--nnodes=2", "--nproc-per-node=1", "train.py"],
    }
    if address:
        changes[f"{CONTAINER}.command"].insert(1, f"--rdzv-endpoint={address}")
    if subdomain:
        changes["spec.template.spec.subdomain"] = "train"
    return job(changes)


TRAINING_JOBS = (
    *FIRST,
    Case(
        "training-container-name",
        named("pytorch"),
        named("trainer"),
        "has no container called pytorch, only trainer",
    ),
    Case(
        "job-fewer-pods-than-ranks",
        ranks(4),
        ranks(1),
        "waits for 4 ranks, and 1 pod(s) with 1 GPU(s) run at a time",
    ),
    Case(
        "mpi-fewer-processes-than-gpus",
        mpi(4),
        mpi(2),
        "starts 2 processes of a GPU each, and the workers hold 4",
        Level.ADVISORY,
    ),
    Case(
        "torchrun-without-address",
        two_pods("train-0.train:29500"),
        two_pods(""),
        "torchrun waits for 2 pods, and has no rendezvous address",
    ),
    Case(
        "rank-address-unknown",
        two_pods("train-0.train:29500"),
        two_pods("train-0.train:29500", subdomain=False),
        "looks for train-0.train, and the pods have no subdomain",
    ),
)

CASES = (*CASES, *TRAINING_JOBS)
