"""Existing nodes in any cluster: gpufleet manages everything above the machine."""
