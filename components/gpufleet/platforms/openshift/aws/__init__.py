"""OpenShift on AWS."""
