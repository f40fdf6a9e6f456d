"""Cases of rules/devices.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.workloads import CONTAINER, LIMITS, REQUESTS, deployment

SERVER = {
    f"{CONTAINER}.image": "ghcr.io/huggingface/text-generation-inference:3.3.5",
    f"{CONTAINER}.args": ["--model-id=HuggingFaceTB/SmolLM2-135M-Instruct"],
}
NO_GPU = {LIMITS: {"memory": "8Gi"}, REQUESTS: {"cpu": "2", "memory": "8Gi"}}
_VLLM = {f"{CONTAINER}.image": "vllm/vllm-openai:v0.23.0", **NO_GPU}
_SHELL = ["bash", "-c"]

CASES = (
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
        deployment({**SERVER, **NO_GPU}),
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
            {f"{CONTAINER}.env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}], **NO_GPU}
        ),
        deployment(
            {f"{CONTAINER}.env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}], **NO_GPU}
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
