"""Every component that no shipped program makes by itself, as a user's program makes it."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

from gpufleet import (
    ClusterAutoscaler,
    DevicePlugin,
    DraDriver,
    EfaDevicePlugin,
    EksGpuNodeGroup,
    GpuAddons,
    GpuMonitoring,
    GpuOperator,
    GpuScaledObject,
    Karpenter,
    KarpenterGpuNodePool,
    Keda,
    KueueQueues,
    NetworkOperator,
    NeuronDevicePlugin,
    NimOperator,
    NimService,
    NodeMonitoringAgent,
    OlmOperator,
    SimulatedGpuNodePool,
)

CATALOGUE = {"catalogue": "2026.11"}
ROLE = "arn:aws:iam::123456789012:role/nodes"
PROMETHEUS = "http://prometheus.monitoring.svc:9090"
CHAT = {
    "name": "chat",
    "gpu": "L4",
    "nodes": {"min": 1, "max": 8},
    "sharing": {"time_slicing": {"replicas": 4}},
}
CLAIMS = {
    "name": "claims",
    "instance_types": ["p5.48xlarge"],
    "nodes": {"min": 0, "max": 2},
    "sharing": {"dra": {"namespaces": ["research"]}},
}
NEURON = {"name": "inferentia", "instance_types": ["inf2.xlarge"], "nodes": {"min": 0, "max": 2}}
TARGET = {"target": {"name": "chat", "namespace": "product"}, "max": 8}

account = aws.Provider("account", region="us-east-1")
cluster = kubernetes.Provider("cluster", kubeconfig="kubeconfig", cluster_identifier="ml")
both = pulumi.ResourceOptions(providers={"aws": account, "kubernetes": cluster})
on_cluster = pulumi.ResourceOptions(provider=cluster)
on_eks = {**CATALOGUE, "platform": "eks", "region": "us-east-1"}
join = {
    **CATALOGUE,
    "region": "us-east-1",
    "cluster_name": "ml",
    "node_role_arn": ROLE,
    "subnet_ids_by_zone": {"us-east-1a": "subnet-aaaa", "us-east-1b": "subnet-bbbb"},
    "vpc_id": "vpc-aaaa",
    "cluster_security_group_id": "sg-aaaa",
}

operator = GpuOperator(
    "gpu-operator",
    {
        **CATALOGUE,
        "settings": {
            "driver": {"enabled": False},
            "toolkit": {"enabled": False},
            "dcgm_exporter": {"service_monitor": {"interval": "30s"}},
        },
        "mig_strategy": "mixed",
    },
    on_cluster,
)
DevicePlugin("plugin", {**CATALOGUE, "config": "sharing", "pools": ["chat"]}, on_cluster)
DraDriver("dra", {**on_eks, "pools": [CLAIMS]}, on_cluster)
EfaDevicePlugin("efa", {**CATALOGUE, "instance_types": ["p5.48xlarge"]}, on_cluster)
NeuronDevicePlugin(
    "neuron",
    {**CATALOGUE, "scheduler": True, "instance_types": ["trn2.48xlarge"]},
    on_cluster,
)
NetworkOperator(
    "network",
    {
        **CATALOGUE,
        "settings": {
            "ofed": "operator",
            "rdma": [{"name": "rail_a", "pods_per_node": 8, "selectors": {"vendors": ["15b3"]}}],
            "macvlan": [{"name": "storage", "ipam": {"type": "nv-ipam", "poolName": "storage"}}],
        },
    },
    on_cluster,
)
NodeMonitoringAgent("agent", {"cluster_name": "ml"}, both)
OlmOperator(
    "olm",
    {**CATALOGUE, "operator": "gpu-operator", "settings": {"approval": "manual"}},
    on_cluster,
)
keda = Keda("keda", CATALOGUE, on_cluster)
GpuScaledObject(
    "chat-scaled",
    {
        "scaling": {
            **TARGET,
            "min": 0,
            "server": PROMETHEUS,
            "on": [{"signal": "queueLength", "target": 8, "query": "sum(waiting)"}],
            "secrets": [{"parameter": "bearerToken", "secret": "thanos", "key": "token"}],
            "auth_modes": "bearer",
        }
    },
    pulumi.ResourceOptions(provider=cluster, depends_on=[keda]),
)
nim = NimOperator("nim", CATALOGUE, on_cluster)
NimService(
    "llama",
    {
        "nim": {
            "name": "llama",
            "namespace": "product",
            "image": "nvcr.io/nim/meta/llama-3.2-1b-instruct",
            "tag": "1.8.4",
            "pool": "slices",
            "resource": "nvidia.com/mig-2g.20gb",
            "model": {"engine": "vllm", "precision": "bf16"},
            "storage": {"size_gib": 50},
        }
    },
    pulumi.ResourceOptions(provider=cluster, depends_on=[nim]),
)
GpuMonitoring(
    "monitoring",
    {**on_eks, "pools": [CHAT], "monitoring": {"labels": {"release": "kube-prometheus-stack"}}},
    on_cluster,
)
KueueQueues(
    "queues",
    {
        **on_eks,
        "pools": [CHAT],
        "queues": {
            "teams": [{"name": "research", "share": 0.6}, {"name": "product", "share": 0.4}]
        },
    },
    on_cluster,
)
addons = GpuAddons("addons", {**on_eks, "pools": [CHAT, NEURON]}, on_cluster)
karpenter = Karpenter(
    "karpenter",
    {
        **CATALOGUE,
        "cluster_name": "ml",
        "region": "us-east-1",
        "node_role_arn": ROLE,
        "node_overlay": True,
    },
    both,
)
waits = pulumi.ResourceOptions(
    providers={"aws": account, "kubernetes": cluster}, depends_on=[karpenter, addons]
)
KarpenterGpuNodePool("chat", {**join, "pool": CHAT}, waits)
ClusterAutoscaler(
    "autoscaler",
    {
        **CATALOGUE,
        "cluster_name": "ml",
        "region": "us-east-1",
        "settings": {"expander": "priority"},
    },
    both,
)
EksGpuNodeGroup("chat-group", {**join, "pool": CHAT}, waits)
SimulatedGpuNodePool("chat-simulated", {**CATALOGUE, "pool": CHAT}, on_cluster)
