"""Platforms whose nodes a fleet can make: one folder each, found through `registry`."""
