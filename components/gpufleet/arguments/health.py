"""Inputs of components: what restates `gpufleet.spec.health`.

Generated from the models by tests/unit/components/write_arguments.py: edit those.
"""

from typing import NotRequired, TypedDict

from gpufleet.arguments.words import HealthActorWord, HealthModeWord


class HealthFloorArgs(TypedDict):
    """Minimum healthy part of a pool during repairs: one of the three."""

    nodes: NotRequired[int]
    """Healthy nodes, 0 to 10000, and fewer than `nodes.min` unless it is 0."""
    percent: NotRequired[int]
    """Healthy nodes in percent of the existing nodes, 0 to 99."""
    as_platform: NotRequired[bool]
    """The platform's own limit, which can be lower than documented."""


class HealthPolicyArgs(TypedDict):
    """Handling of faults of a pool's nodes."""

    mode: HealthModeWord
    """One of `observe`, `fence`, `repair`. There is no default."""
    by: NotRequired[HealthActorWord]
    """One of `platform`, `nvsentinel`. Default: the platform, and NVSentinel for `fence`, which
    no platform supports."""
    floor: NotRequired[HealthFloorArgs]
    """Minimum that must stay healthy. Needed for `fence` and `repair`."""
    at_once: NotRequired[int]
    """Maximum number of nodes that are out of service at the same time, 1 to 1000. Default: as
    the floor allows."""
