"""Validation of objects by the catalogue's schemas, like an API server with strict validation.

from gpufleet.contract.schemas import schema_problems
schema_problems({"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "spec": {...}})
"""

from gpufleet.contract.schemas.chart_values import (
    is_switch,
    own_values,
    says_true,
    values_problems,
    values_release,
)
from gpufleet.contract.schemas.newer_fields import newer_fields, newer_problems
from gpufleet.contract.schemas.problems import SchemaProblem, SchemaProblemKind
from gpufleet.contract.schemas.report import (
    SCHEMA_RULES,
    SchemaCodes,
    object_problems,
    report_problem,
    report_problems,
    schema_codes,
)
from gpufleet.contract.schemas.validator import has_schema, known_fields, schema_problems

__all__ = [
    "SCHEMA_RULES",
    "SchemaCodes",
    "SchemaProblem",
    "SchemaProblemKind",
    "has_schema",
    "is_switch",
    "known_fields",
    "newer_fields",
    "newer_problems",
    "object_problems",
    "own_values",
    "report_problem",
    "report_problems",
    "says_true",
    "schema_codes",
    "schema_problems",
    "values_problems",
    "values_release",
]
