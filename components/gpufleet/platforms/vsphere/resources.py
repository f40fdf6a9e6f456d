"""The resources of vSphere that the package's own plugin implements."""

from pulumi.dynamic import ResourceProvider

from gpufleet_vcenter.group_provider import (
    VsphereGpuNodeGroupProvider,
    VsphereGpuNodeOwnerProvider,
)
from gpufleet_vcenter.node import BATCH, GROUP, MACHINE, OWNER

RESOURCES = {
    GROUP: VsphereGpuNodeGroupProvider(),
    OWNER: VsphereGpuNodeOwnerProvider(),
    MACHINE: ResourceProvider(),
    BATCH: ResourceProvider(),
}
"""Type -> its implementation; the types of earlier versions are records, and nothing is done."""
