"""Handling of a node with a broken GPU: the action, its program, and the required healthy rest."""

from enum import StrEnum

from pydantic import Field

from gpufleet.spec.base import SpecModel


class HealthMode(StrEnum):
    """Action for a broken node."""

    OBSERVE = "observe"
    """Faults are reported, and nodes are not changed."""
    FENCE = "fence"
    """A broken node gets no new pods; an operator repairs and returns it."""
    REPAIR = "repair"
    """A broken node is drained, then restarted or replaced."""


class HealthActor(StrEnum):
    """Program that acts on a broken node."""

    PLATFORM = "platform"
    """The repair of the platform or its provisioner: docs/health.md lists it."""
    NVSENTINEL = "nvsentinel"
    """NVIDIA's NVSentinel, whose values `gpufleet render` writes."""


class HealthFloor(SpecModel):
    """Minimum healthy part of a pool during repairs: one of the three."""

    nodes: int | None = Field(default=None, ge=0, le=10_000)
    """Healthy nodes, 0 to 10000, and fewer than `nodes.min` unless it is 0."""
    percent: int | None = Field(default=None, ge=0, le=99)
    """Healthy nodes in percent of the existing nodes, 0 to 99."""
    as_platform: bool = False
    """The platform's own limit, which can be lower than documented."""


class HealthPolicy(SpecModel):
    """Handling of faults of a pool's nodes."""

    mode: HealthMode
    """There is no default."""
    by: HealthActor | None = None
    """Default: the platform, and NVSentinel for `fence`, which no platform supports."""
    floor: HealthFloor | None = None
    """Minimum that must stay healthy. Needed for `fence` and `repair`."""
    at_once: int | None = Field(default=None, ge=1, le=1000)
    """Maximum number of nodes that are out of service at the same time, 1 to 1000. Default: as the
    floor allows."""

    @property
    def actor(self) -> HealthActor:
        """The program that acts or reports."""
        if self.by is not None:
            return self.by
        fences = self.mode is HealthMode.FENCE
        return HealthActor.NVSENTINEL if fences else HealthActor.PLATFORM

    @property
    def acts(self) -> bool:
        """Whether nodes are changed."""
        return self.mode is not HealthMode.OBSERVE

    @property
    def platform_repairs(self) -> bool:
        """Whether the platform's own repair must be on."""
        return self.mode is HealthMode.REPAIR and self.actor is HealthActor.PLATFORM

    @property
    def nvsentinel_acts(self) -> bool:
        """Whether NVSentinel acts on nodes."""
        return self.acts and self.actor is HealthActor.NVSENTINEL

    def allowed(self, nodes: int) -> int:
        """Nodes that may be out of service while the pool has `nodes`; all without a floor."""
        floor, most = self.floor, nodes
        if floor is not None and floor.nodes is not None:
            most = max(0, nodes - floor.nodes)
        if floor is not None and floor.percent is not None:
            most = nodes * (100 - floor.percent) // 100
        return most if self.at_once is None else min(most, self.at_once)

    def allowed_between(self, least: int, most: int) -> int:
        """Nodes that may be out of service at every pool size between the two."""
        if self.floor is not None and self.floor.nodes == 0:
            return self.allowed(most)
        return self.allowed(least)
