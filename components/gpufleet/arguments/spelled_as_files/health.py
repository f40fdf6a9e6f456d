"""The FleetSpec in the spelling of files: what restates `gpufleet.spec.health`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import HealthActorWord, HealthModeWord


class HealthFloorDict(TypedDict):
    """What a repair must leave of a pool: one of the three."""

    nodes: NotRequired[int]
    """Healthy nodes, 0 to 10000, and fewer than `nodes.min` unless it is 0."""
    percent: NotRequired[int]
    """Healthy nodes in percent of those that there are, 0 to 99."""
    asPlatform: NotRequired[bool]
    """What the platform keeps by itself, which can be less than it documents."""


class HealthPolicyDict(TypedDict):
    """Follow-up of faults of a pool's nodes."""

    mode: HealthModeWord
    """One of `observe`, `fence`, `repair`. There is no default."""
    by: NotRequired[HealthActorWord]
    """One of `platform`, `nvsentinel`. Default: the platform, and NVSentinel for `fence`, which
    no platform does."""
    floor: NotRequired[HealthFloorDict]
    """What must stay healthy. Needed for `fence` and `repair`."""
    atOnce: NotRequired[int]
    """Maximum number of nodes that are out at the same time, 1 to 1000. Default: what the floor
    allows."""
