"""The former module of the machines' provider: states name the class by it."""

from gpufleet.platforms.vsphere.vcenter.provider import VsphereGpuNodeProvider

__all__ = ["VsphereGpuNodeProvider"]
