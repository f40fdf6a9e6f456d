"""The resources of a fleet on OpenShift on Google Cloud."""

from gpufleet.platforms.openshift.components import (
    platform_fleet,
    platform_operators,
)

__all__ = ["platform_fleet", "platform_operators"]
