"""Classes of fields that are the same on every platform. What is not here, and not in the table of
the platform (`PlatformRules.leaf_classes`), is unknown.

Charts: an upgrade patches the objects that differ (helm/helm `pkg/kube/client.go`,
`updateResource`), and the controllers of Deployments and DaemonSets replace pods whose
template differs.
"""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.spec.base import Platform

_OPERATOR = "addons.gpuOperator.driver"
_OFED = "addons.networkOperator.ofedDriver"
_PACING = ("upgradePolicy.autoUpgrade", "upgradePolicy.maxParallelUpgrades")

_COMPILED = (
    *("catalogue", "catalogueOverlay", "platform", "environment", "cluster.name"),
    *("cluster.region", "cluster.project", "cluster.autopilot", "provisioner"),
    *("namePrefix", "tags"),
)
"""What pools and files are made of: their inputs show what it does."""

ADDONS = (
    *("gpuOperator", "networkOperator", "devicePlugin", "draDriver", "karpenter"),
    *("clusterAutoscaler", "efaDevicePlugin", "nodeMonitoringAgent", "neuronDevicePlugin"),
    *("kueue", "keda"),
)
"""Sections of `addons` that install something."""

CLUSTER: Mapping[str, LeafClass] = {
    **dict.fromkeys(_COMPILED, LeafClass.COMPILED),
    "budget": LeafClass.NONE,
    "prices": LeafClass.NONE,
    "cluster.kubernetesVersion": LeafClass.CONTROL_PLANE,
    "queues": LeafClass.LIVE,
    "monitoring": LeafClass.LIVE,
    **{f"addons.{name}": LeafClass.OPERAND for name in ADDONS},
    _OPERATOR: LeafClass.DRIVER,
    f"{_OPERATOR}.upgradePolicy": LeafClass.LIVE,
    "addons.gpuOperator.gds": LeafClass.DRIVER,
    "addons.gpuOperator.gdrcopy": LeafClass.DRIVER,
    "addons.networkOperator.ofed": LeafClass.DRIVER,
    _OFED: LeafClass.DRIVER,
    **{f"{_OFED}.{key}": LeafClass.LIVE for key in _PACING},
    f"{_OFED}.upgradePolicy.drain": LeafClass.LIVE,
    "addons.networkOperator.wait": LeafClass.LIVE,
    "addons.karpenter.accessEntry": LeafClass.LIVE,
    "addons.gpuDirect": LeafClass.OPERAND,
    "addons.driverInstaller": LeafClass.OPERAND,
    "addons.olm": LeafClass.OPERAND,
    "addons.olm.approval": LeafClass.LIVE,
    "addons.olm.waitMinutes": LeafClass.LIVE,
    "addons.charts": LeafClass.OPERAND,
    "addons.images": LeafClass.OPERAND,
    "addons.images.registry": LeafClass.DRIVER,
    "addons.images.profile": LeafClass.DRIVER,
    "addons.images.proxy": LeafClass.DRIVER,
}
"""Path from the root of the declaration -> class, for fields outside pools. GDS and GDRCopy are
containers of the driver's pods (NVIDIA/gpu-operator v26.7.0
`assets/state-driver/0500_daemonset.yaml`), which a registry and a proxy reach too."""

_SHOWN_BY_INPUTS = (
    *("gpu", "instanceTypes", "gpusPerNode", "nodes", "intent", "provisioner", "capacity"),
    *("sharing", "fabric", "ownership", "importId", "image", "zones", "disk", "labels"),
    *("gpuTaint", "taints", "team", "neuron", "karpenter", "kubelet"),
    *(platform.value for platform in Platform),
)
"""Fields of a pool whose whole effect is in the inputs of its resources, or in files. One that is
added to the declaration is unknown until it is here or in a table."""

POOL: Mapping[str, LeafClass] = {
    **dict.fromkeys(_SHOWN_BY_INPUTS, LeafClass.COMPILED),
    "change": LeafClass.LIVE,
    "maintenance": LeafClass.LIVE,
    "commitments": LeafClass.LIVE,
    "idle": LeafClass.LIVE,
    "storage": LeafClass.LIVE,
    "nodes.expected": LeafClass.NONE,
    "sharing.vgpu.scheduler": LeafClass.RESTART,
    "sharing.vgpu.timeSliceMs": LeafClass.RESTART,
}
"""Path inside a pool -> class. The vGPU scheduler is a setting of hosts, which restart for it."""
