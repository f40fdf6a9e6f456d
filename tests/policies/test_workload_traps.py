"""False alarms that rules about workloads must not give: each was met in public manifests."""

from typing import Any

import pytest

from gpufleet.catalogue import load
from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Level
from gpufleet_policies.readers.documents import facts_of_document
from tests.policies.cases.case import FLEET, Case, Thing, fleet_thing, manifest
from tests.policies.cases.control_pods import HEAD, RAY
from tests.policies.cases.device_claims import BOTH, CHANNEL
from tests.policies.cases.jobs import PYTORCH
from tests.policies.cases.workloads import (
    CONTAINER,
    LIMITS,
    SHARED_MEMORY,
    WHOLE,
    deployment,
    job,
    template,
)
from tests.policies.objects import REMOVE, changed

NEED = 'metadata.annotations."gpufleet.dev/min-gpu-memory-gib"'
PARAMETERS = 'metadata.annotations."gpufleet.dev/model-params-b"'
TOLERATIONS = "spec.template.spec.tolerations"
WHOLE_POOLS = fleet_thing(
    {"pools[0].sharing": {"exclusive": {}}, "pools[1].sharing": {"exclusive": {}}}
)
ON_TRAINING = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "training"}


def rules(thing: Thing, alongside: tuple[Thing, ...] = (FLEET,)) -> dict[str, Level]:
    """Rule -> level of every finding of the strict profile."""
    case = Case("", thing, thing, "", alongside=alongside, settings={"profile": "strict"})
    return {finding.code: finding.level for finding in case.findings(thing)}


@pytest.mark.parametrize(
    "tolerations",
    [
        REMOVE,
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "A100", "effect": "NoSchedule"}],
        [{"key": "dedicated", "operator": "Equal", "value": "ml"}],
    ],
)
def test_3_and_22_tolerations_may_lack_be_unrelated_or_have_any_value(tolerations: Any):
    changes = {} if tolerations is REMOVE else {TOLERATIONS: tolerations}
    assert rules(deployment(changes)) == {}


@pytest.mark.parametrize(
    "changes", [{"spec.replicas": 0}, {"spec.suspend": True}], ids=["replicas", "suspend"]
)
def test_7_what_does_not_run_costs_nothing(changes: dict[str, Any]):
    idle = {f"{CONTAINER}.command": ["sleep", "infinity"]}
    assert "gpu-idle-command" not in rules(deployment({**idle, **changes}))
    assert rules(deployment(idle)) == {"gpu-idle-command": Level.MANDATORY}


def test_8_a_short_sleep_in_a_test_job_is_no_idle_gpu():
    assert rules(job({f"{CONTAINER}.command": ["sleep", "60"]})) == {}
    assert "gpu-idle-command" in rules(job({f"{CONTAINER}.command": ["sleep", "infinity"]}))


AGENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "metadata": {"name": "dcgm-exporter", "namespace": "monitoring"},
    "spec": {
        "template": template(
            None,
            nodeSelector={"nvidia.com/gpu.present": "true"},
            tolerations=[{"operator": "Exists"}],
        )
    },
}


def test_9_agents_of_gpu_nodes_need_no_gpu():
    assert rules(manifest(AGENT)) == {}
    operator = changed(AGENT, {"kind": "Deployment", "metadata.namespace": "gpu-operator"})
    assert rules(manifest(operator)) == {}
    elsewhere = changed(AGENT, {"kind": "Deployment"})
    assert rules(manifest(elsewhere)) == {"non-gpu-pod-on-gpu-pool": Level.MANDATORY}


def test_10_a_ray_head_with_gpus_and_no_gpu_workers_is_a_one_node_cluster():
    alone = changed(
        RAY,
        {
            f'{HEAD}."nvidia.com/gpu"': 1,
            "spec.headGroupSpec.rayStartParams": {},
            "spec.workerGroupSpecs": [],
        },
    )
    assert rules(manifest(alone)) == {}


def test_11_imex_channels_beside_gpus_are_right():
    assert rules(BOTH, (FLEET, CHANNEL)) == {}


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["--quantize", "bitsandbytes-nf4"], {}),
        (["--quantization=awq"], {}),
        (["--model-id", "acme/chat-70b-gptq"], {}),
        ([], {"QUANTIZE": "bitsandbytes-nf4"}),
    ],
)
def test_12_quantised_models_need_less(arguments: list[str], variables: dict[str, str]):
    """70 B parameters in 16 bit fit no card here; in 4 bit they fit one H100 and leave a third."""
    document = deployment(
        {
            PARAMETERS: "70",
            "spec.replicas": 1,
            LIMITS: {"nvidia.com/gpu": 2},
            f"{CONTAINER}.args": ["serve", *arguments],
            f"{CONTAINER}.env": [{"name": k, "value": v} for k, v in variables.items()],
            **ON_TRAINING,
        }
    )
    workload = document.facts()
    assert isinstance(workload, WorkloadFacts)
    from gpufleet_policies.rules.model_memory import memory_need

    need = memory_need(workload.intent, load())
    assert need is not None
    assert 35 < need.bytes / 2**30 < 70


@pytest.mark.parametrize("option", ["--data-parallel-size", "-dp", "--dp-size"])
def test_13_data_parallel_copies_use_their_gpus(option: str):
    arguments = ["--tensor-parallel-size", "1", option, "8"]
    changes = {
        LIMITS: {"nvidia.com/gpu": 8},
        "spec.replicas": 1,
        "spec.strategy": {"type": "Recreate"},
        f"{CONTAINER}.args": arguments,
        **SHARED_MEMORY,
    }
    assert rules(deployment(changes)) == {}
    fewer = {**changes, f"{CONTAINER}.args": ["--tensor-parallel-size", "1", option, "4"]}
    assert rules(deployment(fewer)) == {"gpu-count-exceeds-parallelism": Level.MANDATORY}


def test_13_a_ray_worker_may_run_many_copies():
    worker = template(8)
    worker["spec"]["containers"][0]["args"] = ["--tensor-parallel-size", "1"]
    document = changed(RAY, {"spec.workerGroupSpecs[0].template": worker})
    assert rules(manifest(document)) == {}


def test_14_a_small_model_on_many_premium_gpus_never_stops_on_a_guess():
    guessed = {
        LIMITS: {"nvidia.com/gpu": 8},
        f"{CONTAINER}.args": ["--model", "acme/chat-1b"],
        "spec.replicas": 1,
        **ON_TRAINING,
    }
    found = rules(deployment(guessed), (WHOLE_POOLS,))
    assert found
    assert set(found.values()) == {Level.ADVISORY}


def test_15_one_of_a_shared_pool_is_a_share_and_no_oversized_gpu():
    """A time-sliced pool that keeps the name: 1 x nvidia.com/gpu is a quarter of an L4."""
    kept = fleet_thing({"pools[0].sharing": {"timeSlicing": {"replicas": 4, "rename": False}}})
    pinned = {'spec.template.spec.nodeSelector."gpufleet.dev/pool"': "small"}
    small = deployment(
        {
            LIMITS: WHOLE,
            PARAMETERS: "0.5",
            f"{CONTAINER}.image": "registry.example/encoder:1.0",
            **pinned,
        }
    )
    assert rules(small, (kept,)) == {}


GROUP: dict[str, Any] = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "metadata": {
        "name": "llm",
        "namespace": "ml",
        "labels": {"kueue.x-k8s.io/queue-name": "research"},
    },
    "spec": {
        "replicas": 1,
        "leaderWorkerTemplate": {"size": 2, "workerTemplate": template(8)},
    },
}


def test_16_sizes_of_a_group_count_over_all_its_pods():
    place = "spec.leaderWorkerTemplate.workerTemplate.spec.containers[0]"

    def group(tensor: int, stages: int) -> Thing:
        words = ["vllm", "serve", "acme/chat", f"-tp={tensor}", f"-pp={stages}"]
        mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
        probe = {"httpGet": {"path": "/health", "port": 8000}}
        changes = {f"{place}.command": words, f"{place}.volumeMounts": mounts}
        volumes = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]
        changes["spec.leaderWorkerTemplate.workerTemplate.spec.volumes"] = volumes
        return manifest(changed(GROUP, {**changes, f"{place}.readinessProbe": probe}))

    big = fleet_thing({"pools[2].nodes.max": 2})
    assert rules(group(8, 2), (big,)) == {}
    assert rules(group(8, 4), (big,)) == {"gpu-count-below-parallelism": Level.MANDATORY}
    assert rules(group(8, 1), (big,)) == {"gpu-count-exceeds-parallelism": Level.MANDATORY}


def test_17_launchers_without_gpus_and_jobs_without_a_master_are_normal():
    launcher = {"Launcher": {"replicas": 1, "template": template(None)}}
    workers = {"Worker": {"replicas": 2, "template": template(1)}}
    document = changed(
        PYTORCH,
        {
            "kind": "MPIJob",
            "spec.pytorchReplicaSpecs": REMOVE,
            "spec.mpiReplicaSpecs": {**launcher, **workers},
        },
    )
    assert rules(manifest(document)) == {}
    assert rules(manifest(PYTORCH)) == {}


def test_19_an_elastic_job_stands_at_its_replicas():
    elastic = changed(
        PYTORCH, {"spec.elasticPolicy": {"minReplicas": 1, "maxReplicas": 64, "maxRestarts": 3}}
    )
    found = manifest(elastic).facts()
    assert isinstance(found, WorkloadFacts)
    assert found.pod_groups[0].pods.value == 2
    assert rules(manifest(elastic)) == {}


@pytest.mark.parametrize("written", ["$GPUS", "${GPUS}", "$(GPUS)", "{{ .Values.gpus }}"])
def test_20_placeholders_are_not_known_and_no_fraction(written: str):
    assert rules(deployment({LIMITS: {"nvidia.com/gpu": written}})) == {}
    assert rules(deployment({"spec.replicas": written})) == {}


@pytest.mark.parametrize(
    ("old", "document"),
    [
        ("ray.io/v1alpha1", RAY),
        ("kubeflow.org/v1beta2", PYTORCH),
        ("leaderworkerset.x-k8s.io/v1alpha1", GROUP),
    ],
)
def test_21_old_versions_are_read_like_new_ones(old: str, document: dict[str, Any]):
    new = facts_of_document(document, "a.yaml")
    found = facts_of_document({**document, "apiVersion": old}, "a.yaml")
    assert [type(f) for f in found] == [type(f) for f in new]
    assert found[0].pod_groups == new[0].pod_groups


def test_23_objects_without_a_name_are_told_apart_by_their_generated_one():
    nameless = changed(
        job().properties,
        {"metadata.name": REMOVE, "metadata.generateName": "train-"},
    )
    found = facts_of_document(nameless, "train.yaml", line=4)
    assert [str(f.locator) for f in found] == ["Job ml/train-"]
    assert found[0].locator.line == 4


def test_workers_that_take_work_from_a_queue_need_no_readiness():
    worker = {f"{CONTAINER}.readinessProbe": REMOVE}
    assert rules(deployment(worker)) == {}
    server = {**worker, f"{CONTAINER}.ports": [{"containerPort": 8000}]}
    assert rules(deployment(server)) == {"gpu-server-without-readiness": Level.ADVISORY}


NONE_ASKED = {"limits": {"nvidia.com/gpu": 0}, "requests": {"nvidia.com/gpu": "0"}}
"""Values that charts write for a disabled GPU."""


@pytest.mark.parametrize("amount", [0, "0", 0.0, "0.0"])
@pytest.mark.parametrize(
    "annotations", [{}, {"gpu-fraction": "0.5"}, {"gpufleet.dev/mode": "interactive"}]
)
def test_none_of_a_gpu_is_no_gpu(amount: Any, annotations: dict[str, str]):
    changes = {
        f"{CONTAINER}.resources": {part: {"nvidia.com/gpu": amount} for part in NONE_ASKED},
        f"{CONTAINER}.command": ["sleep", "infinity"],
        "metadata.annotations": annotations,
    }
    assert rules(deployment(changes)) == {}


def test_none_of_a_gpu_in_any_kind_is_no_gpu():
    ray = changed(
        RAY,
        {
            f"{HEAD}": NONE_ASKED["limits"],
            "spec.enableInTreeAutoscaling": True,
            "spec.autoscalerOptions": {"idleTimeoutSeconds": 99999},
            "spec.workerGroupSpecs": [{"groupName": "cpu", "template": template(0)}],
        },
    )
    assert rules(manifest(ray)) == {}
    endless = {"spec.activeDeadlineSeconds": REMOVE, "spec.template": template(0)}
    assert rules(job(endless)) == {}


def test_a_gpu_less_than_none_is_said_once_as_the_api_server_says_it():
    found = rules(deployment({LIMITS: {"nvidia.com/gpu": -1}}))
    assert found == {"config-out-of-bounds": Level.MANDATORY}


@pytest.mark.parametrize(
    "script",
    [
        "while true; do sleep 30; done",
        "while :; do sleep 1h; done;",
        "while true\ndo sleep 5\ndone",
    ],
)
def test_a_loop_of_nothing_but_sleep_waits_for_ever(script: str):
    words = {f"{CONTAINER}.command": ["/bin/sh", "-c", "--"], f"{CONTAINER}.args": [script]}
    assert rules(deployment(words)) == {"gpu-idle-command": Level.MANDATORY}
    works = {f"{CONTAINER}.command": ["sh", "-c", "while true; do sleep 30; poll; done"]}
    assert rules(deployment(works)) == {}


def patch_of(document: dict[str, Any], **container: Any) -> Thing:
    """Fields of a container in a Kustomize overlay: its name, and its changes."""
    path = "spec.template.spec.containers"
    return manifest(changed(document, {path: [{"name": "server", **container}]}))


def test_a_patch_of_kustomize_lacks_what_its_base_says():
    asks = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    base = deployment().properties
    assert rules(patch_of(base, **asks)) == {}
    endless = changed(job().properties, {"spec.activeDeadlineSeconds": REMOVE})
    assert rules(patch_of(endless, resources={"requests": {"nvidia.com/gpu": 8}})) == {}
    pinned = {"spec.template.spec": {"nodeSelector": {"nvidia.com/gpu.present": "true"}}}
    assert rules(manifest(changed(base, pinned))) == {}
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    assert rules(manifest(changed(base, {"spec.template.spec": {"resourceClaims": claims}}))) == {}


def test_what_a_patch_of_kustomize_does_say_is_judged():
    waits = {"command": ["sleep", "infinity"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    assert rules(patch_of(deployment().properties, **waits)) == {
        "gpu-idle-command": Level.MANDATORY
    }
