"""Results of the later rounds of public files, each in its smallest form: a file, a rule, and
whether the rule has a finding about it (tests/corpus/jury.jsonl)."""

from pathlib import Path

import pytest

from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY

POD = """
apiVersion: v1
kind: Pod
metadata: {name: cuda}
spec:
%s
  containers:
  - name: cuda
    image: nvidia/cuda:12.4.1-base-ubuntu22.04
    command: %s
    resources: {limits: {nvidia.com/gpu: 1}}
"""
SERVER = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      %s
      containers:
      - name: server
        image: registry.example/chat:1
        command: [python3, -m, vllm.entrypoints.openai.api_server, --model, acme/chat]
        %s
"""
LIVE = (
    "livenessProbe: {httpGet: {path: /%s, port: 8000}, initialDelaySeconds: 120, periodSeconds: 30}"
)
READY = (
    "readinessProbe: "
    "{httpGet: {path: /health, port: 8000}, periodSeconds: 15, failureThreshold: %s}"
)
HOLDS = "resources: {limits: {nvidia.com/gpu: 1}}"
LEADERS = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: chat}
spec:
  leaderWorkerTemplate:
    size: %d
    leaderTemplate:
      spec: {containers: [{name: a, image: "registry.example/chat:1"}]}
    workerTemplate:
      spec:
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
        containers: [{name: a, image: "registry.example/chat:1"}]
"""
NO_CUDA = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: chat}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {containers: [{name: a, image: "vllm/vllm-openai:v0.11.0"}]}}
"""
JOB_SET = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: pytorch}
spec:
  replicatedJobs:
  - name: workers
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
          spec:
            containers:
            - name: torch
              image: registry.example/torch:1
              env: [{name: MASTER_ADDR, value: %s}]
              command: [bash, -c, "torchrun --nnodes=2 --nproc_per_node=1 %s train.py"]
              resources: {limits: {nvidia.com/gpu: 1}}
"""
HUB = """
singleuser:
  profileList:
  - display_name: usual
    profile_options:
      gpu:
        choices: {one: {kubespawner_override: {extra_resource_limits: {nvidia.com/gpu: 1}}}}
cull: {enabled: true, timeout: %d}
"""
HOME = """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ollama}
spec:
  chartRef: {kind: OCIRepository, name: app-template}
  values:
    defaultPodOptions: {runtimeClassName: nvidia}
    controllers:
      ollama:
        containers:
          app:
            image: {repository: docker.io/ollama/ollama, tag: 0.30.10}
            env: {%s: all}
            resources: {limits: {nvidia.com/gpu: 1}}
"""
OF_K3S = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
K3S = f"toolkit: {{env: [{{name: CONTAINERD_CONFIG, value: {OF_K3S}}}]}}"
PLUGIN = "devicePlugin: {config: {name: shared, create: %s, data: {any: 'version: v1'}}}"
ADDRESS = "--rdzv_endpoint=$MASTER_ADDR:29500"
PODS = "pytorch-workers-0-0.pytorch"

CASES = [
    ("cuda.yaml", POD % ("", "[nvidia-smi]"), "gpu-oneshot-in-deployment", True),
    (
        "cuda.yaml",
        POD % ("  restartPolicy: Never", "[nvidia-smi]"),
        "gpu-oneshot-in-deployment",
        False,
    ),
    ("cuda.yaml", POD % ("", "[./train]"), "gpu-oneshot-in-deployment", False),
    ("a.yaml", SERVER % ("runtimeClassName: nvidia", "ports: []"), "gpu-program-without-gpu", True),
    ("a.yaml", SERVER % ("hostIPC: true", "ports: []"), "gpu-program-without-gpu", False),
    ("a.yaml", SERVER % ("runtimeClassName: nvidia", HOLDS), "gpu-program-without-gpu", False),
    ("lws.yaml", NO_CUDA, "gpu-program-without-gpu", True),
    ("lws.yaml", LEADERS % 2, "non-gpu-pod-on-gpu-pool", True),
    ("lws.yaml", LEADERS % 1, "non-gpu-pod-on-gpu-pool", False),
    ("jobset.yaml", JOB_SET % (PODS, ""), "torchrun-without-address", True),
    ("jobset.yaml", JOB_SET % (PODS, ADDRESS), "torchrun-without-address", False),
    ("jobset.yaml", JOB_SET % (PODS, "--standalone"), "torchrun-without-address", False),
    ("jobset.yaml", JOB_SET % (PODS, ADDRESS), "rank-address-unknown", False),
    ("jobset.yaml", JOB_SET % (f"{PODS}-workers", ADDRESS), "rank-address-unknown", True),
    ("jobset.yaml", JOB_SET % ("10.0.0.7", ADDRESS), "rank-address-unknown", False),
    ("jupyterhub/values.yaml", HUB % 1_209_600, "gpu-notebook-without-culling", True),
    ("jupyterhub/values.yaml", HUB % 7200, "gpu-notebook-without-culling", False),
    ("ollama.yaml", HOME % "NVIDIA_VISIBLE_DEVICES", "gpu-devices-overridden", True),
    ("ollama.yaml", HOME % "OLLAMA_ORIGINS", "gpu-devices-overridden", False),
    ("gpu-operator.yaml", K3S, "gpu-operator-containerd-config", True),
    ("toolkit.yaml", K3S, "gpu-operator-containerd-config", False),
    ("gpu-operator/values.yaml", PLUGIN % "false", "gpu-operator-key-ignored", True),
    ("gpu-operator/values.yaml", PLUGIN % "true", "gpu-operator-key-ignored", False),
]


@pytest.mark.parametrize(("name", "text", "rule", "found"), CASES)
def test_a_file_of_the_seventh_round(tmp_path: Path, name: str, text: str, rule: str, found: bool):
    assert (rule in rules(tmp_path, name, text)) is found


@pytest.mark.parametrize(
    ("path", "failures", "found"),
    [("health", 40, True), ("health", 10, False), ("live", 40, False)],
)
def test_liveness_is_compared_with_readiness_of_the_same_path(
    tmp_path: Path, path: str, failures: int, found: bool
):
    probes = f"{HOLDS}\n        {LIVE % path}\n        {READY % failures}"
    said = rules(tmp_path, "a.yaml", SERVER % ("hostIPC: true", probes))
    assert ("gpu-liveness-before-load" in said) is found


FETCHES = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
      - name: server
        image: %s
        args: [--model, %s]
        resources: {limits: {nvidia.com/gpu: 1}}
        livenessProbe: {httpGet: {path: /health, port: 8000}, initialDelaySeconds: %s}
        volumeMounts: [{name: files, mountPath: %s}]
        %s
      volumes: [{name: files, emptyDir: {}}]
"""
MAKERS, LARGE = "vllm/vllm-openai:v0.11.0", "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("image", "model", "delay", "path", "more", "found"),
    [
        (MAKERS, LARGE, 140, "/dev/shm", "", True),
        (MAKERS, LARGE, 240, "/dev/shm", "", False),
        (MAKERS, "Qwen/Qwen3-0.6B", 140, "/dev/shm", "", False),
        (MAKERS, LARGE, 140, "/root/.cache/huggingface", "", False),
        (MAKERS, "/models/Qwen3-8B", 140, "/dev/shm", "", False),
        (MAKERS, LARGE, 140, "/dev/shm", 'env: [{name: HF_HUB_OFFLINE, value: "1"}]', False),
        (MAKERS, LARGE, 140, "/dev/shm", "startupProbe: {httpGet: {port: 8000}}", False),
        ("registry.example/chat:1", LARGE, 140, "/dev/shm", "", False),
    ],
)
def test_weights_that_no_volume_keeps_are_fetched_before_the_server_is_ended(
    tmp_path: Path, image: str, model: str, delay: int, path: str, more: str, found: bool
):
    said = rules(tmp_path, "a.yaml", FETCHES % (image, model, delay, path, more))
    assert ("gpu-liveness-before-load" in said) is found
    if found:
        assert "no volume keeps the 15.3 GiB of weights" in said["gpu-liveness-before-load"]


@pytest.mark.parametrize(("value", "module"), [("true", "open"), ("false", "proprietary")])
def test_what_replaces_a_former_key_is_what_it_meant(tmp_path: Path, value: str, module: str):
    text = f"driver: {{useOpenKernelModules: {value}}}\nmig: {{strategy: none}}\n"
    said = rules(tmp_path, "gpu-operator/values.yaml", text)
    assert f"kernelModuleType: {module}" in said["gpu-operator-key-ignored"]


def rules(folder: Path, name: str, text: str) -> dict[str, str]:
    """Rule -> its message about one file."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    found = audit(find_inputs([str(file)]), read_settings({}), TODAY).findings
    return {one.code: one.text for one in found}
