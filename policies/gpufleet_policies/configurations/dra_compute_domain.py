"""A ComputeDomain as the API server takes it."""

from typing import Any

from gpufleet.cluster.site import Site
from gpufleet.contract.programs.validation import CheckReport
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind, path_of
from gpufleet.contract.schemas.report import report_problem
from gpufleet.contract.schemas.validator import schema_problems
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import as_mapping
from gpufleet_policies.configurations.dra_envelope import SCHEMA_CODES

_SPECIAL: dict[tuple[str | int, ...], str] = {
    ("spec", "numNodes"): "dra-domain-nodes",
    ("spec", "channel"): "dra-domain-channel",
    ("spec", "channel", "allocationMode"): "dra-domain-mode",
}
"""Fields whose values have a code of their own."""


def validate_domain(document: dict[str, Any], context: Site, report: CheckReport) -> None:
    """The definition of ComputeDomain, and the stricter copy in the GPU Operator."""
    whole = {"metadata": {"name": "x"}, **document}
    for problem in schema_problems(whole):
        if problem.steps[:1] != ("metadata",):
            _report(problem, report)
    spec = as_mapping(document.get("spec")) or {}
    chart = context.chart
    if spec.get("numNodes") is None and chart is not None and chart.name == "gpu-operator":
        report.add(
            "dra-domain-nodes-required",
            "spec.numNodes",
            "the definition bundled with the GPU Operator requires numNodes",
            "write `numNodes: 0`",
        )
    before = as_mapping(value_at(context.previous, "spec"))
    if before is not None and before != spec:
        report.add(
            "dra-domain-immutable",
            "spec",
            "the spec of a ComputeDomain cannot change",
            "delete the ComputeDomain and make it anew",
        )


def _report(problem: SchemaProblem, report: CheckReport) -> None:
    if problem.kind is SchemaProblemKind.UNKNOWN:
        name = str(problem.steps[-1])
        text = f'strict decoding error: unknown field "{name}"'
        path = path_of(problem.steps, "")
        report.add("dra-field-unknown", path, text, problem.fix, value=name)
        return
    report_problem(problem, SCHEMA_CODES, report, code=_SPECIAL.get(problem.steps))
