"""Verdicts on someone's NVIDIA configuration, before it wedges a node: one file per kind."""
