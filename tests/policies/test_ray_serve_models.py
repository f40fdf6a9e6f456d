"""The model of `ray.serve.llm` is read as that of a Deployment is (ray-project/ray, LLMConfig)."""

from typing import Any

import pytest

from gpufleet.cluster import WorkloadFacts
from tests.policies.objects import findings, ids, workload

GPU = "nvidia.com/gpu"


def model(
    name: str = "Qwen/Qwen2.5-1.5B-Instruct", tensor: int = 8, replicas: int = 1
) -> dict[str, Any]:
    return {
        "model_loading_config": {"model_id": "chat", "model_source": name},
        "engine_kwargs": {"tensor_parallel_size": tensor},
        "deployment_config": {"num_replicas": replicas},
    }


def service(*models: dict[str, Any], gpus: int = 8, pods: int = 1, groups: int = 1) -> Any:
    """A RayService of these models on worker pods of `gpus` GPUs."""
    worker = {
        "name": "worker",
        "image": "rayproject/ray-llm:2.49.0-py311-cu128",
        "resources": {"limits": {GPU: str(gpus)}},
    }
    template = {
        "spec": {
            "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
            "containers": [worker],
        }
    }
    serve = {"applications": [{"name": "chat", "args": {"llm_configs": list(models)}}]}
    head = {"spec": {"containers": [{"name": "head", "image": "rayproject/ray-llm:2.49.0"}]}}
    workers = [
        {"groupName": f"gpu-{n}", "replicas": pods, "maxReplicas": pods, "template": template}
        for n in range(groups)
    ]
    return workload(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayService",
            "metadata": {"name": "chat", "namespace": "ml"},
            "spec": {
                "serveConfigV2": str(serve),
                "rayClusterConfig": {
                    "headGroupSpec": {"template": head},
                    "workerGroupSpecs": workers,
                },
            },
        }
    )


def found(subject: WorkloadFacts) -> list[str]:
    return ids(findings(subject, alone=True))


def test_a_small_model_on_many_gpus() -> None:
    subject = service(model())
    assert subject.intent.model.found == "Qwen/Qwen2.5-1.5B-Instruct"
    (_, container) = subject.gpu_containers[0]
    assert container.launch.tensor.found == 8
    assert "gpu-oversized-for-model" in found(subject)


def test_weights_that_do_not_fit() -> None:
    big = model("meta-llama/Llama-3.1-70B-Instruct", tensor=1)
    assert "model-exceeds-gpu-memory" in found(service(big, gpus=1))
    assert "model-exceeds-gpu-memory" not in found(
        service(model("meta-llama/Llama-3.1-70B-Instruct", tensor=4), gpus=4)
    )


def test_replicas_in_one_pod_are_copies() -> None:
    subject = service(model(tensor=2, replicas=4))
    assert subject.intent.parallel_replicas.found == 4
    spread = service(model(tensor=2, replicas=4), pods=2)
    assert spread.intent.parallel_replicas.is_unknown


@pytest.mark.parametrize(
    "subject",
    [service(model(), model("google/gemma-2-9b")), service(model(), groups=2)],
    ids=["two models", "two groups"],
)
def test_where_several_are_possible_nothing_is_known(subject: WorkloadFacts) -> None:
    assert subject.intent.model.is_absent


def test_a_folder_is_not_the_name_of_a_model() -> None:
    one = model("/model-cache")
    one["model_loading_config"]["model_id"] = "qwen3-vl-8b-instruct"
    assert service(one).intent.model.found == "qwen3-vl-8b-instruct"
