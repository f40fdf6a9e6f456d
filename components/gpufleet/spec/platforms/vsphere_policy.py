"""How gpufleet manages the machines of a pool on vSphere, apart from their properties."""

from enum import StrEnum

from pydantic import Field

from gpufleet.spec.base import SpecModel


class CreateFailure(StrEnum):
    """Handling of a machine whose creation failed."""

    DELETE = "delete"
    """It is removed, because the stack does not record it; the default."""
    KEEP = "keep"
    """It stays for diagnosis; the next update continues with it."""


class DeletePolicy(StrEnum):
    """How a running machine is stopped before it is destroyed."""

    TRY_SOFT = "trySoft"
    """Guest shutdown, and after `shutdown` seconds power off. The default."""
    HARD = "hard"
    """Power off at once."""


class VsphereTimeouts(SpecModel):
    """Maximum time of each step, in seconds, 1 to 86400."""

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
    """Weight of a machine's CPU time if a host is overcommitted."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class LatencySensitivity(StrEnum):
    """How a machine's virtual CPUs are scheduled."""

    NORMAL = "normal"
    """The default."""
    HIGH = "high"
    """Each on an exclusive core, as far as the host has free cores."""
