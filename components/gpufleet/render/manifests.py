"""Kubernetes objects of our own making for the GPU Operator and the Network Operator: namespaces,
ConfigMaps, policy and secondary networks; and the values of their charts."""

from typing import Any

from gpufleet.fleet.chart_values import merged
from gpufleet.fleet.gpu_operator_chart import operator_values
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.manifest import manifest
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, Fleet
from gpufleet.fleet.nic_cluster_policy import network_operator_values, networks, policy
from gpufleet.render.data_files import data_part
from gpufleet.render.gpu_operator_values import (
    ConfigFiles,
    fleet_operator_settings,
    mig_parted_files,
    plugin_files,
)

PRIVILEGED = {"pod-security.kubernetes.io/enforce": "privileged"}
"""Operands of both mount host paths and load kernel modules (NVIDIA GPU Operator documentation,
NVIDIA Network Operator documentation)."""


def operands_namespace(name: str) -> dict[str, Any]:
    """The namespace of an operator."""
    return manifest("v1", "Namespace", name, labels=PRIVILEGED)


def critical_pods_quota(fleet: Fleet, name: str, namespace: str) -> dict[str, Any] | None:
    """Quota that permits critical pods in a namespace; pods of the GPU Operator and of NVIDIA's DRA
    driver are critical by the defaults of their charts. None: not needed. Some platforms admit pods
    of the two system priority classes only if a quota counts them."""
    if not fleet.platform.facts.quota_for_critical_pods:
        return None
    return manifest("v1", "ResourceQuota", name, namespace, spec=data_part("quota", "critical"))


def config_map(files: ConfigFiles, namespace: Any) -> dict[str, Any]:
    """Files as a ConfigMap. It is immutable: its name changes with its data, as the operands notice
    nothing else. The namespace may be an Output."""
    data = dict(files.data)
    return manifest("v1", "ConfigMap", files.name, namespace, immutable=True, data=data)


def gpu_operator_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of the operator's chart with the ConfigMaps named, and the declared `values` last."""
    named = {
        "devicePlugin": {"config": {"name": plugin_files(fleet).name}},
        "migManager": {"config": {"name": mig_parted_files(fleet).name}},
    }
    values = merged(operator_values(fleet_operator_settings(fleet)), named)
    return with_images(fleet, GPU_OPERATOR, merged(values, fleet.spec.addons.gpu_operator.values))


def network_release_values(fleet: Fleet) -> dict[str, Any]:
    """Values of its chart, the declared `values` merged last."""
    values = network_operator_values(fleet.spec.addons, fleet.addons.network_operator)
    return with_images(fleet, NETWORK_OPERATOR, values)


def nic_cluster_policy(fleet: Fleet) -> dict[str, Any] | None:
    """Its NicClusterPolicy; None: not needed."""
    return policy(fleet.spec.addons, fleet.addons.network_operator)


def secondary_networks(fleet: Fleet) -> list[dict[str, Any]]:
    """The networks that pods may join next to the cluster's own."""
    return networks(fleet.spec.addons.network_operator)
