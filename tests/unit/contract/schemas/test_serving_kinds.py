"""Kinds with definitions from the vendors' files: KServe, NIM and KAI's Queue. The invalid cases
are those that the named definition or marker refuses."""

import copy
from typing import Any

import pytest

from gpufleet.contract.schemas.problems import SchemaProblemKind
from gpufleet.contract.schemas.validator import schema_problems

TYPE, CHOICE = SchemaProblemKind.TYPE, SchemaProblemKind.CHOICE
UNKNOWN, REQUIRED = SchemaProblemKind.UNKNOWN, SchemaProblemKind.REQUIRED
CONTAINER = {"name": "kserve-container", "image": "registry.example/server:1"}
GOOD: dict[str, dict[str, Any]] = {
    "serving.kserve.io/v1beta1 InferenceService": {
        "predictor": {
            "minReplicas": 1,
            "scaleMetric": "concurrency",
            "model": {
                "modelFormat": {"name": "huggingface"},
                "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "16Gi"}},
            },
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        }
    },
    "serving.kserve.io/v1alpha1 ClusterServingRuntime": {
        "supportedModelFormats": [{"name": "huggingface", "autoSelect": True, "priority": 1}],
        "containers": [CONTAINER],
        "workerSpec": {"containers": [dict(CONTAINER)], "tensorParallelSize": 8},
    },
    "serving.kserve.io/v1alpha1 ClusterStorageContainer": {
        "container": {"name": "storage-initializer", "image": "registry.example/loader:1"},
        "supportedUriFormats": [{"prefix": "gs://"}],
    },
    "serving.kserve.io/v1alpha2 LLMInferenceService": {
        "model": {"uri": "hf://meta-llama/Llama-3.1-8B-Instruct"},
        "replicas": 2,
        "parallelism": {"tensor": 4, "data": 1, "dataLocal": 1},
        "router": {"gateway": {}, "scheduler": {"replicas": 1}},
        "template": {"containers": [{"name": "main"}]},
        "aLaterField": {},
    },
    "apps.nvidia.com/v1alpha1 NIMService": {
        "image": {"repository": "nvcr.io/nim/meta/llama-3.1-8b-instruct", "tag": "1.8"},
        "authSecret": "ngc-api-secret",
        "storage": {"nimCache": {"name": "llama"}},
        "expose": {"service": {"port": 8000}, "router": {"hostDomainName": "a.b"}},
        "inferencePlatform": "standalone",
        "multiNode": {"parallelism": {"tensor": 8, "pipeline": 2}},
        "draResources": [{"claimCreationSpec": {"devices": [{"name": "gpu"}]}}],
        "scale": {"hpa": {"maxReplicas": 4}},
    },
    "apps.nvidia.com/v1alpha1 NIMCache": {
        "source": {"ngc": {"modelPuller": "nvcr.io/nim:1", "authSecret": "ngc"}},
        "storage": {"pvc": {"create": True, "size": "50Gi"}},
        "resources": {"cpu": 1, "memory": "4Gi"},
    },
    "scheduling.run.ai/v2 Queue": {
        "parentQueue": "default",
        "resources": {"gpu": {"quota": 0.5, "limit": -1, "overQuotaWeight": 1}},
    },
}


def item(name: str) -> dict[str, Any]:
    version, kind = name.split()
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": copy.deepcopy(GOOD[name]),
    }


@pytest.mark.parametrize("name", GOOD)
def test_a_right_object_has_no_problem(name: str) -> None:
    assert schema_problems(item(name)) == ()


@pytest.mark.parametrize(
    ("name", "path", "value", "kind"),
    [
        ("InferenceService", "predictor.minReplicas", "1", TYPE),
        ("InferenceService", "predictor.scaleMetric", "gpu", CHOICE),
        ("InferenceService", "predictor.model.limits", {}, UNKNOWN),
        ("InferenceService", "predictor.model.resources.limits.memory", True, TYPE),
        ("InferenceService", "predictor.tolerations.0.effects", "NoSchedule", UNKNOWN),
        ("InferenceService", "predictor.hostIPC", "true", TYPE),
        ("ClusterServingRuntime", "disabled", "false", TYPE),
        ("ClusterServingRuntime", "supportedModelFormats.0.priority", 0, SchemaProblemKind.BOUND),
        ("ClusterServingRuntime", "workerSpec.tensorParallelSize", "8", TYPE),
        ("ClusterServingRuntime", "containers.0.resource", {}, UNKNOWN),
        ("ClusterStorageContainer", "supportedUriFormats.0.prefixes", ["a"], UNKNOWN),
        ("LLMInferenceService", "parallelism.tensor", 0, SchemaProblemKind.BOUND),
        ("LLMInferenceService", "parallelism.dataRPCPort", 70_000, SchemaProblemKind.BOUND),
        ("LLMInferenceService", "parallelism.tp", 4, UNKNOWN),
        ("LLMInferenceService", "template.containers.0.resource", {}, UNKNOWN),
        ("NIMService", "scale.enabled", "true", TYPE),
        ("NIMService", "expose.service.port", 70_000, SchemaProblemKind.BOUND),
        ("NIMService", "image.tags", "1", UNKNOWN),
        ("NIMService", "startupProbes", {}, UNKNOWN),
        ("NIMService", "inferencePlatform", "KServe", CHOICE),
        ("NIMService", "multiNode.parallelism.tensor", 0, SchemaProblemKind.BOUND),
        ("NIMService", "multiNode.backendType", "ray", CHOICE),
        ("NIMService", "multiNode.computeDomain", {"create": False}, SchemaProblemKind.CONDITION),
        ("NIMService", "expose.router.gateway", {"name": "a"}, REQUIRED),
        (
            "NIMService",
            "expose.ingress",
            {"enabled": True, "host": "a", "spec": {"ingressClassName": "n"}},
            UNKNOWN,
        ),
        ("NIMService", "draResources.0.resourceClaimName", "gpu", SchemaProblemKind.CONDITION),
        ("NIMService", "scale.enabled", True, SchemaProblemKind.CONDITION),
        ("NIMService", "storage.sharedMemorySizeLimit", "16 GB", SchemaProblemKind.PATTERN),
        ("NIMCache", "storage.pvc.create", "yes", TYPE),
        ("NIMCache", "storage.pvc.storageClassName", "fast", UNKNOWN),
        ("Queue", "resources.gpu.quota", "4", TYPE),
        ("Queue", "resources.gpus", {}, UNKNOWN),
    ],
)
def test_one_wrong_field(name: str, path: str, value: object, kind: SchemaProblemKind) -> None:
    written = item(next(one for one in GOOD if one.endswith(f" {name}")))
    *way, last = path.split(".")
    here: Any = written["spec"]
    for step in way:
        here = here[int(step)] if step.isdigit() else here[step]
    here[int(last) if last.isdigit() else last] = value
    assert [one.kind for one in schema_problems(written)] == [kind]


def test_a_nim_without_its_secret_is_reported() -> None:
    written = item("apps.nvidia.com/v1alpha1 NIMService")
    del written["spec"]["authSecret"]
    assert [(one.kind, one.path) for one in schema_problems(written)] == [
        (REQUIRED, "spec.authSecret")
    ]


def test_a_cache_has_exactly_one_source() -> None:
    """An expression of the definition."""
    written = item("apps.nvidia.com/v1alpha1 NIMCache")
    written["spec"]["source"] = {}
    assert len(schema_problems(written)) == 1
