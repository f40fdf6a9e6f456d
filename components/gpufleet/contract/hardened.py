"""NVIDIA's government-ready driver containers, hardened for FIPS 140 and DISA STIG.

Sources, read 2026-11-23: NVIDIA/cloud-native-docs 365978c
`gpu-operator/install-gpu-operator-gov-ready.rst` (image, version, Secrets, what is not supported),
its page for OpenShift, and NVIDIA's `install-network-operator-gov-ready.rst`. All other containers
that NVIDIA lists as government-ready are those of the charts.
"""

SUFFIX = "-stig-fips"
"""Suffix of the version of each hardened driver; the operator adds the node's system."""
DRIVER_IMAGE = "gpu-driver-stig-fips"
DRIVER_VERSION = f"580.95.05{SUFFIX}"
"""The version that the documentation installs."""
OFED_IMAGE = "doca-driver-stig-fips"
"""Image with the same versions as `doca-driver`, only for amd64."""
UBUNTU_VARIABLE = "UBUNTU_PRO_TOKEN"
"""Variable without which a driver container gets no packages for a FIPS kernel on Ubuntu."""
