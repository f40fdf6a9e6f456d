"""OpenShift on Google Cloud."""
