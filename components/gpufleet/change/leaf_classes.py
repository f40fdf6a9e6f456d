"""Classes of fields that are the same on every platform. What is not here, and not in the table of
the platform (`PlatformRules.leaf_classes`), is unknown."""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass

_CHARTS = (
    *("gpuOperator", "networkOperator", "devicePlugin", "draDriver", "karpenter"),
    *("clusterAutoscaler", "efaDevicePlugin", "nodeMonitoringAgent", "neuronDevicePlugin"),
    *("kueue", "keda"),
)

CLUSTER: Mapping[str, LeafClass] = {
    "budget": LeafClass.NONE,
    "prices": LeafClass.NONE,
    "cluster.kubernetesVersion": LeafClass.CONTROL_PLANE,
    "queues": LeafClass.LIVE,
    "monitoring": LeafClass.LIVE,
    "addons.gpuOperator": LeafClass.OPERAND,
    "addons.gpuOperator.driver": LeafClass.DRIVER,
    "addons.gpuOperator.enabled": LeafClass.UNKNOWN,
    "addons.gpuOperator.ownership": LeafClass.UNKNOWN,
    **{f"addons.{name}.version": LeafClass.OPERAND for name in _CHARTS},
    **{f"addons.{name}.values": LeafClass.OPERAND for name in _CHARTS},
}
"""Path from the root of the declaration -> class, for fields outside pools. Charts: a Helm upgrade
replaces the pods of each workload whose template differs (helm/helm v3 `pkg/action/upgrade.go`)."""

POOL: Mapping[str, LeafClass] = {
    "change": LeafClass.LIVE,
    "gpu": LeafClass.COMPILED,
    "gpusPerNode": LeafClass.COMPILED,
    "instanceTypes": LeafClass.COMPILED,
    "sharing": LeafClass.COMPILED,
    "nodes": LeafClass.LIVE,
    "nodes.expected": LeafClass.NONE,
}
"""Path inside a pool -> class."""
