"""Cases of rules/parallelism.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.workloads import CONTAINER, LIMITS, SHARED_MEMORY, deployment, template


def server(gpus: int, width: int):
    """A vLLM server with this number of GPUs and this tensor parallel size."""
    return deployment(
        {
            "spec.replicas": 1,
            **SHARED_MEMORY,
            LIMITS: {"nvidia.com/gpu": gpus},
            f"{CONTAINER}.args": ["--model", "acme/chat", f"--tensor-parallel-size={width}"],
        }
    )


MODELS = """
applications:
- name: models
  import_path: ray.serve.llm:build_openai_app
  args:
    llm_configs:
    - model_loading_config: {{model_id: chat, model_source: acme/chat}}
      engine_kwargs: {{tensor_parallel_size: 2}}
      deployment_config: {{autoscaling_config: {{min_replicas: 1, max_replicas: {replicas}}}}}
"""


def models(replicas: int) -> Thing:
    """A RayService with two GPUs and a model with this maximum of replicas."""
    worker = {"groupName": "gpu", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    return manifest(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayService",
            "metadata": {"name": "models", "namespace": "ml"},
            "spec": {
                "serveConfigV2": MODELS.format(replicas=replicas),
                "rayClusterConfig": {
                    "headGroupSpec": {"rayStartParams": {}, "template": template(None)},
                    "workerGroupSpecs": [{**worker, "rayStartParams": {}, "template": template(2)}],
                },
            },
        }
    )


CASES = (
    Case(
        "gpu-count-exceeds-parallelism",
        server(4, 4),
        server(4, 2),
        "requests 4 x nvidia.com/gpu and starts processes on 2; 2 of them stay idle",
    ),
    Case(
        "gpu-count-below-parallelism",
        server(4, 4),
        server(4, 8),
        "starts processes on 8 GPUs and requests 4 x nvidia.com/gpu",
    ),
    Case(
        "ray-serve-exceeds-cluster",
        models(1),
        models(4),
        "its applications may grow to 8 GPUs, and the cluster has 2",
        Level.ADVISORY,
        alongside=(),
    ),
)
