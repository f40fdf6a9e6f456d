"""TrainJobs of Kubeflow Trainer: the pods are those of the runtime that the job names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.policies.audit.test_ranked import POOL
from tests.policies.audit.test_wrappers import audit, write
from tests.reading import yaml_data

H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


def runtime(gpus: int = 8, kind: str = "ClusterTrainingRuntime", **spec: Any) -> dict[str, Any]:
    node = {
        "name": "node",
        "image": "pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime",
        "command": ["torchrun", "train.py"],
        "resources": {"limits": {"nvidia.com/gpu": gpus, "cpu": 8, "memory": "64Gi"}},
    }
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    pods = {"spec": {"nodeSelector": H100, "containers": [node]}}
    job = {"name": "node", "template": {"metadata": {"labels": step}, "spec": {"template": pods}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": kind,
        "metadata": {"name": "torch", **({} if "Cluster" in kind else {"namespace": "ml"})},
        "spec": {
            "mlPolicy": {"numNodes": 2},
            "template": {"spec": {"replicatedJobs": [job]}},
            **spec,
        },
    }


def job(name: str = "torch", kind: str = "", **spec: Any) -> dict[str, Any]:
    reference = {"name": name, **({"kind": kind} if kind else {})}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"runtimeRef": reference, **spec},
    }


def found(tmp_path: Path, *objects: dict[str, Any]) -> dict[str, Any]:
    """The audit of objects, each in a separate file, and its findings about the job by code."""
    write(tmp_path, {f"{at}.yaml": yaml.safe_dump(one) for at, one in enumerate(objects)})
    report = audit(tmp_path, "--profile", "prod")
    mine = [one for one in report["findings"] if one["object"] == "TrainJob ml/train"]
    return {**report, "mine": {one["code"]: one for one in mine}}


IDLE = {"command": ["sleep", "infinity"]}


def test_the_pods_are_those_of_the_runtime_and_the_nodes_those_of_the_job(tmp_path: Path) -> None:
    idle = found(tmp_path, runtime(), job(trainer={"numNodes": 4, **IDLE}))["mine"]
    assert idle["gpu-idle-command"]["evidence"]["resource"] == "nvidia.com/gpu"
    assert (
        "holds 8 x nvidia.com/gpu and runs `sleep infinity`" in idle["gpu-idle-command"]["message"]
    )
    assert "32 GPUs" in idle["training-without-queue-or-gang"]["message"]


def test_what_the_job_does_not_say_is_that_of_the_runtime(tmp_path: Path) -> None:
    gang = found(tmp_path, runtime(), job())["mine"]["training-without-queue-or-gang"]
    assert "16 GPUs" in gang["message"]


def test_resources_of_the_job_replace_those_of_the_runtime(tmp_path: Path) -> None:
    asked = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 2}}}
    idle = found(tmp_path, runtime(), job(trainer={"numNodes": 1, **IDLE, **asked}))["mine"]
    assert "holds 2 x nvidia.com/gpu" in idle["gpu-idle-command"]["message"]


def test_a_group_of_pods_that_the_runtime_asks_for_starts_together(tmp_path: Path) -> None:
    together = runtime(podGroupPolicy={"coscheduling": {"scheduleTimeoutSeconds": 100}})
    assert "training-without-queue-or-gang" not in found(tmp_path, together, job())["mine"]


def override(spec: dict[str, Any]) -> dict[str, Any]:
    """In the format of Trainer 2.0 and 2.1."""
    return {"podTemplateOverrides": [{"targetJobs": [{"name": "node"}], "spec": spec}]}


def patch(spec: dict[str, Any]) -> dict[str, Any]:
    """In the format of Trainer 2.2."""
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": spec}}}}]
    made = {"template": {"spec": {"replicatedJobs": jobs}}}
    return {"runtimePatches": [{"manager": "team", "trainingRuntimeSpec": made}]}


@pytest.mark.parametrize("form", [override, patch])
def test_changes_are_added_to_the_pods_of_the_jobs_that_they_name(
    tmp_path: Path, form: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    chosen = {"nodeSelector": {"karpenter.sh/nodepool": "h100"}}
    open_ = {"tolerations": [{"key": "team", "operator": "Exists"}]}
    objects = runtime(), yaml_data(POOL.replace("key: nvidia.com/gpu,", "key: team,"))
    assert "gpu-pods-not-tolerated" in found(tmp_path, *objects, job(**form(chosen)))["mine"]
    both = job(**form({**chosen, **open_}))
    assert "gpu-pods-not-tolerated" not in found(tmp_path, *objects, both)["mine"]


@pytest.mark.parametrize(
    ("name", "kind", "listed"),
    [
        ("torch", "TrainingRuntime", False),
        ("torch", "", True),
        ("other", "TrainingRuntime", True),
    ],
)
def test_a_job_whose_runtime_is_not_there_is_listed(
    tmp_path: Path, name: str, kind: str, listed: bool
) -> None:
    """A runtime of a namespace is named with its kind; without one it is the cluster's."""
    report = found(tmp_path, runtime(kind="TrainingRuntime"), job(name, kind))
    assert [one["object"] for one in report["notJudged"]] == ["TrainJob ml/train"] * listed


def test_what_a_runtime_says_alone_is_advice(tmp_path: Path) -> None:
    """Its command is the default of a TrainJob without one: nothing holds a GPU yet."""
    alone = runtime()
    alone["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ][0]["command"] = IDLE["command"]
    levels = {one["code"]: one["level"] for one in found(tmp_path, alone)["findings"]}
    assert levels["gpu-idle-command"] == "advisory"


ALONE = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: ml}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    numNodes: 2
    command: [torchrun, train.py]
    resourcesPerNode: {requests: {cpu: 8, memory: 64Gi}, limits: {nvidia.com/gpu: 8, memory: 64Gi}}
"""


def test_a_pack_that_sees_a_train_job_alone_says_nothing_of_what_its_runtime_may_bring() -> None:
    """Tolerations, queue or gang, EFA, shared memory and a deadline may be the runtime's."""
    from tests.policies.cases.case import FLEET, Case, manifest

    job = manifest(yaml_data(ALONE))
    alone = Case("none", job, job, "", alongside=(FLEET,))
    for profile in ("dev", "prod", "strict"):
        assert [one.code for one in alone.findings(job, profile=profile)] == []


def test_a_train_job_with_other_amounts_keeps_the_gpus_of_its_runtime(tmp_path: Path) -> None:
    """kubeflow/trainer#3974: a TrainJob that raises memory alone got one process for four GPUs."""
    from tests.policies.test_reports import REPORTS, codes

    (report,) = (one for one in REPORTS["late_reports"] if one["report"] == "kubeflow/trainer#3974")
    text = report["files"]["objects.yaml"]
    right = text.replace("torch: {}", "torch: {numProcPerNode: 4}")
    assert "gpu-count-exceeds-parallelism" in codes(report, tmp_path)
    assert "gpu-count-exceeds-parallelism" not in codes(
        {"files": {"objects.yaml": right}}, tmp_path
    )
