"""What the GPU Operator's chart and custom resources do with values, rule by rule."""

from pathlib import Path

from gpufleet.contract.programs.dra_rules import RULES as DRA
from gpufleet.contract.programs.text_notes import text_rules
from gpufleet.contract.programs.unknown_keys import key_rules
from gpufleet.rules.rows import rule_table, written_rules

_TEMPLATES = "NVIDIA/gpu-operator deployments/gpu-operator/templates"

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *(DRA[code] for code in ("dra-gates-conflict", "dra-gate-unknown")),
    *key_rules("gpu-operator", ("OUR-5",), "the chart", _TEMPLATES),
    *text_rules("gpu-operator"),
)
