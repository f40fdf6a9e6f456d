"""The add-ons that a fleet installs: settings of the others have no effect."""

from pydantic.alias_generators import to_snake

from gpufleet.fleet.model import Fleet
from gpufleet.render.dra_driver_values import needs_dra_driver
from gpufleet.spec.addons import Addon
from gpufleet.spec.pool import Fabric, Provisioner


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
