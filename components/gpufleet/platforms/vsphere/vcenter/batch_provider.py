"""Where states of the former dynamic provider look for the class of a batch."""

from gpufleet.platforms.vsphere.vcenter.legacy import (
    FormerBatchProvider as VsphereGpuNodeBatchProvider,
)

__all__ = ["VsphereGpuNodeBatchProvider"]
