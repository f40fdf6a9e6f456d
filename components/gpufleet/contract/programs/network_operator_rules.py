"""What the Network Operator's chart, definitions and webhook do, rule by rule."""

from pathlib import Path

from gpufleet.contract.programs import rdma_shared_config, sriov_config
from gpufleet.contract.programs.text_notes import TEXT_RULES
from gpufleet.contract.programs.unknown_keys import KEY_RULES
from gpufleet.rules.rows import rule_table, written_rules

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *KEY_RULES,
    *TEXT_RULES,
    *(rule for table in (rdma_shared_config.RULES, sriov_config.RULES) for rule in table.values()),
)
