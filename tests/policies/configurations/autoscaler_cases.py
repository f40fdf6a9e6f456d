"""Documents for the rules of kind `autoscaler`."""

import json
from typing import Any

CaseRow = tuple[str, str, str | None, dict[str, Any]]


def workload(
    image: str = "example.com/batch:1", resource: str | None = "nvidia.com/gpu", name: str = "web"
) -> dict[str, Any]:
    limits = {} if resource is None else {resource: "1"}
    container = {"name": "c", "image": image, "resources": {"limits": limits}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


VLLM = workload("vllm/vllm-openai:v0.11.0")
SLICED = workload("vllm/vllm-openai:v0.11.0", "nvidia.com/mig-1g.10gb")


def pods(metric: str) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": "10"}
    return {"type": "Pods", "pods": {"metric": {"name": metric}, "target": target}}


def hpa(*metrics: dict[str, Any], **spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": 1,
            "maxReplicas": 4,
            "metrics": list(metrics),
            **spec,
        },
    }


def trigger(query: str = 'sum(vllm:num_requests_running{namespace="ml"})', **more: Any) -> Any:
    metadata = {
        "serverAddress": "http://prometheus:9090",
        "query": query,
        "threshold": "10",
        "ignoreNullValues": "false",
        **more,
    }
    return {"type": "prometheus", "metadata": {k: v for k, v in metadata.items() if v is not None}}


def scaled(*triggers: Any, name: str = "web", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "scaleTargetRef": {"name": "web"},
            "minReplicaCount": 1,
            "maxReplicaCount": 4,
            "triggers": list(triggers or [trigger()]),
            **spec,
        },
    }


def text(*documents: dict[str, Any]) -> str:
    return "\n---\n".join(json.dumps(document) for document in documents)


def without(document: dict[str, Any], key: str) -> dict[str, Any]:
    spec = {name: value for name, value in document["spec"].items() if name != key}
    return {**document, "spec": spec}


UTILISATION = "DCGM_FI_DEV_GPU_UTIL"
RESOURCE = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
GPU_RESOURCE = {"type": "Resource", "resource": {"name": "nvidia.com/gpu", "target": {}}}
FALLBACK = {"failureThreshold": 3, "replicas": 1}
KUBELET = 'sum(rate(container_cpu_usage_seconds_total{pod=~"%s"}[2m]))'
QUEUE = trigger("sum(rabbitmq_queue_messages)")
FINE_TEXT = text(VLLM, scaled())

CASES: list[CaseRow] = [
    ("autoscaler-nothing-to-judge", text(VLLM), None, {}),
    (
        "autoscaler-utilisation-on-mig",
        text(SLICED, hpa(pods(UTILISATION))),
        text(SLICED, hpa(pods("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"))),
        {},
    ),
    (
        "autoscaler-utilisation-on-mig",
        text(SLICED, scaled(trigger(f"avg({UTILISATION})"))),
        text(workload(resource="nvidia.com/mig-1g.10gb"), scaled(trigger("avg(work_left)"))),
        {},
    ),
    (
        "autoscaler-utilisation-of-server",
        text(VLLM, hpa(pods("gpu_engine_active"))),
        text(workload(), hpa(pods("gpu_engine_active"))),
        {},
    ),
    ("autoscaler-utilisation-of-server", text(hpa(pods(UTILISATION))), None, {}),
    ("autoscaler-utilisation-of-server", text(scaled(trigger(f"avg({UTILISATION})"))), None, {}),
    (
        "autoscaler-cpu-of-gpu-workload",
        text(VLLM, hpa(RESOURCE)),
        text(workload(resource=None), hpa(RESOURCE)),
        {},
    ),
    ("autoscaler-cpu-of-gpu-workload", text(VLLM, hpa()), text(hpa()), {}),
    (
        "autoscaler-cpu-of-gpu-workload",
        text(VLLM, scaled({"type": "cpu", "metadata": {"value": "60"}})),
        None,
        {},
    ),
    ("autoscaler-resource-without-metric", text(hpa(GPU_RESOURCE)), text(hpa(RESOURCE)), {}),
    ("autoscaler-zero-without-keda", text(hpa(minReplicas=0)), text(hpa()), {}),
    (
        "autoscaler-zero-by-pods",
        text(scaled(minReplicaCount=0)),
        text(scaled(trigger(), QUEUE, minReplicaCount=0)),
        {},
    ),
    ("autoscaler-zero-by-pods", text(without(scaled(), "minReplicaCount")), None, {}),
    (
        "autoscaler-zero-by-pods",
        text(scaled(idleReplicaCount=0)),
        text(scaled(trigger(), QUEUE, idleReplicaCount=0)),
        {},
    ),
    (
        "autoscaler-zero-by-pods",
        text(scaled(trigger(KUBELET % "web.*"), minReplicaCount=0)),
        text(scaled(trigger(KUBELET % "gateway.*"), minReplicaCount=0)),
        {},
    ),
    (
        "autoscaler-zero-by-pods",
        text(scaled(trigger("max(vllm_num_requests_running)"), minReplicaCount=0)),
        text(scaled(trigger("max(vllm_proxy_active_requests)"), minReplicaCount=0)),
        {},
    ),
    (
        "autoscaler-silence-is-zero",
        text(scaled(trigger(ignoreNullValues=None))),
        text(scaled(trigger(), fallback=FALLBACK)),
        {},
    ),
    (
        "autoscaler-silence-is-zero",
        text(scaled(trigger(ignoreNullValues=None), fallback=FALLBACK)),
        text(scaled(trigger(ignoreNullValues=None), QUEUE, fallback=FALLBACK, minReplicaCount=0)),
        {},
    ),
    (
        "autoscaler-metric-renamed",
        text(scaled(trigger("sum(vllm_num_requests_waiting)"))),
        text(scaled(trigger("sum(vllm:num_requests_waiting)"))),
        {},
    ),
    (
        "autoscaler-mean-divided-again",
        text(scaled(trigger("avg(vllm:num_requests_running)"))),
        text(scaled({**trigger("avg(vllm:num_requests_running)"), "metricType": "Value"})),
        {},
    ),
    (
        "autoscaler-mean-divided-again",
        text(scaled(trigger("sum(vllm:num_requests_running) / count(vllm:num_requests_running)"))),
        text(scaled(trigger("sum(vllm:num_requests_running)"))),
        {},
    ),
    (
        "object-operator-refuses",
        text(scaled(trigger("sum(rate(r[2m])) / count(kube_pod_info)"))),
        text(scaled(trigger("sum(rate(r[2m])) / count(sessions)"))),
        {},
    ),
    ("autoscaler-metadata-missing", text(scaled(trigger(threshold=None))), None, {}),
    ("autoscaler-metadata-missing", text(scaled(trigger(serverAddress=""))), None, {}),
    ("autoscaler-unbounded", text(without(scaled(), "maxReplicaCount")), None, {}),
    (
        "autoscaler-idle-not-below-minimum",
        text(scaled(idleReplicaCount=1)),
        text(scaled(trigger(), QUEUE, idleReplicaCount=0)),
        {},
    ),
    (
        "autoscaler-two-of-one-target",
        text(scaled(), hpa(pods("vllm_num_requests_running"))),
        text(scaled(), {**hpa(), "metadata": {"name": "web", "namespace": "other"}}),
        {},
    ),
    ("config-key-misspelt", text(scaled(maxReplicasCount=4)), None, {}),
    ("config-key-unknown", text(scaled(gpu=True)), None, {}),
    (
        "config-wrong-type",
        text(scaled(pollingInterval="30")),
        text(scaled(pollingInterval=30)),
        {},
    ),
    (
        "config-choice-unknown",
        text(scaled(fallback={"failureThreshold": 3, "replicas": 1, "behavior": "statik"})),
        text(scaled(fallback={"failureThreshold": 3, "replicas": 1, "behavior": "static"})),
        {},
    ),
    ("config-out-of-bounds", text(hpa(maxReplicas=1 << 31)), text(hpa()), {}),
    ("config-value-missing", text(without(hpa(), "maxReplicas")), text(hpa()), {}),
    (
        "config-value-invalid",
        text(
            hpa(
                metrics=[
                    {
                        **pods("vllm_num_requests_running"),
                        "pods": {
                            "metric": {"name": "a"},
                            "target": {"type": "AverageValue", "averageValue": "ten"},
                        },
                    }
                ]
            )
        ),
        text(hpa(pods("vllm_num_requests_running"))),
        {},
    ),
]
