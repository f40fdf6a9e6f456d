"""Kinds that make no pods -> how they are read, by group and kind in any version."""

from collections.abc import Callable, Iterator
from typing import Any

from gpufleet.findings.locator import Locator
from gpufleet_policies.readers import (
    cluster_api,
    cluster_objects,
    compute_class,
    eksctl,
    karpenter,
    kueue,
    nodes,
    nvidia_configs,
    nvidia_objects,
    openshift,
    releases,
    train_jobs,
)
from gpufleet_policies.wrappers.registry import OBJECTS

Reader = Callable[[dict[str, Any], Locator], Iterator[Any]]


READERS: dict[tuple[str, str], Reader] = {
    ("", "ConfigMap"): nvidia_configs.config_map,
    ("", "Node"): nodes.node,
    ("", "Namespace"): cluster_objects.namespace,
    ("", "ResourceQuota"): cluster_objects.quota,
    ("apps", "DaemonSet"): cluster_objects.exporter,
    ("apps", "Deployment"): cluster_objects.exporter,
    ("karpenter.sh", "NodePool"): karpenter.node_pool,
    ("karpenter.sh", "NodeOverlay"): karpenter.node_overlay,
    ("karpenter.k8s.aws", "EC2NodeClass"): karpenter.node_class,
    ("karpenter.azure.com", "AKSNodeClass"): karpenter.other_class,
    ("karpenter.k8s.gcp", "GCENodeClass"): karpenter.other_class,
    ("cluster.x-k8s.io", "MachineDeployment"): cluster_api.machine_set,
    ("cluster.x-k8s.io", "MachineSet"): cluster_api.machine_set,
    ("cluster.x-k8s.io", "MachinePool"): cluster_api.machine_set,
    ("infrastructure.cluster.x-k8s.io", "AWSMachineTemplate"): cluster_api.aws_template,
    ("infrastructure.cluster.x-k8s.io", "AWSMachinePool"): cluster_api.aws_template,
    ("infrastructure.cluster.x-k8s.io", "AWSManagedMachinePool"): cluster_api.aws_template,
    ("infrastructure.cluster.x-k8s.io", "VSphereMachineTemplate"): cluster_api.vsphere_template,
    ("cloud.google.com", "ComputeClass"): compute_class.compute_class,
    ("eksctl.io", "ClusterConfig"): eksctl.cluster_config,
    ("machine.openshift.io", "MachineSet"): openshift.machine_set,
    ("machine.openshift.io", "MachineHealthCheck"): openshift.health_check,
    ("autoscaling.openshift.io", "MachineAutoscaler"): openshift.machine_autoscaler,
    ("kueue.x-k8s.io", "ClusterQueue"): kueue.cluster_queue,
    ("kueue.x-k8s.io", "Cohort"): kueue.cohort,
    ("kueue.x-k8s.io", "LocalQueue"): kueue.local_queue,
    ("kueue.x-k8s.io", "ResourceFlavor"): kueue.resource_flavor,
    ("kueue.x-k8s.io", "AdmissionCheck"): kueue.admission_check,
    ("scheduling.run.ai", "Queue"): kueue.kai_queue,
    ("trainer.kubeflow.org", "TrainJob"): train_jobs.trainer_object,
    ("trainer.kubeflow.org", "TrainingRuntime"): train_jobs.trainer_object,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): train_jobs.trainer_object,
    ("nvidia.com", "ClusterPolicy"): nvidia_objects.cluster_policy,
    ("mellanox.com", "NicClusterPolicy"): nvidia_objects.nic_policy,
    ("kustomize.config.k8s.io", "Kustomization"): releases.releases,
    ("kustomize.config.k8s.io", "Component"): releases.releases,
    **dict.fromkeys(OBJECTS, releases.releases),
}
"""Group and kind -> reader."""
