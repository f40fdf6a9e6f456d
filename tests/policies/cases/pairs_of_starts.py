"""More cases of rules/pairs.py: what keeps model servers, nodes of Ray and exporters from their
work at the start."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pair_objects import of_kind, operator
from tests.policies.cases.pairs_of_servers import server

ADVICE = Level.ADVISORY
LLAMA = ("--model", "meta-llama/Llama-3.2-1B-Instruct", "--max-model-len=4096")
TOKEN = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}
VLLM = "vllm/vllm-openai:v0.11.0"


def _probed(path: str, image: str = VLLM) -> Thing:
    probe = {"httpGet": {"path": path, "port": 8000}, "failureThreshold": 60}
    return server(image, "--model=a/b", "--max-model-len=4096", readinessProbe=probe)


def _exporter(path: str, name: str = "DCGM_EXPORTER_KUBERNETES", *args: str) -> Thing:
    """The DCGM exporter, with one folder of its node and one variable."""
    container: dict[str, Any] = {
        "name": "dcgm-exporter",
        "image": "nvcr.io/nvidia/k8s/dcgm-exporter:4.4.1-4.6.0-ubi9",
        "env": [{"name": name, "value": "true"}],
        "args": list(args),
        "volumeMounts": [{"name": "host", "mountPath": path}],
    }
    volumes = [{"name": "host", "hostPath": {"path": path}}]
    labels = {"app": "dcgm-exporter"}
    pod = {"containers": [container], "volumes": volumes}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    spec["template"]["spec"] = pod
    return of_kind("DaemonSet", "apps/v1", "dcgm-exporter", spec, namespace="monitoring")


def _ray(kind: str, **parameters: str) -> Thing:
    limits = {"cpu": 8, "memory": "64Gi", "nvidia.com/gpu": 2}
    containers = [{"name": "a", "image": "b", "resources": {"limits": limits}}]
    worker = {"groupName": "gpu", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    worker |= {"rayStartParams": {}, "template": {"spec": {"containers": containers}}}
    head = [{"name": "h", "image": "b", "resources": {"limits": {"cpu": 2, "memory": "8Gi"}}}]
    cluster = {
        "headGroupSpec": {"rayStartParams": parameters, "template": {"spec": {"containers": head}}},
        "workerGroupSpecs": [worker],
    }
    below = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}
    more = {"entrypoint": "a", "shutdownAfterJobFinishes": True, "activeDeadlineSeconds": 86400}
    spec = (
        {below[kind]: cluster, **(more if kind == "RayJob" else {})} if kind in below else cluster
    )
    return of_kind(kind, "ray.io/v1", "train", spec, namespace="ml")


def _node_class(data: str) -> Thing:
    spec = {"amiSelectorTerms": [{"alias": "al2023@v20260601"}], "role": "node", "userData": data}
    spec["subnetSelectorTerms"] = [{"tags": {"a": "b"}}]
    spec["securityGroupSelectorTerms"] = [{"tags": {"a": "b"}}]
    return of_kind("EC2NodeClass", "karpenter.k8s.aws/v1", "gpu", spec)


def _monitor(port: str) -> Thing:
    spec = {"selector": {"matchLabels": {"app": "nvidia-dcgm-exporter"}}}
    spec |= {"endpoints": [{"port": port}], "namespaceSelector": {"matchNames": ["gpu-operator"]}}
    return of_kind("ServiceMonitor", "monitoring.coreos.com/v1", "gpus", spec, namespace="a")


def _nim(metric: dict[str, Any]) -> Thing:
    spec: dict[str, Any] = {
        "image": {"repository": "nvcr.io/nim/meta/llama-3.2-1b-instruct", "tag": "1.8"},
        "authSecret": "ngc",
        "storage": {"nimCache": {"name": "llama"}},
        "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "12", "memory": "32Gi"}},
        "scale": {
            "enabled": True,
            "hpa": {"minReplicas": 1, "maxReplicas": 3, "metrics": [metric]},
        },
        "expose": {"service": {"type": "ClusterIP", "port": 8000}},
    }
    return of_kind("NIMService", "apps.nvidia.com/v1alpha1", "llama", spec, namespace="ml")


CASES = (
    # NVIDIA/k8s-nim-operator config/samples/nim/serving/kserve/standard/llm.yaml
    Case(
        "nim-scaled-by-cpu",
        _nim(
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "num_requests_waiting"},
                    "target": {"type": "AverageValue", "averageValue": "4"},
                },
            }
        ),
        _nim(
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80},
                },
            }
        ),
        "scales a server with GPUs by CPU or memory alone",
        ADVICE,
        alongside=(),
    ),
    # fdaniel-alvarez-dev/production-gpu-platform-eks: monitoring/dcgm-servicemonitor.yaml
    Case(
        "port-name-absent",
        _monitor("gpu-metrics"),
        _monitor("metrics"),
        "names the port metrics, and the Service of the GPU Operator's exporter has one",
        ADVICE,
        alongside=(),
    ),
    # Akarshanagoud/llm-inference-monitoring deploy/k8s/vllm.yaml
    Case(
        "gated-model-without-token",
        server(VLLM, *LLAMA, env=[TOKEN]),
        server(VLLM, *LLAMA),
        "serves a model of meta-llama or of google's Gemma, which are gated, and has no token",
        ADVICE,
    ),
    Case(
        "gated-model-without-token",
        server("lmsysorg/sglang:v0.5.3", "--model-path", "google/gemma-4-E4B-it"),
        server(
            "lmsysorg/sglang:v0.5.3",
            command=[
                "python3",
                "-m",
                "sglang.launch_server",
                "--model-path",
                "google/gemma-2-2b-it",
            ],
        ),
        "serves a model of meta-llama or of google's Gemma",
        ADVICE,
    ),
    # llm-on-gke/vllm-inference gke/gke-deploy.yaml
    Case(
        "probe-of-other-server",
        _probed("/health"),
        _probed("/v1/health/ready"),
        "is probed on /v1/health/ready; vLLM answers 404",
        ADVICE,
    ),
    Case(
        "probe-of-other-server",
        _probed("/v2/health/ready", "registry.example/tritonserver:25.01-vllm"),
        _probed("/v2/health/ready", "registry.example/llm/vllm:latest"),
        "is probed on /v2/health/ready",
        ADVICE,
    ),
    Case(
        "gpu-metrics-without-pods",
        _exporter("/var/lib/kubelet/pod-resources"),
        _exporter("/host/proc"),
        "the kubelet's pod-resources socket is not mounted",
        ADVICE,
        alongside=(),
    ),
    # PhenixForge/vllm-serving-kubernetes-platform kubernetes-eks/dcgm-exporter-daemonset.yaml
    Case(
        "gpu-metrics-without-pods",
        _exporter("/var/lib/kubelet/pod-resources", "A", "-f", "/etc/a.csv", "--kubernetes"),
        _exporter("/var/lib/kubelet/pod-resources", "A", "-f", "/etc/a.csv"),
        "does not set DCGM_EXPORTER_KUBERNETES, which is false by default",
        ADVICE,
        alongside=(),
    ),
    # araju6/Distributed-ML-Benchmark k8s/raycluster.yaml
    *(
        Case(
            "ray-ports-collide",
            _ray(kind, **good),
            _ray(kind, port="10001"),
            "starts Ray's control store on port 10001",
            ADVICE,
        )
        for kind, good in (
            ("RayCluster", {"port": "6379"}),
            ("RayJob", {"port": "10001", "ray-client-server-port": "10002"}),
            ("RayService", {}),
        )
    ),
    # sikander098/eks-ray-ai-platform karpenter/gpu-pool.yaml
    Case(
        "user-data-installs-driver",
        _node_class("#!/bin/bash\n# yum install -y cuda-drivers\nyum install -y htop\n"),
        _node_class("#!/bin/bash\nyum install -y nvidia-container-toolkit\n"),
        "installs a driver or the container toolkit, and the image that Karpenter takes for GPUs",
        ADVICE,
        alongside=(),
    ),
    # sbu-fsl/vllm-study kubernetes/gpu-operator/values.yaml
    *(
        Case(
            "chart-program-refuses",
            operator("v26.3.0", {part: {"enabled": True}, "driver": {"enabled": True}}),
            operator(
                "v26.3.0",
                {
                    part: {"enabled": True},
                    "driver": {"enabled": False},
                    "devicePlugin": {"enabled": False},
                },
            ),
            f"requests {name}, which is a container of the driver's pods, and the driver is off",
            ADVICE,
            alongside=(),
        )
        for part, name in (("gds", "GPUDirect Storage"), ("gdrcopy", "GDRCopy"))
    ),
)
