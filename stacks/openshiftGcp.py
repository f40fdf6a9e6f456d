"""Inputs of a fleet on OpenShift on Google Cloud: the cluster's place there."""

from openshift import connection, providers

__all__ = ["connection", "providers"]
