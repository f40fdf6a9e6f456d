"""Money: an amount with its kind and its assumption, printed per month or per hour."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from gpufleet.messages import one_line

HOURS_PER_MONTH = 730
"""Hours of an average month, as the clouds' price pages count."""

MICRO_USD = 1_000_000


class AmountKind(StrEnum):
    """Three amounts that must never be added to each other."""

    STANDING = "standing"
    """Billed for certain: smallest sizes."""
    WASTE = "waste"
    """The part that goes away when the finding is fixed."""
    EXPOSURE = "exposure"
    """What it can come to: largest sizes."""


_VERB = {
    AmountKind.STANDING: "costs",
    AmountKind.WASTE: "wastes",
    AmountKind.EXPOSURE: "can cost",
}


@dataclass(frozen=True, slots=True)
class Money:
    """What a finding is worth, per hour, with everything the figure rests on."""

    kind: AmountKind
    micro_usd_per_hour: Fraction | None
    """None: no price is known, GPU-hours are printed instead."""
    gpus: Fraction
    """GPUs concerned: GPU-hours in every hour."""
    basis: str
    """Count, price, purchase type: what a reader needs to check the figure."""
    all_month: bool = True
    """False: only while a job runs, so no monthly sum is claimed."""
    of_all: bool = False
    """True: never added to the amounts of single objects: it is of everything declared together, or
    a later file writes the same object."""

    @property
    def usd_per_month(self) -> int | None:
        """Whole dollars for 730 hours; None without a price, or when it does not run all month."""
        if self.micro_usd_per_hour is None or not self.all_month:
            return None
        return round(self.micro_usd_per_hour * HOURS_PER_MONTH / MICRO_USD)

    def __str__(self) -> str:
        return one_line(self._words())

    def _words(self) -> str:
        verb = _VERB[self.kind]
        if self.micro_usd_per_hour is None:
            hours = self.gpus * (HOURS_PER_MONTH if self.all_month else 1)
            span = "per month" if self.all_month else "for each hour it runs"
            return f"{verb} {_decimals(hours)} GPU-hours {span} (no price is known; {self.basis})"
        if not self.all_month:
            hourly = float(self.micro_usd_per_hour) / MICRO_USD
            return f"{verb} {hourly:,.2f} USD for each hour it runs ({self.basis})"
        return f"{verb} {self.usd_per_month:,} USD per month ({self.basis}, 730 h)"


def _decimals(number: Fraction) -> str:
    return f"{float(number):,.1f}".removesuffix(".0")


def usd_hour(micro: int | Fraction) -> str:
    """Micro-dollars an hour as people read them: `12.29 USD/h`."""
    return f"{float(micro) / MICRO_USD:,.2f} USD/h"
