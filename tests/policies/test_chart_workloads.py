"""Charts that are workloads: their values are validated like the pods they become."""

from typing import Any

import pytest

from gpufleet.cluster import WorkloadFacts
from gpufleet.findings import Level
from gpufleet_policies.readers.documents import facts_of_document
from tests.policies.cases.case import Thing
from tests.policies.objects import changed

HUB: dict[str, Any] = {
    "hub": {"db": {}},
    "singleuser": {
        "cpu": {"guarantee": 2},
        "memory": {"guarantee": "8G"},
        "extraResource": {"limits": {"nvidia.com/gpu": "1"}},
    },
}
STACK: dict[str, Any] = {
    "servingEngineSpec": {
        "modelSpec": [
            {
                "name": "llama",
                "repository": "vllm/vllm-openai",
                "modelURL": "meta-llama/Llama-3.1-8B-Instruct",
                "replicaCount": 2,
                "requestCPU": 8,
                "requestMemory": "32Gi",
                "requestGPU": 2,
                "vllmConfig": {"tensorParallelSize": 2},
                "keda": {"enabled": True, "minReplicaCount": 1, "maxReplicaCount": 4},
            }
        ]
    }
}


def released(chart: str, values: dict[str, Any]) -> Thing:
    """A release of a chart, by the Kubernetes provider."""
    return Thing("kubernetes:helm.sh/v3:Release", {"chart": chart, "values": values}, chart)


def rules(chart: str, values: dict[str, Any]) -> dict[str, Level]:
    """Findings about the pods of a chart."""
    found = workload(chart, values)
    from gpufleet.catalogue import load
    from gpufleet.rules.context import RuleContext
    from gpufleet_policies.rules.settings import read_settings
    from gpufleet_policies.rules.validate import validate
    from tests.policies.objects import TODAY

    context = RuleContext(today=TODAY, load_catalogue=load)
    return {f.code: f.level for f in validate(found, context, read_settings({"profile": "strict"}))}


def workload(chart: str, values: dict[str, Any]) -> WorkloadFacts:
    """The pods of a values file of a chart."""
    found = facts_of_document(values, f"{chart}/values.yaml", line=1)
    return next(f for f in found if isinstance(f, WorkloadFacts))


def test_users_of_jupyterhub_are_stopped_unless_somebody_switched_that_off():
    assert rules("jupyterhub", HUB) == {}
    off = changed(HUB, {"cull": {"enabled": False}})
    assert rules("jupyterhub", off) == {"gpu-notebook-without-culling": Level.ADVISORY}


def test_profiles_of_jupyterhub_are_read_and_those_without_gpus_are_not():
    profiles = [
        {"slug": "cpu", "kubespawner_override": {"cpu_limit": 2}},
        {
            "slug": "gpu",
            "kubespawner_override": {"extra_resource_limits": {"nvidia.com/gpu": "0.5"}},
        },
    ]
    values = changed(HUB, {"singleuser.profileList": profiles, "singleuser.extraResource": {}})
    found = workload("jupyterhub", values)
    assert [group.name for group in found.pod_groups] == ["gpu"]
    assert rules("jupyterhub", values) == {"gpu-not-integer": Level.MANDATORY}


def test_models_of_the_vllm_stack_are_pods():
    found = workload("vllm-stack", STACK)
    (group,) = found.pod_groups
    assert (group.name, group.pods.value) == ("llama", 2)
    assert group.pod_gpus("nvidia.com/gpu").value == 2
    assert group.containers[0].launch.gpus.value == 2
    assert found.scaling[0].maximum.value == 4
    assert rules("vllm-stack", STACK) == {}
    more = changed(STACK, {"servingEngineSpec.modelSpec[0].requestGPU": 4})
    assert rules("vllm-stack", more) == {"gpu-count-exceeds-parallelism": Level.MANDATORY}


@pytest.mark.parametrize(("chart", "values"), [("jupyterhub", HUB), ("vllm-stack", STACK)])
def test_a_release_is_read_like_its_values_file(chart: str, values: dict[str, Any]):
    from gpufleet_policies.readers.pulumi_props import facts_from_pulumi

    thing = released(chart, values)
    found = facts_from_pulumi(thing.type, thing.properties, "r", "urn")
    (pods,) = (f for f in found if isinstance(f, WorkloadFacts))
    assert pods.pod_groups == workload(chart, values).pod_groups
    assert str(pods.locator) == "Release r"


def test_charts_without_gpus_give_no_pods():
    found = facts_of_document({"hub": {}, "singleuser": {"cpu": {}}}, "jupyterhub/values.yaml")
    assert not any(isinstance(f, WorkloadFacts) for f in found)


NIM: dict[str, Any] = {
    "image": {"repository": "nvcr.io/nim/meta/llama3-8b-instruct", "tag": "1.0.3"},
    "model": {"ngcAPISecret": "ngc-api", "name": "meta/llama3-8b-instruct"},
    "resources": {"requests": {"cpu": 8, "memory": "32Gi"}},
}


def test_a_nim_asks_for_one_gpu_unless_its_values_say_more():
    """NVIDIA/nim-deploy helm/nim-llm/values.yaml at 23a592c: resources.limits nvidia.com/gpu: 1."""
    for gpus, limits in ((1, {}), (4, {"nvidia.com/gpu": 4})):
        found = facts_of_document(changed(NIM, {"resources.limits": limits}), "x/values.yaml")
        (pods,) = (fact for fact in found if isinstance(fact, WorkloadFacts))
        (group,) = pods.pod_groups
        assert group.pod_gpus("nvidia.com/gpu").value == gpus
        assert group.pods.value == 1
    several = facts_of_document({**NIM, "multiNode": {"enabled": True}}, "x/values.yaml")
    assert not any(isinstance(fact, WorkloadFacts) for fact in several)
    assert "gpu-count-exceeds-parallelism" not in rules("nim-llm", NIM)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"extraArgs": ["--tensor-parallel-size", "2"]}, True),
        ({"tensorParallelSize": 2}, False),
    ],
)
def test_the_stack_shares_memory_for_its_own_key_of_parallel_size(settings, found):
    """vllm-project/production-stack#276: shmSize is read with vllmConfig.tensorParallelSize."""
    values = changed(STACK, {"servingEngineSpec.modelSpec[0].vllmConfig": settings})
    assert ("gpu-processes-without-shared-memory" in rules("vllm-stack", values)) is found
