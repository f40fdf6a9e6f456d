"""Cluster-wide components: operators and the objects that they read."""
