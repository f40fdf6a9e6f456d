"""The table of platforms: the folder of each, and its modules.

Programs pass its values to compile, and a fleet and its pools contain theirs; no other module looks
a platform up here. The module imports no platform.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from gpufleet.contract.platform import PlatformValue
from gpufleet.spec.base import Platform

if TYPE_CHECKING:
    from pulumi.dynamic import ResourceProvider


PLATFORMS = {
    one.name: one
    for one in (
        PlatformValue(Platform.EKS, "gpufleet.platforms.eks"),
        PlatformValue(Platform.GKE, "gpufleet.platforms.gke"),
        PlatformValue(Platform.VSPHERE, "gpufleet.platforms.vsphere"),
        PlatformValue(Platform.OPENSHIFT, "gpufleet.platforms.openshift"),
        PlatformValue(Platform.OPENSHIFT_AWS, "gpufleet.platforms.openshift.aws"),
        PlatformValue(Platform.OPENSHIFT_GCP, "gpufleet.platforms.openshift.gcp"),
        PlatformValue(Platform.SANDBOX, "gpufleet.platforms.sandbox"),
        # The last: it recognises every node with a GPU.
        PlatformValue(Platform.EXISTING, "gpufleet.platforms.existing"),
    )
}
"""Every platform, by name."""


RESOURCES = {"gpufleet:vsphere": f"{PLATFORMS[Platform.VSPHERE].package}.resources"}
"""Module of a type of resource that the package's own plugin serves."""


def platform_resource(kind: str) -> "ResourceProvider | None":
    """The implementation of a type of resource, such as `gpufleet:vsphere:Machine`; None: no
    platform has the type. Imports pulumi."""
    module = RESOURCES.get(kind.rpartition(":")[0])
    return None if module is None else import_module(module).RESOURCES.get(kind)
