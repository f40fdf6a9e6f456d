"""New nodes with MIG: the time between their registration and their first layout.

The device plugin of the GPU Operator starts first and advertises whole GPUs, which pods use before
the MIG manager changes the mode (NVIDIA/gpu-operator#2670). The MIG manager sets the plugin's node
label to `paused-for-mig-change` for the time of each change and afterwards to `true`, also when
the change fails or nothing had to change (NVIDIA/mig-parted 1b7e764 `pkg/mig/reconfigure/
reconfigure.go` setState, maybeSetTrue). The operator keeps an existing value
(NVIDIA/gpu-operator `controllers/state_manager.go` addGPUStateLabels). Neither the MIG manager nor
GPU Feature Discovery, on which it depends, waits for the plugin (same repository,
`assets/state-mig-manager`, `assets/gpu-feature-discovery`).
"""

from collections.abc import Iterable, Mapping, Sequence

from gpufleet.contract.owners import Owner
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEPLOY_DEVICE_PLUGIN_LABEL,
    MIG_CONFIG_LABEL,
)
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership

_finding = findings_in(__file__)

PAUSED = "paused-for-mig-change"


def start_labels(pool: Pool, labels: Mapping[str, str]) -> dict[str, str]:
    """Labels that new nodes register with in addition to `labels`, and that change soon after.

    They must not be labels of a node group: EKS also sets those on running nodes, where no change
    of the layout would end the pause.
    """
    waits = labels.get(MIG_CONFIG_LABEL, ALL_DISABLED) != ALL_DISABLED
    if not waits or not pool.plugin_waits or DEPLOY_DEVICE_PLUGIN_LABEL in labels:
        return {}
    return {DEPLOY_DEVICE_PLUGIN_LABEL: PAUSED}


def validate_mig_start(pools: Sequence[Pool]) -> Iterable[Finding]:
    """The MIG manager stops the kubelet if the image contains the driver (same file,
    checkMigModeChangeRequired; gpu-operator `assets/state-mig-manager/0420_configmap.yaml`)."""
    for pool in pools:
        if (
            pool.plugin_waits
            and pool.partition.mig_enabled
            and pool.ownership is not Ownership.EXISTING
            and pool.owners.driver is Owner.IMAGE
            and pool.image is not None
            and pool.image.key.startswith("al2023")
        ):
            yield _finding("mig-change-stops-kubelet", pool.path, pool=pool.name)
