"""What OpenShift's machine API does with broken nodes."""

from collections.abc import Mapping

from gpufleet.contract.health import Repairer
from gpufleet.spec.pool_kinds import Provisioner

HEALTH_CHECK = Repairer(
    who="a MachineHealthCheck",
    watches="a node that is not ready, and a machine that becomes no node",
    repairs="deletes the machine, whose MachineSet makes another",
    cannot="see a broken GPU while the node is ready",
    after="`health.unhealthySeconds` of the pool's machines, 5 minutes by default",
    keeps="nothing without `maxUnhealthy`",
    source="openshift/machine-api-operator 7dc0e85; Red Hat documentation, MachineHealthCheck, "
    "maxUnhealthy",
    sets_floor=True,
    sets_pace=True,
)

REPAIRERS: Mapping[Provisioner, Repairer] = dict.fromkeys(
    (Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER), HEALTH_CHECK
)
