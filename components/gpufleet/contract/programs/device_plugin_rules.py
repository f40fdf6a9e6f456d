"""What NVIDIA's device plugin does with a configuration, rule by rule."""

from pathlib import Path

from gpufleet.contract.programs.text_notes import text_rules
from gpufleet.contract.programs.unknown_keys import key_rules
from gpufleet.rules.rows import rule_table, written_rules

_JSON = "Go encoding/json decode.go"

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *key_rules("device-plugin", ("DP-12", "OUR-5"), "the device plugin", _JSON),
    *text_rules("device-plugin"),
)
