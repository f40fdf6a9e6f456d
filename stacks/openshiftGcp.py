"""What a fleet on OpenShift on Google Cloud is given: the cluster's place there."""

from openshift import connection, providers

__all__ = ["connection", "providers"]
