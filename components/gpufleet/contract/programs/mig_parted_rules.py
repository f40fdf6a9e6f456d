"""What NVIDIA's mig-parted does with a configuration, rule by rule."""

from pathlib import Path

from gpufleet.contract.programs import geometry
from gpufleet.contract.programs.text_notes import TEXT_RULES
from gpufleet.rules.rows import rule_table, written_rules

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *TEXT_RULES,
    *geometry.RULES,
)
