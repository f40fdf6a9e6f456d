"""Finding codes for values of a chart, at the release that reads them."""

from dataclasses import replace

from gpufleet.catalogue.features import numbers
from gpufleet.cluster.program import Reader
from gpufleet.contract.schemas import SchemaCodes, values_release


def chart_codes(codes: SchemaCodes, reader: Reader, *, older: bool = False) -> SchemaCodes:
    """The codes of a family for values of its chart. `older`: no release is given, and the values
    are those of an older one."""
    release, at = values_release(reader.program), reader.numbers
    if at is not None and not reader.is_default:
        older = at[:2] < numbers(release)[:2]
    return replace(
        codes, reader=f"the {reader.program} chart", of_release=release if older else None
    )
