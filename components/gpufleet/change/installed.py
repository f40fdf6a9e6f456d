"""The add-ons that a fleet installs, as settings of the others have no effect; and classes of
fields whose effect no input of a resource shows, or that do more than files show.

For every other field the inputs and the rendered files are compared. Charts: an upgrade patches the
objects that differ (helm/helm `pkg/kube/client.go`, `updateResource`), and the controllers of
Deployments and DaemonSets replace pods whose template differs.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic.alias_generators import to_snake

from gpufleet.catalogue.edition import read_rows
from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Fleet
from gpufleet.render.dra_driver_values import needs_dra_driver
from gpufleet.spec.addons import Addon
from gpufleet.spec.pool import Fabric, Provisioner

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


def installed(fleet: Fleet, section: str) -> bool:
    """Whether the add-on of a section of `addons` may be installed. If only the platform decides
    that, an add-on counts as installed unless it is switched off."""
    plans, addon = fleet.addons, declared_addon(fleet, section)
    provisioners = {pool.provisioner for pool in fleet.pools}
    decided = {
        "gpuOperator": plans.gpu_operator.enabled,
        "networkOperator": plans.network_operator.enabled,
        "devicePlugin": plans.device_plugin.enabled,
        "neuronDevicePlugin": plans.neuron.enabled,
        "draDriver": needs_dra_driver(fleet),
        "karpenter": Provisioner.KARPENTER in provisioners,
        "clusterAutoscaler": Provisioner.CLUSTER_AUTOSCALER in provisioners,
        "efaDevicePlugin": any(pool.fabric is Fabric.EFA for pool in fleet.pools),
        "kueue": fleet.spec.queues is not None,
        "keda": addon.enabled is True,
    }
    return (decided.get(section, True) and addon.enabled is not False) or addon.enabled is True


def declared_addon(fleet: Fleet, section: str) -> Addon:
    """The declared settings of an add-on."""
    addon: Addon = getattr(fleet.spec.addons, to_snake(section))
    return addon
