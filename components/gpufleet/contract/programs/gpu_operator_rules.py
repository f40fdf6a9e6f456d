"""What the GPU Operator's chart and custom resources do with values, rule by rule."""

from pathlib import Path

from gpufleet.contract.programs.dra_rules import RULES as DRA
from gpufleet.contract.programs.text_notes import TEXT_RULES
from gpufleet.contract.programs.unknown_keys import KEY_RULES
from gpufleet.rules.rows import rule_table, written_rules

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *(DRA[code] for code in ("dra-gates-conflict", "dra-gate-unknown")),
    *KEY_RULES,
    *TEXT_RULES,
)
