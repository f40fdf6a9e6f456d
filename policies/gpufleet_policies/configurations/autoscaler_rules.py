"""The rules of kind `autoscaler`: what scales a GPU workload by the wrong signal, or not at all."""

from pathlib import Path

from gpufleet.contract.schemas import SCHEMA_RULES, schema_codes
from gpufleet.rules.rows import rule_table, written_rules

CODES = schema_codes()

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *SCHEMA_RULES,
)
