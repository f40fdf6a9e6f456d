"""Inputs of components: what restates `gpufleet.spec.platforms.vsphere_policy`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict


class VsphereTimeoutsArgs(TypedDict):
    """Maximum time of each step, in seconds, 1 to 86400."""

    clone: NotRequired[int]
    """Default 1800."""
    reconfigure: NotRequired[int]
    """Default 300."""
    power_on: NotRequired[int]
    """Default 600."""
    address: NotRequired[int]
    """Until the guest reports what `waitFor` names. Default 900."""
    shutdown: NotRequired[int]
    """Default 300."""
    destroy: NotRequired[int]
    """Default 600."""
