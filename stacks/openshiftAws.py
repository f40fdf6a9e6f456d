"""What a fleet on OpenShift on AWS is given: the cluster's place there, as the file says it."""

from openshift import connection, providers

__all__ = ["connection", "providers"]
