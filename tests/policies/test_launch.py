"""Facts from command lines and fields: processes, claims, schedules and autoscalers."""

from decimal import Decimal
from typing import Any

import pytest

from gpufleet.cluster import Autoscaler, DeviceClaim, Provenance, WorkloadFacts
from gpufleet.cluster.container import Launch
from gpufleet_policies.readers.documents import facts_of_document
from gpufleet_policies.readers.options import read_options
from tests.policies.cases.control_pods import RAY
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment
from tests.policies.objects import changed


def launch(*words: str, **variables: str) -> Launch:
    """The launch of a server with one GPU that runs these words."""
    changes = {
        LIMITS: {"nvidia.com/gpu": 1},
        f"{CONTAINER}.command": list(words),
        f"{CONTAINER}.env": [{"name": k, "value": v} for k, v in variables.items()],
    }
    found = deployment(changes).facts()
    assert isinstance(found, WorkloadFacts)
    return found.gpu_containers[0][1].launch


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        (["vllm", "serve", "m", "--tensor-parallel-size", "4"], 4),
        (["vllm", "serve", "m", "-tp=2", "-pp", "2"], 4),
        (["vllm serve m --tensor_parallel_size=2 --data-parallel-size 4"], 8),
        (["vllm", "serve", "m", "-tp", "1", "-dp", "16", "--data-parallel-size-local", "8"], 8),
        (["python", "-m", "sglang.launch_server", "--tp", "8", "--dp", "1"], 8),
        (["text-generation-launcher", "--num-shard", "2"], 2),
        (["torchrun", "--nproc_per_node=8", "--nnodes=4", "train.py"], 8),
        (["python", "-m", "torch.distributed.run", "--nproc-per-node", "2", "t.py"], 2),
        (["accelerate", "launch", "--num_processes", "16", "--num_machines", "2", "t.py"], 8),
        (["deepspeed", "--num_gpus=4", "train.py"], 4),
    ],
)
def test_processes_of_known_programs(words: list[str], gpus: int):
    found = launch(*words).gpus
    assert found.value == gpus
    assert found.provenance is Provenance.EXPLICIT


@pytest.mark.parametrize(
    "words",
    [
        ["vllm", "serve", "m"],
        ["torchrun", "--nproc_per_node=auto", "train.py"],
        ["torchrun", "--nproc_per_node", "gpu", "train.py"],
        ["ray", "start", "--head", "--num-gpus=4"],
        ["vllm", "serve", "m", "--tensor-parallel-size", "$(TP)"],
        ["vllm", "serve", "m", "-tp=2", "-tp=4"],
        ["sh", "-c", "vllm serve a -tp 1 & vllm serve b -tp 1"],
        ["sh", "-c", "CUDA_VISIBLE_DEVICES=0 vllm serve a -tp 1"],
        ["vllm", "serve", "m", "--tensor-parallel-size", "0"],
        ["accelerate", "launch", "--num_processes", "7", "--num_machines", "2", "t.py"],
        [],
    ],
)
def test_what_does_not_tell_a_number(words: list[str]):
    assert not launch(*words).gpus.is_known


def test_variables_count_and_are_filled_in():
    assert launch("text-generation-launcher", NUM_SHARD="4").gpus.value == 4
    assert launch("torchrun", "t.py", NPROC_PER_NODE="8").gpus.value == 8
    assert launch("vllm", "serve", "m", "--tensor-parallel-size=$(TP)", TP="2").gpus.value == 2


SCRIPT = """
export TP=4
MODEL='org/model-8b'
exec vllm serve \\
  "$MODEL" --tensor-parallel-size ${TP} \\
  --max-model-len "$(LENGTH)"
"""


def test_a_script_fills_in_what_it_sets_itself():
    """runpod-workers/worker-vllm and NIM read such variables; `\\` and quotes are the shell's."""
    assert launch("sh", "-c", SCRIPT).tensor.value == 4
    assert launch("sh", "-c", SCRIPT.replace("TP=4", "TP=4; TP=2")).tensor.is_unknown
    script = {f"{CONTAINER}.command": ["sh", "-c", SCRIPT]}
    variables = {f"{CONTAINER}.env": [{"name": "LENGTH", "value": "8192"}]}
    found = deployment({LIMITS: {"nvidia.com/gpu": 1}, **script, **variables}).facts().intent
    assert found.model.value == "org/model-8b"
    assert found.context_tokens.value == 8192


@pytest.mark.parametrize("name", ["TENSOR_PARALLEL_SIZE", "NIM_TENSOR_PARALLEL_SIZE", "TP_SIZE"])
def test_an_option_counts_before_a_variable(name: str):
    assert launch("server", **{name: "8"}).tensor.value == 8
    assert launch("server", "--tp", "2", **{name: "8"}).tensor.value == 2
    assert launch("server", GPU_MEMORY_UTILIZATION="0.5").memory_share.value == Decimal("0.5")


def test_memory_share_and_spread():
    found = launch("vllm", "serve", "m", "--gpu-memory-utilization=0.45", "--nnodes", "2")
    assert found.memory_share.value == Decimal("0.45")
    assert found.spreads
    assert launch("python", "serve.py", "--mem-fraction-static", "-2").memory_share.is_unknown


def test_options_with_and_without_values():
    found = read_options(["a", "--x", "1", "--y=2", "--flag", "--z", "-1", "-q", "awq", "--x", "3"])
    assert found.first(["--x"]) == "1"
    assert found.single(["--x"]) == "?"
    assert found.single(["--y"]) == "2"
    assert found.first(["--flag"]) is None
    assert found.has(["--flag"])
    assert found.first(["--z"]) == "-1"
    assert found.first(["-q", "--x"]) == "awq"


def workload(document: dict[str, Any]) -> WorkloadFacts:
    """The workload of a manifest."""
    (found,) = (f for f in facts_of_document(document) if isinstance(f, WorkloadFacts))
    return found


def test_ray_serve_counts_the_gpus_of_all_replicas():
    def service(config: str) -> Any:
        document = {
            **RAY,
            "kind": "RayService",
            "spec": {"serveConfigV2": config, "rayClusterConfig": RAY["spec"]},
        }
        ray = workload(document).ray
        assert ray is not None
        return ray.serving_gpus

    two = "deployments: [{num_replicas: 2, ray_actor_options: {num_gpus: 1}}]"
    grown = (
        "deployments: [{autoscaling_config: {max_replicas: 4}, ray_actor_options: {num_gpus: 2}}]"
    )
    assert service(f"applications: [{{{two}}}, {{{grown}}}]").value == 10
    assert service("applications: [{deployments: [{num_replicas: 1}]}]").is_unknown
    assert service("applications: [{import_path: app:main}]").is_unknown
    assert service("applications: {{ .Values.apps }}").is_unknown
    assert service("a: [").is_unknown


@pytest.mark.parametrize(
    ("more", "ends"),
    [
        ({}, False),
        ({"shutdownAfterJobFinishes": True}, True),
        ({"clusterSelector": {"ray.io/cluster": "shared"}}, True),
        ({"deletionStrategy": {"onSuccess": {"policy": "DeleteCluster"}}}, True),
        ({"deletionStrategy": {"onSuccess": {"policy": "DeleteNone"}}}, False),
        ({"deletionStrategy": {"deletionRules": [{"policy": "DeleteWorkers"}]}}, True),
    ],
)
def test_when_the_cluster_of_a_ray_job_goes(more: dict[str, Any], ends: bool):
    ray = workload({**RAY, "kind": "RayJob", "spec": {"rayClusterSpec": RAY["spec"], **more}}).ray
    assert ray is not None
    assert ray.ends_with_job.value is ends


def test_ray_groups_scale_between_their_sizes():
    grown = changed(
        RAY,
        {
            "spec.enableInTreeAutoscaling": True,
            "spec.autoscalerOptions": {"idleTimeoutSeconds": 60},
            "spec.workerGroupSpecs[0].maxReplicas": 2147483647,
        },
    )
    (scaling,) = workload(grown).scaling
    assert (scaling.group, scaling.minimum.value) == ("gpu", 0)
    assert scaling.maximum.is_absent
    assert scaling.enabled.value is True
    assert scaling.cooldown_seconds.value == 60


def test_the_short_forms_of_the_vllm_production_stack():
    terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["l4"]}]}]
    found = workload(
        {
            "apiVersion": "production-stack.vllm.ai/v1alpha1",
            "kind": "VLLMRuntime",
            "metadata": {"name": "chat"},
            "spec": {
                "model": {"modelURL": "meta-llama/Llama-3.1-8B"},
                "vllmConfig": {"tensorParallelSize": 2, "gpuMemoryUtilization": "0.8"},
                "deploymentConfig": {
                    "replicas": 2,
                    "nodeSelectorTerms": terms,
                    "toleration": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                    "resources": {"cpu": "8", "memory": "32Gi", "gpu": "2"},
                },
                "autoscalingConfig": {"enabled": True, "maxReplicas": 4},
            },
        }
    )
    (group,) = found.pod_groups
    assert group.node_labels == {"pool": frozenset({"l4"})}
    assert group.tolerations.value[0].key == "nvidia.com/gpu"
    assert group.pod_gpus("nvidia.com/gpu").value == 2
    started = group.containers[0].launch
    assert (started.gpus.value, started.memory_share.value) == (2, Decimal("0.8"))
    assert found.intent.model_parameters_billion.value == pytest.approx(8, abs=Decimal("0.1"))
    assert (found.scaling[0].minimum.value, found.scaling[0].maximum.value) == (1, 4)


def test_components_of_dynamo_are_pod_templates_since_v1beta1():
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 4}}}
    component = {
        "name": "decode",
        "replicas": 2,
        "multinode": {"nodeCount": 2},
        "podTemplate": {"spec": {"containers": [container]}},
    }
    found = workload(
        {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "llm"},
            "spec": {"components": [component]},
        }
    )
    (group,) = found.pod_groups
    assert (group.name, group.pods.value, group.together.value) == ("decode", 4, 2)
    place = "spec.components[0].podTemplate.spec.containers[0].resources"
    assert group.containers[0].resources_place == place


def autoscaler(document: dict[str, Any]) -> Autoscaler:
    """The autoscaler of a manifest."""
    found, *_ = facts_of_document({"metadata": {"name": "a"}, **document})
    assert isinstance(found, Autoscaler)
    return found


def test_horizontal_autoscalers_and_their_defaults():
    found = autoscaler(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "chat"}, "maxReplicas": 4},
        }
    )
    assert (found.scaling.minimum.value, found.scaling.maximum.value) == (1, 4)
    assert (found.target_kind.value, found.target_name.value) == ("Deployment", "chat")


def test_keda_starts_from_zero_unless_told_otherwise():
    found = autoscaler(
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "spec": {"scaleTargetRef": {"name": "chat"}, "triggers": [{"type": "prometheus"}]},
        }
    )
    assert (found.scaling.minimum.value, found.scaling.maximum.value) == (0, 100)
    assert found.target_kind.value == "Deployment"


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_claims_of_every_version(version: str):
    fields = {"deviceClassName": "gpu.nvidia.com", "count": 2}
    request = {"name": "g", **fields} if version == "v1beta1" else {"name": "g", "exactly": fields}
    (found,) = (
        f
        for f in facts_of_document(
            {
                "apiVersion": f"resource.k8s.io/{version}",
                "kind": "ResourceClaim",
                "metadata": {"name": "c"},
                "spec": {"devices": {"requests": [request]}},
            }
        )
        if isinstance(f, DeviceClaim)
    )
    (one,) = found.requests
    assert one.is_gpu
    assert (one.count.value, one.allocation.value) == (2, "ExactCount")
    assert one.selectors.is_absent
    assert not found.is_template
