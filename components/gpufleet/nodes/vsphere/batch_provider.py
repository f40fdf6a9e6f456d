"""The former module of the batches' provider: states name the class by it."""

from gpufleet.platforms.vsphere.vcenter.batch_provider import VsphereGpuNodeBatchProvider

__all__ = ["VsphereGpuNodeBatchProvider"]
