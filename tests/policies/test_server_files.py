"""Servers of public repositories that do not start, and legal files close to them."""

from pathlib import Path

import pytest

from tests.policies.audit.test_wrappers import audit, write

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: ml}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: GPU}
      containers:
        - name: server
          image: IMAGE
          args: [ARGS]
          env: [ENV]
          resources: {limits: {RESOURCE: 1, cpu: 4, memory: 24Gi}}
          readinessProbe: {httpGet: {path: /health, port: 8000}}
"""
VLLM = "vllm/vllm-openai:v0.11.0"
SGLANG, TGI = "lmsysorg/sglang:v0.5.0", "ghcr.io/huggingface/text-generation-inference:3.0"
LLAMA = "--model, meta-llama/Llama-3.1-8B-Instruct"
QWEN = "--model, Qwen/Qwen2.5-1.5B-Instruct"
MISTRAL = "--model, mistralai/Mistral-7B-Instruct-v0.3, --gpu-memory-utilization, '0.95'"
L4, T4, H100 = "nvidia-l4", "nvidia-tesla-t4", "nvidia-h100-80gb"
MEMORY, REFUSED = "model-exceeds-gpu-memory", "server-arguments-refused"
PORT, CPU = "triton-probe-of-other-port", "gpu-for-other-program"
RESOURCE = "gpu-toleration-misspelt"
ROPE = "--rope-scaling, '{factor: 4}'"
LONG = "{name: VLLM_ALLOW_LONG_MAX_MODEL_LEN, value: '1'}"


def found(folder: Path, **parts: str) -> set[str]:
    values = {"GPU": L4, "IMAGE": VLLM, "ARGS": QWEN, "ENV": "", "RESOURCE": "nvidia.com/gpu"}
    text = SERVER
    for name, value in {**values, **parts}.items():
        text = text.replace(name, value)
    write(folder, {"a.yaml": text})
    return {one["code"] for one in audit(folder)["findings"]}


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        (MEMORY, {"ARGS": LLAMA}),
        (MEMORY, {"ARGS": f"{LLAMA}, --max-model-len=65536"}),
        (MEMORY, {"ARGS": "--model, meta-llama/Meta-Llama-3-8B-Instruct", "GPU": T4}),
        (REFUSED, {"ARGS": f"{QWEN}, --dtype, bfloat16", "GPU": T4}),
        (REFUSED, {"ARGS": f"{QWEN}, --max-model-len, '65536'"}),
        (PORT, {"ARGS": f"{QWEN}, --port, '8080'"}),
        (CPU, {"IMAGE": "ghcr.io/huggingface/text-embeddings-inference:cpu-1.5"}),
        (CPU, {"IMAGE": "ghcr.io/ggml-org/llama.cpp:server"}),
        (CPU, {"IMAGE": "tensorflow/serving:2.14.0"}),
        (CPU, {"IMAGE": "ealen/echo-server:0.9.2"}),
        (CPU, {"IMAGE": "public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.9.1"}),
        (RESOURCE, {"RESOURCE": "nvidia.com/mig-1g5gb"}),
        (RESOURCE, {"RESOURCE": "nvidia.com/gpu-memory"}),
    ],
)
def test_what_does_not_start_is_found(tmp_path: Path, code: str, parts: dict[str, str]):
    assert code in found(tmp_path, **parts)


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        (MEMORY, {"ARGS": f"{LLAMA}, --max-model-len, '16384'"}),
        (MEMORY, {"ARGS": f"{LLAMA}, --kv-cache-dtype, fp8, --max-model-len, '65536'"}),
        (MEMORY, {"ARGS": LLAMA, "GPU": H100}),
        (MEMORY, {"ARGS": MISTRAL}),
        (MEMORY, {"ARGS": f"{LLAMA}, --max-model-len, auto"}),
        (MEMORY, {"ARGS": LLAMA.replace("--model", "--model-path"), "IMAGE": SGLANG}),
        (REFUSED, {"ARGS": f"{QWEN}, --dtype, half", "GPU": T4}),
        (REFUSED, {"ARGS": f"{QWEN}, --dtype, auto", "GPU": T4}),
        (REFUSED, {"ARGS": f"{QWEN}, --dtype, bfloat16", "GPU": L4}),
        (REFUSED, {"ARGS": f"{QWEN}, --dtype, bfloat16", "GPU": T4, "IMAGE": SGLANG}),
        (REFUSED, {"ARGS": f"{QWEN}, --max-model-len, '65536', {ROPE}"}),
        (REFUSED, {"ARGS": f"{QWEN}, --max-model-len, '65536'", "ENV": LONG}),
        (REFUSED, {"ARGS": "--model, /models/qwen, --max-model-len, '65536'"}),
        (PORT, {"ARGS": f"{QWEN}, --port, '8000'"}),
        (PORT, {}),
        (PORT, {"IMAGE": "registry.example/own-vllm:1"}),
        (PORT, {"ARGS": f"{QWEN}, --port, $(PORT)"}),
        (PORT, {"ARGS": "--model-id, a/b, --port, '80'", "IMAGE": TGI}),
        (CPU, {"IMAGE": "ghcr.io/huggingface/text-embeddings-inference:86-1.5"}),
        (CPU, {"IMAGE": "ghcr.io/ggml-org/llama.cpp:server-cuda"}),
        (CPU, {"IMAGE": "tensorflow/serving:2.14.0-gpu"}),
        (CPU, {"IMAGE": "tensorflow/tensorflow:latest-gpu-jupyter"}),
        (CPU, {"IMAGE": "registry.example/cpu-and-gpu:1.0"}),
        (RESOURCE, {"RESOURCE": "nvidia.com/mig-1g.10gb.me"}),
        (RESOURCE, {"RESOURCE": "nvidia.com/mig-3g.20gb.shared"}),
        (RESOURCE, {"RESOURCE": "nvidia.com/gpumem"}),
        (RESOURCE, {"RESOURCE": "nvidia.com/gpu.shared"}),
        (RESOURCE, {"RESOURCE": "nvidia.com/GA102GL_A10"}),
    ],
)  # fmt: skip
def test_legal_servers_are_left_alone(tmp_path: Path, code: str, parts: dict[str, str]):
    assert code not in found(tmp_path, **parts)


@pytest.mark.parametrize(
    ("image", "removed"),
    [
        ("nvidia/cuda", True),
        ("docker.io/nvidia/cuda:latest", True),
        ("nvidia/cuda:10.2-cudnn7-devel-ubuntu18.04", True),
        ("nvidia/cuda:11.0-base-ubuntu20.04", True),
        ("nvidia/cuda:11.0.3-base", False),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", False),
        ("nvcr.io/nvidia/cuda:10.2-base", False),
        ("registry.example/nvidia/cuda:11.0-base", False),
        ("nvidia/cuda-samples:vectoradd", False),
    ],
)
def test_tags_of_cuda_that_are_gone(tmp_path: Path, image: str, removed: bool):
    assert ("gpu-image-removed" in found(tmp_path, IMAGE=image)) is removed


@pytest.mark.parametrize(
    ("image", "cluster_ip", "read"),
    [(VLLM, "", True), (VLLM, "clusterIP: None,", False), ("ealen/echo-server:0.9.2", "", False)],
)
def test_a_service_of_the_name_of_vllm(tmp_path: Path, image: str, cluster_ip: str, read: bool):
    """katiki456/k8s-gpu-scheduling-lab: a container called vllm that runs another program."""
    service = (
        f"metadata: {{name: vllm, namespace: ml}}\nspec: {{{cluster_ip} ports: [{{port: 80}}]}}"
    )
    write(tmp_path, {"b.yaml": f"apiVersion: v1\nkind: Service\n{service}\n"})
    assert ("vllm-port-of-service" in found(tmp_path, IMAGE=image)) is read


KEDA = """\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: chat, namespace: ml}
spec: {scaleTargetRef: {name: chat}, maxReplicaCount: 2, triggers: [{type: cron, metadata: {}}]}
"""


@pytest.mark.parametrize(("scaler", "validated"), [(KEDA, True), ("a: 1\n", False)])
def test_a_server_that_an_autoscaler_starts_from_0(tmp_path: Path, scaler: str, validated: bool):
    text = SERVER.replace("spec:\n  selector", "spec:\n  replicas: 0\n  selector", 1)
    for name, value in (
        ("GPU", T4),
        ("IMAGE", VLLM),
        ("ARGS", f"{QWEN}, --dtype=bfloat16"),
        ("ENV", ""),
    ):
        text = text.replace(name, value)
    write(tmp_path, {"a.yaml": text.replace("RESOURCE", "nvidia.com/gpu"), "b.yaml": scaler})
    codes = {one["code"] for one in audit(tmp_path)["findings"]}
    assert (REFUSED in codes) is validated


@pytest.mark.parametrize(
    ("kind", "toleration", "said"),
    [
        ("Deployment", "{key: nvidia.com/gpu, operator: Exists}", True),
        ("Job", "{key: nvidia.com/gpu, operator: Exists}", False),
        ("Deployment", "{key: dedicated, operator: Exists}", False),
    ],
)
def test_the_taint_of_gpus_is_tolerated_without_a_gpu(
    tmp_path: Path, kind: str, toleration: str, said: bool
):
    group = {"Deployment": "apps/v1", "Job": "batch/v1"}[kind]
    spec = f"tolerations: [{toleration}], containers: [{{name: a, image: b}}]"
    text = f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: a, namespace: ml}}\n"
    text += f"spec: {{template: {{spec: {{restartPolicy: Never, {spec}}}}}}}\n"
    write(tmp_path, {"a.yaml": text})
    codes = {one["code"] for one in audit(tmp_path)["findings"]}
    assert ("non-gpu-pod-on-gpu-pool" in codes) is said


@pytest.mark.parametrize(("autopilot", "reported"), [("true", False), ("false", True)])
def test_autopilot_of_a_terraform_file_gives_requests(
    autopilot: str, reported: bool, tmp_path: Path
):
    """GKE, Resource requests in Autopilot: pods without requests get defaults."""
    pod = SERVER.replace("{cloud.google.com/gke-accelerator: GPU}", "{}")
    pod = pod.replace(", cpu: 4, memory: 24Gi", "").replace("RESOURCE", "nvidia.com/gpu")
    pod = pod.replace("IMAGE", VLLM).replace("ARGS", QWEN).replace("ENV", "")
    cluster = (
        'resource "google_container_cluster" "c" {\n  name = "c"\n  location = "us-central1"\n'
        f"  enable_autopilot = {autopilot}\n}}\n"
    )
    write(tmp_path, {"a.yaml": pod, "main.tf": cluster})
    codes = {one["code"] for one in audit(tmp_path)["findings"]}
    assert ("gpu-server-best-effort" in codes) is reported
