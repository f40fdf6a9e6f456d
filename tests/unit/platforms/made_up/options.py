"""Pool options that only machines in racks need: `gpufleet.spec.platforms.rack`."""

from pydantic import Field

from gpufleet.spec.base import SpecModel


class RackOptions(SpecModel):
    """Size of each machine, and where it is."""

    cpus: int = Field(ge=1, le=1024)
    memory_gib: int = Field(ge=1, le=65_536)
    row: str = Field(min_length=1, max_length=63)
