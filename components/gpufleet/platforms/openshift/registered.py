"""Objects that create nodes on OpenShift; the effect of a difference in one is in
`input_classes.jsonl`.

Changes of a MachineSet only affect machines that are created later (OpenShift documentation,
Modifying a compute machine set), so its name has a digest of their creation settings: another name
is another MachineSet, and the old one's machines are removed. The machine config operator drains
and reboots nodes for every change except keys, pull secrets and registries (machine-config-operator
19917fc, MachineConfigDaemon.md, Machine reboot and Rebootless updates).
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.openshift.artefacts import open_machine_set
from gpufleet.platforms.openshift.machine_clouds import makes_machines, zones_of
from gpufleet.platforms.openshift.machine_config import (
    kubelet_config,
    machine_config,
    machine_config_pool,
)
from gpufleet.platforms.openshift.machine_set_manifest import health_check, machine_autoscaler


def registered(fleet: Fleet, pool: Pool) -> dict[str, Mapping[str, Any]]:
    """Name of each object -> the object."""
    if not makes_machines(pool):
        return {}
    prefix = fleet.spec.resource_prefix
    objects: dict[str, Mapping[str, Any] | None] = {
        "machineConfigPool": machine_config_pool(pool),
        "machineConfig": machine_config(pool),
        "kubeletConfig": kubelet_config(pool),
        "healthCheck": health_check(pool, prefix),
    }
    for zone in zones_of(pool):
        apart = "" if zone is None else f"/{zone}"
        objects[f"machineSet{apart}"] = open_machine_set(fleet, pool, prefix, zone)
        objects[f"machineAutoscaler{apart}"] = machine_autoscaler(pool, prefix, zone)
    return {name: one for name, one in objects.items() if one is not None}
