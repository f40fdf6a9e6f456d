"""Files of a fleet on OpenShift on AWS."""

from gpufleet.platforms.openshift.artefacts import FILES

__all__ = ["FILES"]
