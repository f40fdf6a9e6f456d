"""How gpufleet goes about the machines of a pool on vSphere: nothing here is what a machine is."""

from enum import StrEnum

from pydantic import Field

from gpufleet.spec.base import SpecModel


class CreateFailure(StrEnum):
    """What becomes of a machine whose making failed."""

    DELETE = "delete"
    """It is removed, because the stack forgets it; the default."""
    KEEP = "keep"
    """It stays to be looked at; the next update goes on with it."""


class DeletePolicy(StrEnum):
    """How a running machine is stopped before it is destroyed."""

    TRY_SOFT = "trySoft"
    """Guest shutdown, and after `shutdown` seconds power off. The default."""
    HARD = "hard"
    """Power off at once."""


class VsphereTimeouts(SpecModel):
    """Longest each step may take, in seconds, 1 to 86400."""

    clone: int = Field(default=1800, ge=1, le=86_400)
    """Default 1800."""
    reconfigure: int = Field(default=300, ge=1, le=86_400)
    """Default 300."""
    power_on: int = Field(default=600, ge=1, le=86_400)
    """Default 600."""
    address: int = Field(default=900, ge=1, le=86_400)
    """Until the guest reports what `waitFor` names. Default 900."""
    shutdown: int = Field(default=300, ge=1, le=86_400)
    """Default 300."""
    destroy: int = Field(default=600, ge=1, le=86_400)
    """Default 600."""


class CpuShares(StrEnum):
    """Weight of a machine's processor time where a host has too little for all."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class LatencySensitivity(StrEnum):
    """How a machine's virtual CPUs are scheduled."""

    NORMAL = "normal"
    """The default."""
    HIGH = "high"
    """Each on a core of its own, as far as the host has them to spare."""
