"""Facts about a run of a program: the name of the environment, and the start time."""

import os
from datetime import UTC, datetime

MOMENT = "GPUFLEET_AT"
"""Variable with the time that components use as the current time, `2026-12-01T09:00:00Z`."""

YEARS = (2000, 2999)
"""Accepted years of a time: no cloud sold GPUs earlier, and none sells any for later."""


def start_moment() -> datetime:
    """The time for which windows of capacity are evaluated: GPUFLEET_AT if set, else now.

    Raises ValueError with the name of the variable when its value is not a time with a zone.
    """
    given = os.environ.get(MOMENT)
    if not given:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None or not YEARS[0] <= found.year <= YEARS[1]:
        raise ValueError(f"{MOMENT} is {given!r}: write a time with its zone, 2026-12-01T09:00:00Z")
    return found.astimezone(UTC)


PRODUCTION = frozenset({"prod", "production", "prd", "live"})
"""Names of environments that serve production, in lower case."""


def strict_prices(environment: str, prices: str | None) -> bool:
    """Whether a price of another region counts as not known.

    `prices` is the value of the declaration, `strict` or `estimate`; None: strict in production.
    """
    return prices == "strict" if prices is not None else environment.lower() in PRODUCTION
