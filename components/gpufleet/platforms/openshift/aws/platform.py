"""Computations of OpenShift on AWS about pools and fleets."""

from gpufleet.platforms.openshift.platform import OpenShiftCloudRules

RULES = OpenShiftCloudRules()
