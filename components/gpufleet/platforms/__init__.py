"""Platforms on which a fleet can create nodes: one folder each, registered in `registry`."""
