"""Three kinds of GPU work on the sandbox's fleet: shared, sliced and whole GPUs."""

import os

import pulumi
import pulumi_kubernetes as kubernetes
import workloads

cluster = kubernetes.Provider(
    "cluster", kubeconfig=os.environ["KUBECONFIG"], cluster_identifier="sandbox"
)
options = pulumi.ResourceOptions(provider=cluster)
namespace = kubernetes.core.v1.Namespace("workloads", metadata={"name": "workloads"}, opts=options)
placed = pulumi.ResourceOptions(provider=cluster, depends_on=[namespace])
workloads.small_models(placed)
workloads.notebooks(placed)
workloads.training(placed)
