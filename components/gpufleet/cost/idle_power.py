"""Energy of GPUs that no pod holds: a GPU draws its idle power whether anyone uses it or not."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from gpufleet.cost.cost import SECONDS_PER_HOUR, CostLine, Use
from gpufleet.fleet.model import Fleet, Pool

HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True)
class IdleEnergy:
    """Energy of GPUs of one pool while no pod holds them."""

    pool: Pool
    gpu_hours: Fraction
    """Hours of one GPU; half a GPU that no pod holds for an hour counts as half an hour."""

    @property
    def mig(self) -> bool:
        """Whether the GPUs are in MIG mode."""
        made = self.pool.partition
        backed = made.vgpu is not None and made.vgpu.mig_backed
        return backed or any(gpu.mig_enabled for gpu in made.gpus)

    @property
    def watts(self) -> int | None:
        """Idle power of one GPU; None: unknown."""
        return self.pool.gpu.idle_watts(mig=self.mig)

    @property
    def kwh(self) -> Decimal | None:
        """Kilowatt-hours, to the watt-hour; None: unknown."""
        if self.watts is None:
            return None
        return round(Decimal(round(self.gpu_hours * self.watts)) / 1000, 3)

    def usd(self, usd_per_kwh: float | None) -> Decimal | None:
        """Price of the energy on the user's own hardware; None if the price of the machine includes
        it, or if a figure is missing."""
        own = any(entry.on_prem is not None for entry in self.pool.capacity)
        if not own or usd_per_kwh is None or self.kwh is None:
            return None
        return round(self.kwh * Decimal(str(usd_per_kwh)), 2)

    def money(self, usd_per_kwh: float | None) -> str:
        """`usd` in words."""
        if (usd := self.usd(usd_per_kwh)) is not None:
            return f"{usd:,.2f} USD of the price"
        own = any(entry.on_prem is not None for entry in self.pool.capacity)
        return "not known without --usd-per-kwh" if own else "in the price of the machine"

    def as_dict(self, usd_per_kwh: float | None) -> dict[str, Any]:
        """The row for JSON."""
        usd = self.usd(usd_per_kwh)
        return {
            "pool": self.pool.name,
            "mig": self.mig,
            "gpuHours": float(self.gpu_hours),
            "watts": self.watts,
            "kwh": None if self.kwh is None else float(self.kwh),
            "usd": None if usd is None else float(usd),
        }


def physical_gpus(pool: Pool) -> Fraction:
    """GPUs that one node has for itself: of a vGPU, or a part that a cloud sells, the part."""
    made = pool.partition.vgpu
    part = pool.machines[0].fraction if made is None else made.fraction
    return pool.gpus_per_node * part


def idle_month(pool: Pool) -> IdleEnergy:
    """A month of one node that no pod uses."""
    return IdleEnergy(pool, physical_gpus(pool) * HOURS_PER_MONTH)


def idle_energy(fleet: Fleet, lines: Iterable[CostLine]) -> list[IdleEnergy]:
    """One entry for each pool of the lines with time that no pod held."""
    seconds: dict[str, Fraction] = {}
    for line in lines:
        if line.use is not Use.POD:
            seconds[line.pool] = seconds.get(line.pool, Fraction(0)) + line.node_seconds
    return [
        IdleEnergy(pool, seconds[pool.name] * physical_gpus(pool) / SECONDS_PER_HOUR)
        for pool in fleet.pools
        if pool.name in seconds
    ]
