"""What OpenShift on AWS computes from pools and fleets."""

from gpufleet.platforms.openshift.platform import OpenShiftCloudRules

RULES = OpenShiftCloudRules()
