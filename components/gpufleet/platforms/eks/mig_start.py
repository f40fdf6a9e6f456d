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

from collections.abc import Mapping

from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEPLOY_DEVICE_PLUGIN_LABEL,
    MIG_CONFIG_LABEL,
)
from gpufleet.fleet.model import Pool

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
