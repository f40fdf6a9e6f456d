"""The rules of kind `karpenter`: what Karpenter's API or its AWS provider does with an object."""

from pathlib import Path

from gpufleet.contract.schemas import SCHEMA_RULES
from gpufleet.rules.rows import rule_table, written_rules

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *SCHEMA_RULES,
)
