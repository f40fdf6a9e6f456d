"""The resources of vSphere that the package's own plugin serves."""

from gpufleet_vcenter.group_provider import VsphereGpuNodeGroupProvider
from gpufleet_vcenter.node import BATCH, GROUP, MACHINE, OWNER
from gpufleet_vcenter.owner_provider import FormerResourceProvider, VsphereGpuNodeOwnerProvider

RESOURCES = {
    GROUP: VsphereGpuNodeGroupProvider(),
    OWNER: VsphereGpuNodeOwnerProvider(),
    MACHINE: FormerResourceProvider(),
    BATCH: FormerResourceProvider(),
}
"""Type -> what its resources do."""
