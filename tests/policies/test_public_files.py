"""Public files with wrong results of earlier rules, in the smallest form; each names its file.

The commits are those of the corpora (see tests/corpus). Names of objects are ours.
"""

from pathlib import Path
from typing import Any

import pytest

from gpufleet.findings import Finding
from gpufleet_policies.fronts.audit.inputs import find_inputs
from gpufleet_policies.fronts.audit.run import audit
from gpufleet_policies.rules.settings import read_settings
from tests.policies.objects import TODAY

GKE = "GoogleCloudPlatform/kubernetes-engine-samples"


@pytest.fixture
def said(tmp_path: Path):
    """Rule -> its finding, of one file with this text."""

    def run(text: str, name: str = "file.yaml", **settings: Any) -> dict[str, Finding]:
        (tmp_path / name).write_text(text)
        found = audit(find_inputs([str(tmp_path / name)]), read_settings(settings), TODAY)
        return {one.code: one for one in found.findings}

    return run


def pool(requirements: str, limits: str = "{nvidia.com/gpu: 8}", kind: str = "EC2NodeClass") -> str:
    return f"""
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: gpu}}
spec:
  limits: {limits}
  template:
    spec:
      taints: [{{key: nvidia.com/gpu, effect: NoSchedule}}]
      nodeClassRef: {{group: karpenter.k8s.aws, kind: {kind}, name: default}}
      requirements: {requirements}
"""


_CATEGORY = "karpenter.k8s.aws/instance-category"
_FAMILY = "karpenter.k8s.aws/instance-family"


@pytest.mark.parametrize(
    "requirements",
    [
        f"[{{key: {_CATEGORY}, operator: In, values: [p]}}]",
        f"[{{key: {_CATEGORY}, operator: In, values: [g, p]}}]",
        f"[{{key: {_FAMILY}, operator: In, values: [p6e-gb200, p5]}}]",
        "[{key: karpenter.k8s.aws/instance-gpu-manufacturer, operator: In, values: [nvidia]}]",
    ],
)
def test_a_machine_of_unknown_size_does_not_make_a_pool_unbounded(said, requirements: str):
    """The catalogue has no size of p6e-gb200.36xlarge; a limit in GPUs still bounds it."""
    assert "gpu-pool-unbounded" not in said(pool(requirements))
    cores = f"[{{key: {_CATEGORY}, operator: In, values: [g]}}]"
    assert "gpu-pool-unbounded" not in said(pool(cores, "{cpu: 200}"))
    assert "gpu-pool-unbounded" in said(pool(requirements, "{}"))
    assert "gpu-pool-unbounded" in said(pool(requirements, "{ephemeral-storage: 1Ti}"))


def test_pools_of_eks_auto_mode_are_seen(said):
    """aws-samples/karpenter-blueprints, static-nodepool/static-nodepool-automode.yaml."""
    keys = "[{key: eks.amazonaws.com/instance-category, operator: In, values: [g]}]"
    assert "gpu-pool-unbounded" in said(pool(keys, "{}", "NodeClass"))
    assert "gpu-pool-unbounded" not in said(pool(keys, kind="NodeClass"))


KSERVE = """
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: moe}
spec:
  replicas: 1
  model: {uri: "hf://acme/moe", name: acme/moe}
  parallelism: {data: 16, dataLocal: 8, expert: true, tensor: 1}
  template: &pod
    containers:
    - name: main
      resources: {limits: {nvidia.com/gpu: "8"}, requests: {cpu: 64, memory: 256Gi}}
  worker: *pod
"""


def test_kserve_counts_data_parallel_copies_of_all_pods(said):
    """kserve/kserve, docs/samples/llmisvc/dp-ep: 16 processes on 2 pods of 8 GPUs; the preset
    mounts /dev/shm (config/llmisvcconfig)."""
    assert set(said(KSERVE)) == set()
    wasteful = KSERVE.replace("data: 16, dataLocal: 8", "data: 8, dataLocal: 4")
    found = said(wasteful)
    assert set(found) == {"gpu-count-exceeds-parallelism"}
    assert "requests 16 x nvidia.com/gpu in the 2 pods of a group and starts processes on 8" in (
        found["gpu-count-exceeds-parallelism"].text
    )


PROBE = "readinessProbe: {httpGet: {path: /health, port: 8000}}"


def server(model: str, gpus: int, gpu: str, *options: str, image: str = "vllm/vllm-openai") -> str:
    words = ", ".join(f'"{one}"' for one in ("--model", model, *options))
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: server}}
spec:
  template:
    spec:
      nodeSelector: {{cloud.google.com/gke-accelerator: {gpu}}}
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
      containers:
      - name: server
        image: {image}
        args: [{words}]
        env: [{{name: HF_TOKEN, valueFrom: {{secretKeyRef: {{name: hub, key: token}}}}}}]
        {PROBE}
        volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
        resources: {{limits: {{nvidia.com/gpu: {gpus}, cpu: 8, memory: 64Gi}}}}
"""


@pytest.mark.parametrize(
    ("model", "gpus", "gpu", "options"),
    [
        # GKE: ai-ml/llm-serving-llama/vllm/vllm-llama4-maverick-17b-128e-instruct-fp8.yaml
        ("meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", 8, "nvidia-h100-80gb", ("-tp", "8")),
        ("acme/other-17B-128E", 8, "nvidia-h100-80gb", ("-tp", "8")),
        # vllm-llama4-scout-17b-16e-instruct.yaml: a sequence of 1.3 million tokens needs them all
        (
            "meta-llama/Llama-4-Scout-17B-16E-Instruct",
            8,
            "nvidia-h100-80gb",
            ("-tp", "8", "--max-model-len=1310720"),
        ),
        # GKE: ai-ml/llm-serving-gemma/vllm/vllm-7b-it.yaml: 8.54e9 parameters, 0.46 MB a token
        ("google/gemma-1.1-7b-it", 2, "nvidia-l4", ("--tensor-parallel-size=2",)),
        # gpt-oss is published in MXFP4: 61 GiB, not 235
        ("openai/gpt-oss-120b", 1, "nvidia-h100-80gb", ()),
    ],
)
def test_models_are_as_large_as_they_are(said, model: str, gpus: int, gpu: str, options: Any):
    assert set(said(server(model, gpus, gpu, *options))) == set()


def test_a_server_of_a_small_model_on_eight_h100(said):
    """GKE, ai-ml/llm-serving-gemma/vllm/vllm-2b-it-h100-80gb.yaml: the price is Google's."""
    options = ("--tensor-parallel-size=8",)
    found = said(server("google/gemma-2b-it", 8, "nvidia-h100-80gb", *options))
    assert set(found) == {"gpu-oversized-for-model"}
    assert "a3-highgpu-8g" in found["gpu-oversized-for-model"].text


@pytest.mark.parametrize(
    ("model", "gpus", "gpu", "options", "level"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", 1, "nvidia-l4", (), "mandatory"),
        ("meta-llama/Llama-3.1-70B-Instruct", 2, "nvidia-l4", ("-tp", "2"), "mandatory"),
        ("acme/chat-70b", 1, "nvidia-l4", (), "advisory"),
        # 131,072 tokens are 40 GiB of cache, and vLLM keeps room for one such sequence
        ("meta-llama/Llama-3.1-70B-Instruct", 8, "nvidia-l4", ("-tp", "8"), "mandatory"),
        (
            "meta-llama/Llama-3.1-70B-Instruct",
            8,
            "nvidia-l4",
            ("-tp", "8", "--max-model-len=32768"),
            "",
        ),
        ("meta-llama/Llama-3.1-70B-Instruct", 1, "nvidia-l4", ("--cpu-offload-gb", "200"), ""),
        ("meta-llama/Llama-3.1-8B-Instruct", 1, "nvidia-l4", (), "mandatory"),
        ("meta-llama/Llama-3.1-8B-Instruct", 1, "nvidia-l4", ("--max-model-len=8192",), ""),
        ("openai/gpt-oss-20b", 1, "nvidia-l4", (), ""),
    ],
)
def test_a_model_that_cannot_fit(said, model: str, gpus: int, gpu: str, options: Any, level: str):
    found = said(server(model, gpus, gpu, *options)).get("model-exceeds-gpu-memory")
    assert ("" if found is None else found.level.value) == level


STACK = """
servingEngineSpec:
  modelSpec:
  - name: small
    repository: lmcache/vllm-openai
    tag: latest
    modelURL: distilbert/distilgpt2
    replicaCount: 1
    requestCPU: 1
    requestMemory: 20Gi
    requestGPU: 1
    vllmConfig: {tensorParallelSize: 1, pipelineParallelSize: 2}
    raySpec:
      enabled: true
      headNode: {requestCPU: 1, requestMemory: 20Gi, requestGPU: 1}
"""


def test_the_ray_cluster_of_a_production_stack_has_a_head_too(said):
    """vllm-project/production-stack,
    tutorials/assets/values-15-a-minimal-pipeline-parallel-example-raycluster.yaml."""
    assert set(said(STACK, "values-15-a.yaml")) == set()
    more = STACK.replace("pipelineParallelSize: 2", "pipelineParallelSize: 4")
    assert set(said(more, "values-15-a.yaml")) == {"gpu-count-below-parallelism"}


JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations: {NOTES}
spec:
  template:
    metadata: {annotations: {INNER}}
    spec:
      containers:
      - {name: a, image: acme/train, resources: {limits: {nvidia.com/gpu: 1, cpu: 1, memory: 1Gi}}}
"""


@pytest.mark.parametrize("place", ["NOTES", "INNER"])
def test_a_run_limit_of_dynamic_workload_scheduling_bounds_a_job(said, place: str):
    """ai-on-gke/tutorials-and-examples, workflow-orchestration/dws-example/job.yaml."""
    rule, strict = "gpu-job-without-deadline", {"profile": "strict"}
    note = '{provreq.kueue.x-k8s.io/maxRunDurationSeconds: "600"}'
    bounded = JOB.replace(place, note).replace("{NOTES}", "{}").replace("{INNER}", "{}")
    assert rule not in said(bounded.replace("{{", "{").replace("}}", "}"), **strict)
    assert rule in said(JOB.replace("{NOTES}", "{}").replace("{INNER}", "{}"), **strict)


ESM = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: esm}
spec:
  nprocPerNode: "4"
  pytorchReplicaSpecs:
    Worker:
      replicas: 8
      template:
        spec:
          containers:
          - name: pytorch
            image: nvcr.io/nvidia/clara/bionemo-framework:1.7
            command: [python3, -m, torch.distributed.run, train.py, "++trainer.devices=4"]
            resources: {limits: {nvidia.com/gpu: 1}}
"""
TRAIN = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune}
spec:
  trainer:
    numNodes: 2
    numProcPerNode: 4
    command: [torchrun, tune.py]
    resourcesPerNode: {limits: {nvidia.com/gpu: 1}}
"""


@pytest.mark.parametrize("text", [ESM, ESM.replace('nprocPerNode: "4"', "x: 1"), TRAIN])
def test_processes_per_node_against_the_gpus_of_a_pod(said, text: str):
    """awslabs/ai-on-eks, infra/bionemo/examples/esm2nv/esm2nv-training-job.yaml."""
    rule = "gpu-count-below-parallelism"
    assert rule in said(text)
    assert rule not in said(text.replace("nvidia.com/gpu: 1", "nvidia.com/gpu: 4"))
    assert rule not in said(
        text.replace('"4"', "auto").replace(": 4", ": auto").replace("=4", "=-1")
    )


RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: labels}
spec:
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head, image: rayproject/ray}]}}
  workerGroupSpecs:
  - groupName: accelerators
    replicas: 0
    minReplicas: 0
    maxReplicas: 10
    resources: {GPU: "1"}
    template:
      spec:
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-tesla-a100}
        containers: [{name: worker, image: rayproject/ray, resources: {limits: {cpu: 1}}}]
"""


def test_a_ray_group_that_promises_gpus_lacks_the_limit(said):
    """ray-project/kuberay, ray-operator/config/samples/ray-cluster-label-selector.yaml: the fix is
    the limit; removing the selector takes the accelerator away."""
    found = said(RAY)["non-gpu-pod-on-gpu-pool"]
    assert "sets num-gpus of Ray" in found.message
    assert "nvidia.com/gpu: 1" in found.fix
    assert found.remediation == ()


@pytest.mark.parametrize(
    ("written", "limit", "found"),
    [('"2"', 1, True), ('"4"', 2, True), ('"1"', 1, False), ('"1"', 2, False), ("${N}", 1, False)],
)
def test_ray_is_told_of_more_gpus_than_the_container_has(said, written, limit, found):
    """ray-project/ray doc/source/cluster/kubernetes/user-guides/config.md: KubeRay writes num-gpus
    from the limits; a written value overrides Ray's number."""
    text = RAY.replace('resources: {GPU: "1"}', f"rayStartParams: {{num-gpus: {written}}}")
    text = text.replace("limits: {cpu: 1}", f"limits: {{cpu: 1, nvidia.com/gpu: {limit}}}")
    assert ("gpu-count-below-parallelism" in said(text)) is found


@pytest.mark.parametrize(
    "text",
    [
        server("m", 1, "nvidia-l4", image="ghcr.io/huggingface/text-generation-inference:3.0"),
        server("m", 1, "nvidia-l4", image="vllm/vllm-openai:v0.10.0"),
        server("m", 1, "nvidia-l4", image="nvcr.io/nim/meta/llama3-8b-instruct:1.0"),
        server("m", 1, "nvidia-l4").replace(
            "image: vllm/", "command: [vllm, serve]\n        image: x/"
        ),
    ],
)
def test_model_servers_are_known_without_an_annotation(said, text: str):
    """15 repositories with model servers gave no finding about serving."""
    assert "gpu-serving-without-autoscaler" in said(
        text.replace("spec:\n  t", "spec:\n  replicas: 3\n  t", 1), profile="prod"
    )
    assert "nonprod-serving-never-zero" in said(text, environment="staging")
    unready = text.replace(PROBE, "tty: false")
    assert "gpu-server-without-readiness" in said(unready, environment="prod", profile="prod")
