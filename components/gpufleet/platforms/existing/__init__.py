"""Nodes that somebody else made, in any cluster: gpufleet sees to everything above the machine."""
