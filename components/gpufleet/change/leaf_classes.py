"""Classes of fields that are the same on every platform. What is not here, and not in the table of
the platform (`PlatformRules.leaf_classes`), is unknown.

Charts: an upgrade patches the objects that differ (helm/helm `pkg/kube/client.go`,
`updateResource`), and the controllers of Deployments and DaemonSets replace pods whose
template differs.
"""

from collections.abc import Mapping
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.spec.base import Platform

ADDONS = (
    *("gpuOperator", "networkOperator", "devicePlugin", "draDriver", "karpenter"),
    *("clusterAutoscaler", "efaDevicePlugin", "nodeMonitoringAgent", "neuronDevicePlugin"),
    *("kueue", "keda"),
)
"""Sections of `addons` that install something."""


def _classes(of: str) -> Mapping[str, LeafClass]:
    rows = read_rows(Path(__file__).parent, "leaf_classes")
    return {row["path"]: LeafClass(row["class"]) for row in rows if row["of"] == of}


CLUSTER = _classes("cluster")
"""Path from the root of the declaration -> class, for fields outside pools. GDS and GDRCopy are
containers of the driver's pods (NVIDIA/gpu-operator v26.7.0
`assets/state-driver/0500_daemonset.yaml`), which a registry and a proxy reach too."""
POOL = {
    **dict.fromkeys((platform.value for platform in Platform), LeafClass.COMPILED),
    **_classes("pool"),
}
"""Path inside a pool -> class: `compiled` where the whole effect of a field is in the inputs of its
resources, or in files. A field that is added to the declaration is unknown until it is here or in a
platform's table. The vGPU scheduler is a setting of hosts, which restart for it."""
