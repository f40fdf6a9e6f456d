"""Finding: the one result of validation, from a rule to the report, with what it is made of."""

from gpufleet.findings.finding import (
    Finding,
    FleetError,
    Severity,
    error,
    finding,
    has_errors,
    info,
    ordered,
    warning,
)
from gpufleet.findings.level import Level
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
    "warning",
]
