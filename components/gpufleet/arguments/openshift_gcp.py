"""Inputs of components: what restates `gpufleet.spec.platforms.openshift_gcp`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.openshift import MachineConfigurationArgs, MachineHealthArgs
from gpufleet.arguments.words import (
    MachineRolloutWord,
    OpenShiftGcpOptionsDiskTypeWord,
    OpenShiftGcpOptionsSpotModelWord,
)


class OpenShiftGcpOptionsArgs(TypedDict):
    """Settings for OpenShift on Google Cloud only."""

    rollout: NotRequired[MachineRolloutWord]
    """One of `recreate`, `surge`. How machines are replaced when labels, taints or shape change:
    the machine API never changes existing machines. Default recreate."""
    health: NotRequired[MachineHealthArgs]
    """When machines are replaced. Default: not ready for 5 minutes."""
    machine_config: NotRequired[MachineConfigurationArgs]
    """A separate MachineConfigPool with the pool's name. Default: none, the nodes belong to the
    pool `worker`."""
    image: NotRequired[str]
    """Disk image of Red Hat CoreOS, `projects/P/global/images/I`. Default: the connection's."""
    disk_type: NotRequired[OpenShiftGcpOptionsDiskTypeWord]
    """One of `pd-balanced`, `pd-ssd`, `pd-standard`. Type of the boot disk. Default: `pd-ssd` on
    A3, else `pd-balanced`."""
    spot_model: NotRequired[OpenShiftGcpOptionsSpotModelWord]
    """One of `preemptible`, `spot`. With `capacity: [{spot: {}}]`: `preemptible` machines
    (default) end after at most 24 hours; `spot` machines do not, and need a release whose machine
    API has `provisioningModel`: others ignore the field, and the machines are on demand."""
