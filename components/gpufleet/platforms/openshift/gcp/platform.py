"""Computations of OpenShift on Google Cloud about pools and fleets."""

from gpufleet.platforms.openshift.platform import OpenShiftCloudRules

RULES = OpenShiftCloudRules()
