"""Finding: the one result type of validation, from a rule to the report, and its parts."""

from gpufleet.findings.finding import (
    Finding,
    FleetError,
    Level,
    Severity,
    error,
    finding,
    has_errors,
    info,
    ordered,
    warning,
)
from gpufleet.findings.row_rules import rules_in
from gpufleet.findings.rows import findings_in

__all__ = [
    "Finding",
    "FleetError",
    "Level",
    "Severity",
    "error",
    "finding",
    "findings_in",
    "has_errors",
    "info",
    "ordered",
    "rules_in",
    "warning",
]
