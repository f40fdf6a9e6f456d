"""Virtual machines with GPUs on vCenter: what a node is, where it can go, and how it is made.

Files that import pyVmomi: `session`, `reading`, `tasks`, `lookup`, `observed`, `specs`, and the
operations on top of them. Everything else is plain data and arithmetic.
"""
