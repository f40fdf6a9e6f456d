"""Cases of rules/control_pods.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, manifest
from tests.policies.cases.workloads import CONTAINER, LIMITS, REQUESTS, deployment, template
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


SERVER = {
    f"{CONTAINER}.image": "ghcr.io/huggingface/text-generation-inference:3.3.5",
    f"{CONTAINER}.args": ["--model-id=HuggingFaceTB/SmolLM2-135M-Instruct"],
}
NO_GPUS = {LIMITS: {"memory": "8Gi"}, REQUESTS: {"cpu": "2", "memory": "8Gi"}}
_VLLM = {f"{CONTAINER}.image": "vllm/vllm-openai:v0.23.0", **NO_GPUS}
_SHELL = ["bash", "-c"]

DEVICES = (
    Case(
        "gpu-devices-overridden",
        deployment({f"{CONTAINER}.env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}]}),
        deployment({f"{CONTAINER}.env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}),
        "sets NVIDIA_VISIBLE_DEVICES=all",
        Level.ADVISORY,
    ),
    Case(
        "gpu-program-without-gpu",
        deployment(SERVER),
        deployment({**SERVER, **NO_GPUS}),
        "runs ghcr.io/huggingface/text-generation-inference:3.3.5 and requests no GPU",
        Level.ADVISORY,
    ),
    Case(
        "gpu-program-without-gpu",
        # ahmedwaleedmalik/k8s-llm-inference-platform benchmarks/job.yaml
        deployment({**_VLLM, f"{CONTAINER}.command": [*_SHELL, "vllm bench serve --model m"]}),
        deployment({**_VLLM, f"{CONTAINER}.command": [*_SHELL, "vllm bench latency --model m"]}),
        "runs vllm/vllm-openai:v0.23.0 and requests no GPU",
        Level.ADVISORY,
    ),
    Case(
        "gpu-program-without-gpu",
        deployment(
            {
                f"{CONTAINER}.env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],
                **NO_GPUS,
            }
        ),
        deployment(
            {
                f"{CONTAINER}.env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}],
                **NO_GPUS,
            }
        ),
        "takes GPUs of its node by NVIDIA_VISIBLE_DEVICES=all and requests no GPU",
        Level.ADVISORY,
    ),
    Case(
        "gpu-pod-passes-scheduler",
        deployment(),
        deployment({"spec.template.spec.nodeName": "node-2"}),
        "requests GPUs on node-2",
        Level.ADVISORY,
    ),
    Case(
        "gpu-for-other-program",
        deployment(),
        deployment({f"{CONTAINER}.image": "curlimages/curl:8.7.1"}),
        "runs curlimages/curl:8.7.1",
        Level.ADVISORY,
    ),
)

CASES = (*CASES, *DEVICES)
