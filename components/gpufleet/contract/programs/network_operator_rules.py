"""What the Network Operator's chart, definitions and webhook do, rule by rule."""

from pathlib import Path

from gpufleet.contract.programs import rdma_shared_config, sriov_config
from gpufleet.contract.programs.text_notes import text_rules
from gpufleet.contract.programs.unknown_keys import key_rules
from gpufleet.rules.rows import rule_table, written_rules

_CHART = "Mellanox/network-operator deployment/network-operator"

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *key_rules("network-operator", ("OUR-5",), "the reader", _CHART),
    *text_rules("network-operator"),
    *(rule for table in (rdma_shared_config.RULES, sriov_config.RULES) for rule in table.values()),
)
