"""How much 64-bit memory-mapped I/O space a machine with GPUs needs."""

from collections.abc import Sequence


def mmio_gib(frame_buffers_gib: Sequence[int]) -> int:
    """GiB for `pciPassthru.64bitMMIOSizeGB`: a power of two, more than the sum of the GPUs' BARs.

    Each BAR is the smallest power of two that holds the physical GPU's memory; for vGPU the
    physical GPU counts, not the profile. Agrees with NVIDIA's table for single GPUs (24 GB -> 64,
    40 and 48 -> 128, 80 to 96 -> 256, 141 -> 512) and VMware's examples with several (NVIDIA AI
    Enterprise vGPU requirements and VMware's notes on large memory-mapped GPUs, read 2026-11-21).

    Args:
        frame_buffers_gib: Memory of each physical GPU in GB as sold, at least one.
    """
    if not frame_buffers_gib or min(frame_buffers_gib) < 1:
        raise ValueError(f"frame buffers must be at least 1 GB each, found {frame_buffers_gib}")
    total = sum(_power_at_least(size) for size in frame_buffers_gib)
    return 1 << total.bit_length()


def _power_at_least(value: int) -> int:
    return 1 << (value - 1).bit_length()
