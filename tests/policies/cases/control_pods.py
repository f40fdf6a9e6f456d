"""Cases of rules/control_pods.py."""

from tests.policies.cases.case import Case, manifest
from tests.policies.cases.workloads import LIMITS, deployment, template
from tests.policies.objects import changed

RAY = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": "serve", "namespace": "ml"},
    "spec": {
        "headGroupSpec": {"rayStartParams": {"num-gpus": "0"}, "template": template(None)},
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": 1, "template": template(1)}],
    },
}
HEAD = "spec.headGroupSpec.template.spec.containers[0].resources.limits"
PIN = {'spec.template.spec.nodeSelector."nvidia.com/gpu.product"': "NVIDIA-L4"}
NO_GPU = {LIMITS: {"cpu": "4"}}

CASES = (
    Case(
        "gpu-on-control-process",
        manifest(RAY),
        manifest(changed(RAY, {f'{HEAD}."nvidia.com/gpu"': 1})),
        "requests a GPU and starts Ray with num-gpus 0",
    ),
    Case(
        "non-gpu-pod-on-gpu-pool",
        deployment(NO_GPU),
        deployment({**NO_GPU, **PIN}),
        "requests no GPU, and node label nvidia.com/gpu.product sends it to GPU nodes",
    ),
)
