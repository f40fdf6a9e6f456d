"""The release of a chart whose values are validated, and what is known of it."""

from dataclasses import replace

from gpufleet.contract.programs.context import CheckContext
from gpufleet.contract.schemas import SchemaCodes, release_numbers, values_release


def chart_version(context: CheckContext, chart: str) -> tuple[int, ...] | None:
    """The release of the chart that reads the values, as far as the context says."""
    if context.version is not None:
        return context.version
    installed = context.chart
    if installed is None or installed.version is None or installed.name not in (None, chart):
        return None
    return release_numbers(installed.version)


def chart_codes(
    codes: SchemaCodes, chart: str, version: tuple[int, ...] | None, *, older: bool = False
) -> SchemaCodes:
    """The codes of a family for values of its chart, at a release. `older`: no version is written,
    and the values are those of an older one."""
    release = values_release(chart)
    if version is not None:
        older = version[:2] < (release_numbers(release) or (0,))[:2]
    return replace(codes, reader=f"the {chart} chart", of_release=release if older else None)
