"""Classes of fields whose effect no input of a resource shows, or that do more than files show.
For every other field the inputs and the rendered files are compared.

Charts: an upgrade patches the objects that differ (helm/helm `pkg/kube/client.go`,
`updateResource`), and the controllers of Deployments and DaemonSets replace pods whose
template differs.
"""

from collections.abc import Mapping
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.fleet.leaf_class import LeafClass

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
`assets/state-driver/0500_daemonset.yaml`), for which a registry and a proxy also apply."""
POOL = _classes("pool")
"""Path inside a pool -> class. The vGPU scheduler is a setting of hosts, which restart for it."""
