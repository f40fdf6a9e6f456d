"""Where states of the former dynamic provider look for the class of a machine."""

from gpufleet.platforms.vsphere.vcenter.legacy import (
    FormerMachineProvider as VsphereGpuNodeProvider,
)

__all__ = ["VsphereGpuNodeProvider"]
