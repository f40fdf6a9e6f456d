"""Files of a fleet on OpenShift on Google Cloud."""

from gpufleet.platforms.openshift.artefacts import FILES

__all__ = ["FILES"]
