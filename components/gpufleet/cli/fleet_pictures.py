"""Pictures of a whole fleet for `--html`."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from gpufleet.calendar.cells import calendar_grid, grid_svg
from gpufleet.calendar.fleet_calendar import fleet_calendar
from gpufleet.cli.html_page import Picture
from gpufleet.fleet import Fleet
from gpufleet.spec.pool import GpuPool

DAYS = 30
"""Length of the calendar."""


def calendar_pictures(fleet: Fleet, start: datetime | None) -> tuple[Picture, ...]:
    """The calendar of the days after a time; none if the declaration has no dates."""
    if not any(_is_dated(pool.spec) for pool in fleet.pools):
        return ()
    begin = (start or datetime.now(UTC)).replace(hour=0, minute=0, second=0, microsecond=0)
    if begin.tzinfo is None:
        begin = begin.replace(tzinfo=UTC)
    grid = calendar_grid(
        fleet_calendar(fleet, begin, begin + timedelta(days=DAYS)), ZoneInfo("UTC")
    )
    title = f"Calendar, {DAYS} days from {begin:%Y-%m-%d} (UTC)"
    return (Picture(title, grid_svg(grid, title)),)


def _is_dated(pool: GpuPool) -> bool:
    """Whether a pool has windows, maintenance or commitments."""
    bought = (way.capacity_block or way.reserved for way in pool.capacity)
    dated = any(one is not None and one.until is not None for one in bought)
    return dated or bool(pool.maintenance) or bool(pool.commitments)
