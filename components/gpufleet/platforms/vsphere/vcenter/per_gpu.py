"""How many vGPUs of a profile one GPU takes, from the catalogue."""

from gpufleet.catalogue import load
from gpufleet.partition.vgpu import most_per_gpu

CATALOGUE = "2026.11"
"""Edition whose vGPU tables say how many fit on a GPU; the hosts say which profiles exist."""


def per_gpu(profile: str) -> int | None:
    """Most vGPUs of a profile on one GPU, all of one size; None where no table says."""
    return most_per_gpu(load(CATALOGUE).gpus.values(), profile)
