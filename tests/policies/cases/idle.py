"""Cases of rules/idle.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.workloads import CONTAINER, deployment, template
from tests.policies.objects import changed

NOTEBOOK = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "Notebook",
    "metadata": {"name": "ada", "namespace": "ml", "annotations": {}},
    "spec": {"template": template()},
}


def notebook(changes=None):
    """A notebook with one GPU."""
    return manifest(changed(NOTEBOOK, changes or {}))


CASES = (
    Case(
        "gpu-idle-command",
        deployment({f"{CONTAINER}.command": ["sleep", "30"]}),
        deployment({f"{CONTAINER}.command": ["sleep", "infinity"]}),
        "holds 1 x nvidia.com/mig-1g.10gb and runs `sleep infinity`",
    ),
    Case(
        "gpu-oneshot-in-deployment",
        deployment({f"{CONTAINER}.command": ["nvidia-smi-exporter"]}),
        deployment({f"{CONTAINER}.command": ["nvidia-smi"]}),
        "runs `nvidia-smi`, which ends, in a Deployment",
        Level.ADVISORY,
    ),
    Case(
        "gpu-oneshot-in-deployment",
        deployment({f"{CONTAINER}.command": ["sh", "-c", "while true; do ./serve; done"]}),
        deployment({f"{CONTAINER}.command": ["sh", "-c", "while true; do ./gpu_burn 60; done"]}),
        "runs `gpu_burn`, which ends, in a Deployment",
        Level.ADVISORY,
    ),
    # llm-on-gke/vllm-inference vllm-deploy-a4.yaml
    Case(
        "gpu-oneshot-in-deployment",
        deployment({f"{CONTAINER}.command": ["bash", "-c", "./serve --port 8888 &\nwait\n"]}),
        deployment({f"{CONTAINER}.command": ["bash", "-xc", "./load ;\n./serve --port 8888 &\n"]}),
        "runs `a shell that leaves its program in the background`, which ends",
        Level.ADVISORY,
    ),
    # Akinesia112/Neuraltune-DSPear k8s/ray-cluster.yaml
    Case(
        "gpu-oneshot-in-deployment",
        deployment({f"{CONTAINER}.command": ["ray", "start", "--address=head:6379", "--block"]}),
        deployment({f"{CONTAINER}.command": ["ray", "start", "--address=head:6379"]}),
        "runs `ray start without --block`, which ends, in a Deployment",
        Level.ADVISORY,
    ),
    Case(
        "gpu-notebook-without-culling",
        notebook({'metadata.annotations."gpufleet.dev/culled-after-seconds"': "3600"}),
        notebook(),
        "an interactive Notebook holds a GPU, and nothing ends it",
        Level.ADVISORY,
    ),
)
