"""The resources of vSphere that the package's own plugin implements."""

from gpufleet_vcenter.group_provider import (
    FormerResourceProvider,
    VsphereGpuNodeGroupProvider,
    VsphereGpuNodeOwnerProvider,
)
from gpufleet_vcenter.node import BATCH, GROUP, MACHINE, OWNER

RESOURCES = {
    GROUP: VsphereGpuNodeGroupProvider(),
    OWNER: VsphereGpuNodeOwnerProvider(),
    MACHINE: FormerResourceProvider(),
    BATCH: FormerResourceProvider(),
}
"""Type -> its implementation."""
