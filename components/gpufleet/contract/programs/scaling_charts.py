"""Values of charts without rules except for their schema: DCGM's exporter, Karpenter, Kueue, KEDA.
Each has its own kind, all have the same codes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpufleet.catalogue.features import numbers
from gpufleet.catalogue.lookup import nearest_fix
from gpufleet.cluster.program import Reader
from gpufleet.cluster.site import Site
from gpufleet.contract.programs.chart_values import validate_values
from gpufleet.contract.programs.rule_tables import rules_in
from gpufleet.contract.programs.validation import CheckReport, Judgement
from gpufleet.contract.schemas.chart_values import says_true, values_problems, values_release
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.report import report_problems, schema_codes
from gpufleet.documents.document import GoDocument
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import entries_at, value_at
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import as_mapping
from gpufleet.rules.rows import RuleTable, rule_table

CODES = schema_codes("the chart")
_QUOTED = "chart-values-quoted-boolean"
_GATE = "chart-values-gate-unknown"
RULES = rule_table(*rules_in("chart_values", "unknown_keys", "schema", "text_notes"))
"""The rules of each of these kinds."""


@dataclass(frozen=True, slots=True)
class ChartKind:
    """The kind of one chart's values."""

    chart: str
    RULES: RuleTable = field(default_factory=lambda: RULES)

    def validate(self, read: GoDocument, context: Site) -> Judgement:
        """Validate values of the chart: keys it does not have, types, enumerations, bounds."""
        report = CheckReport(self.RULES)
        values = validate_values(read, "chart-values", report)
        if values is None:
            return report.validation()
        program = context.release_of(self.chart)
        release, at = values_release(self.chart), program.numbers
        named = None if program.is_default else at
        is_other = named is not None and named[:2] != numbers(release)[:2]
        reader = f"the {self.chart} chart" + (f" of {release}" if is_other else "")
        codes = replace(CODES, reader=reader, of_release=release if is_other else None)

        def special(problem: SchemaProblem) -> str | None:
            newer = problem.kind is SchemaProblemKind.NEWER
            return _QUOTED if not newer and says_true(self.chart, problem, values) else None

        problems = values_problems(program, values)
        report_problems(problems, codes, report, special=special)
        if self.chart == KUEUE.chart:
            _validate_gates(values, program, report)
        return report.validation()


def _validate_gates(values: Mapping[str, Any], program: Reader, report: CheckReport) -> None:
    """Gates of Kueue's manager, which exits at startup with a gate that its release lacks."""
    at = program.numbers
    if at is None:
        return
    newest = numbers(values_release(program.program))
    for name, place in _gates(values):
        row = program.features.gates.get(name)
        is_read = newest[:2] <= at <= newest and not program.is_line
        if name in program.gates or (row is None and not is_read):
            continue  # gates removed before the records begin, or added later, are not known
        since = f", it came with {row.since}" if row and at < numbers(row.since) else ""
        gone = f", it went with {row.gone}" if row and row.gone and not since else ""
        report.add(
            _GATE,
            place,
            f"{program.program} {program} has no feature gate {name}{since}{gone}: the manager "
            "ends at its start",
            nearest_fix(name, program.gates, "remove it") if row is None else "remove it",
            value=name,
        )


def _gates(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Gates of the list, and of the manager's configuration, with their place."""
    for place, entry in entries_at(values, "controllerManager.featureGates"):
        if isinstance(name := entry.get("name"), str):
            yield name, f"{place}.name"
    place = "managerConfig.controllerManagerConfigYaml"
    text = value_at(values, place)
    try:
        config = read_go(text).data if isinstance(text, str) else None
    except UnreadableDocumentError:
        return  # it may contain Helm's templates
    for name in as_mapping(value_at(config, "featureGates")) or {}:
        yield name, f"{place}: featureGates.{name}"


DCGM_EXPORTER, KARPENTER = ChartKind("dcgm-exporter"), ChartKind("karpenter")
KEDA = ChartKind("keda")
KUEUE = ChartKind("kueue", rule_table(*RULES.values(), *rules_in("kueue")))
