"""Money: an amount with its kind and its basis, printed per month or per hour."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from gpufleet.messages import one_line

HOURS_PER_MONTH = 730
"""Hours of an average month, as on the clouds' price pages."""

MICRO_USD = 1_000_000


class AmountKind(StrEnum):
    """Three kinds of amounts that must not be added to each other."""

    STANDING = "standing"
    """Certain cost: minimum sizes."""
    WASTE = "waste"
    """Saving if the finding is fixed."""
    EXPOSURE = "exposure"
    """Possible cost: maximum sizes."""


_VERB = {
    AmountKind.STANDING: "costs",
    AmountKind.WASTE: "wastes",
    AmountKind.EXPOSURE: "can cost",
}


@dataclass(frozen=True, slots=True)
class Money:
    """Cost of a finding per hour, with the basis of the figure."""

    kind: AmountKind
    micro_usd_per_hour: Fraction | None
    """None: no price is known, GPU-hours are printed instead."""
    gpus: Fraction
    """GPUs concerned, that is GPU-hours per hour."""
    basis: str
    """Count, price and capacity type: the data to verify the figure."""
    all_month: bool = True
    """False: only while a job runs, so it has no monthly sum."""
    of_all: bool = False
    """True: never added to the amounts of single objects: it covers everything declared together,
    or a later file declares the same object."""

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
            number = f"{float(hours):,.1f}".removesuffix(".0")
            return f"{verb} {number} GPU-hours {span} (no price is known; {self.basis})"
        if not self.all_month:
            hourly = float(self.micro_usd_per_hour) / MICRO_USD
            return f"{verb} {hourly:,.2f} USD for each hour it runs ({self.basis})"
        return f"{verb} {self.usd_per_month:,} USD per month ({self.basis}, 730 h)"


def usd_hour(micro: int | Fraction) -> str:
    """Micro-dollars an hour as text: `12.29 USD/h`."""
    return f"{float(micro) / MICRO_USD:,.2f} USD/h"
