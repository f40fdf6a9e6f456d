"""What the DRA driver does with its configs, and Kubernetes with claims and classes, by rule."""

from pathlib import Path

from gpufleet.rules.rows import rule_table, written_rules

RULES = rule_table(*written_rules(Path(__file__).with_suffix(".jsonl")))
