"""Inputs of a fleet on OpenShift on AWS: the cluster's place there, from the stack file."""

from openshift import connection, providers

__all__ = ["connection", "providers"]
