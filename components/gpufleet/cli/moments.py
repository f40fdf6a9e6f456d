"""Times as values of options: `2026-12-01`, `2026-12-01T09:00:00+01:00`."""

from datetime import UTC, datetime

import click

from gpufleet.cli.options import options
from gpufleet.environment import YEARS


class MomentType(click.ParamType[datetime]):
    """A day, from its beginning in UTC, or a time with its zone."""

    name = "moment"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The time in UTC; a usage error for anything else."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a moment: write 2026-12-01 or 2026-12-01T09:00:00Z")
        if found.tzinfo is None and len(str(value)) > len("2026-12-01"):
            self.fail(f"{value!r} has no zone: write 2026-12-01T09:00:00Z or +01:00 at its end")
        if not YEARS[0] <= found.year <= YEARS[1]:
            self.fail(f"{value!r}: the year is not one of {YEARS[0]} to {YEARS[1]}")
        return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)


as_of_option = options(__file__, "as-of", as_of=MomentType())
"""Adds `--as-of`, passed as a time in UTC or None."""
