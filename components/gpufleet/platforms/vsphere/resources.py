"""The resources of vSphere that the package's own plugin serves."""

from gpufleet.platforms.vsphere.vcenter.group_provider import VsphereGpuNodeGroupProvider
from gpufleet.platforms.vsphere.vcenter.legacy import FormerBatchProvider, FormerMachineProvider
from gpufleet.platforms.vsphere.vcenter.node import BATCH, GROUP, MACHINE, OWNER
from gpufleet.platforms.vsphere.vcenter.owner_provider import VsphereGpuNodeOwnerProvider

RESOURCES = {
    GROUP: VsphereGpuNodeGroupProvider(),
    OWNER: VsphereGpuNodeOwnerProvider(),
    MACHINE: FormerMachineProvider(),
    BATCH: FormerBatchProvider(),
}
"""Type -> what its resources do."""
