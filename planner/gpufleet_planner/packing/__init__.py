"""Packing shares onto GPUs and nodes at least cost, always with a lower bound next to the cost."""
