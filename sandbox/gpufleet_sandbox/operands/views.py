"""From API objects to the plain views that decisions are made on."""

from collections.abc import Iterable, Mapping
from typing import Any

from gpufleet_sandbox.operands.cluster import ClusterView, NodeView
from gpufleet_sandbox.operands.cluster_policy import CLUSTER_POLICY_NAME, read_cluster_policy
from gpufleet_sandbox.operands.dra_driver import read_dra_driver
from gpufleet_sandbox.operands.informer import Key
from gpufleet_sandbox.operands.neuron import read_neuron_plugin
from gpufleet_sandbox.operands.plugin_chart import read_plugin_chart
from gpufleet_sandbox.operands.rdma_plugin import RdmaPlugin

NAME_LABEL = "app.kubernetes.io/name"
OPERATOR_NAME = "gpu-operator"
DISCOVERY_NAME = "node-feature-discovery"

Objects = Mapping[Key, dict[str, Any]]


def node_view(node: Mapping[str, Any]) -> NodeView:
    """The parts of a Node the operands look at."""
    metadata, status = node["metadata"], node.get("status", {})
    return NodeView(
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        capacity=status.get("capacity") or {},
        allocatable=status.get("allocatable") or {},
        taints=tuple((node.get("spec") or {}).get("taints") or ()),
    )


def cluster_view(
    policies: Objects,
    deployments: Objects,
    config_maps: Objects,
    rdma: RdmaPlugin | None = None,
) -> ClusterView:
    """The parts of the cluster the operands look at. A Deployment of no replicas does nothing."""
    policy = policies.get(("", CLUSTER_POLICY_NAME))
    namespace = next(
        (
            namespace
            for (namespace, _), item in sorted(deployments.items())
            if _is(item, OPERATOR_NAME)
        ),
        None,
    )
    discovery = any(_is(item, DISCOVERY_NAME) for item in deployments.values())
    return ClusterView(
        policy=None if policy is None else read_cluster_policy(policy),
        operator_namespace=namespace,
        feature_discovery=discovery,
        config_maps={
            name: item.get("data") or {}
            for (ns, name), item in config_maps.items()
            if ns == namespace
        },
        plugin_chart=read_plugin_chart(config_maps),
        dra=read_dra_driver(config_maps.values()),
        rdma=rdma,
        neuron=read_neuron_plugin(config_maps),
    )


def gpu_pod_names(pods: Iterable[Mapping[str, Any]], made: str = "") -> list[str]:
    """Pods that hold a GPU: not ended, and with a request of one of NVIDIA's resources.

    A machine that replaces another of its name runs none of the processes of the first, whose pods
    the API server still lists for a while.

    Args:
        pods: Pods bound to the node.
        made: When the node was made, as Kubernetes writes it; pods that started before are skipped.
    """
    return [
        f"{pod['metadata'].get('namespace')}/{pod['metadata']['name']}"
        for pod in pods
        if _holds_gpu(pod) and not _started_before(pod, made)
    ]


def _holds_gpu(pod: Mapping[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") not in ("Succeeded", "Failed") and _asks_gpu(pod)


def _started_before(pod: Mapping[str, Any], made: str) -> bool:
    started = pod.get("status", {}).get("startTime")
    # Both in UTC and to the second: they compare as texts.
    return started is not None and started < made


def _asks_gpu(pod: Mapping[str, Any]) -> bool:
    spec = pod.get("spec", {})
    for container in [*spec.get("containers", []), *spec.get("initContainers", [])]:
        resources = container.get("resources", {})
        for name in {**resources.get("requests", {}), **resources.get("limits", {})}:
            if name.startswith("nvidia.com/"):
                return True
    return False


def _is(deployment: Mapping[str, Any], name: str) -> bool:
    labels = deployment["metadata"].get("labels") or {}
    return labels.get(NAME_LABEL) == name and deployment.get("spec", {}).get("replicas", 1) > 0
