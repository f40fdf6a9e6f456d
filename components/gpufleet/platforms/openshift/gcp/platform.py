"""What OpenShift on Google Cloud computes from pools and fleets."""

from gpufleet.platforms.openshift.platform import OpenShiftCloudRules

RULES = OpenShiftCloudRules()
