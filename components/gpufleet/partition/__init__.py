"""Partitions of a GPU and the resources that the node advertises: geometry with proof.

The package itself imports none of its modules: geometry (`placement`, `nearest`) needs none of the
declarations' models, whose import takes a third of a second.
"""
