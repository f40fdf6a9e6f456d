"""Values of a chart: a mapping, read in the way Helm reads it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpufleet.catalogue.features import numbers
from gpufleet.cluster.program import Reader
from gpufleet.contract.programs.go_json import kind_of
from gpufleet.contract.programs.rule_tables import note_text
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.chart_values import values_problems, values_release
from gpufleet.contract.schemas.problems import SchemaProblem
from gpufleet.contract.schemas.report import SchemaCodes, report_problems, schema_codes
from gpufleet.documents.document import GoDocument
from gpufleet.documents.shapes import as_mapping


def validate_values(read: GoDocument, prefix: str, report: CheckReport) -> dict[str, Any] | None:
    """The values; None, with `<prefix>-no-mapping`, if they are not a mapping."""
    note_text(read, report)
    values = {} if read.data is None else as_mapping(read.data)
    if values is None:
        code = f"{prefix}-no-mapping"
        report.say("values-no-mapping", "", code=code, kind=kind_of(read.data))
    return values


def chart_codes(codes: SchemaCodes, reader: Reader, *, older: bool = False) -> SchemaCodes:
    """The codes of a family for values of its chart. `older`: no release is given, and the values
    are those of an older one."""
    release, at = values_release(reader.program), reader.numbers
    if at is not None and not reader.is_default:
        older = at[:2] < numbers(release)[:2]
    return replace(
        codes, reader=f"the {reader.program} chart", of_release=release if older else None
    )


def report_values(
    values: Mapping[str, Any],
    reader: Reader,
    report: CheckReport,
    path: str = "",
    codes: SchemaCodes | None = None,
    special: Callable[[SchemaProblem], str | None] | None = None,
    *,
    older: bool = False,
) -> None:
    """Report keys and types that a chart does not read: without a schema it drops them. `codes` and
    `special` as for `report_problems`, `older` as for `chart_codes`."""
    codes = chart_codes(codes or schema_codes(), reader, older=older)
    report_problems(values_problems(reader, values, older=older), codes, report, path, special)
