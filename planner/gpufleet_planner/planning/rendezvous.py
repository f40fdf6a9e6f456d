"""How the pods of a training job over several machines find each other.

An indexed Job gives each pod a rank and, with a headless Service, a name of its own (Kubernetes,
Jobs, "Completion mode"; "Indexed Job for Parallel Processing"). `torchrun` reads each of its
options from a variable `PET_<OPTION>` (pytorch torch/distributed/argparse_util.py); Kubeflow's
trainer sets the same ones.
"""

from typing import Any

_PORT = 29_500
"""Default of torchrun."""
_INDEX = "batch.kubernetes.io/job-completion-index"


def rendezvous_env(name: str, pods: int, gpus: int) -> list[dict[str, Any]]:
    """Variables of the container: one process for each GPU, the first pod leads."""
    found: list[dict[str, Any]] = [
        {"name": "PET_NNODES", "value": str(pods)},
        {"name": "PET_NPROC_PER_NODE", "value": str(gpus)},
    ]
    if pods == 1:
        return found
    leader = f"{name}-0.{name}"
    field = {"fieldRef": {"fieldPath": f"metadata.annotations['{_INDEX}']"}}
    return [
        *found,
        {"name": "PET_NODE_RANK", "valueFrom": field},
        {"name": "PET_MASTER_ADDR", "value": leader},
        {"name": "PET_MASTER_PORT", "value": str(_PORT)},
        {"name": "MASTER_ADDR", "value": leader},
        {"name": "MASTER_PORT", "value": str(_PORT)},
    ]


def rendezvous_service(job: dict[str, Any]) -> dict[str, Any] | None:
    """The headless Service of a job of several pods; None where it needs none.

    It names pods before they are ready: they wait for each other.
    """
    if job["kind"] != "Job" or job["spec"].get("completionMode") != "Indexed":
        return None
    metadata = job["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": metadata["name"]},
            "ports": [{"name": "rendezvous", "port": _PORT}],
        },
    }
