"""The admission policies with their defaults, as a user's program installs them."""

import pulumi
import pulumi_kubernetes as kubernetes

from gpufleet_policies.gpu_admission_policies import GpuAdmissionPolicies

cluster = kubernetes.Provider("cluster", kubeconfig="kubeconfig", cluster_identifier="ml")
GpuAdmissionPolicies("gpu", {}, pulumi.ResourceOptions(providers={"kubernetes": cluster}))
