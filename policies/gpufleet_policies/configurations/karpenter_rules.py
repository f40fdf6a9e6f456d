"""The rules of kind `karpenter`: what Karpenter's API or its AWS provider does with an object."""

from pathlib import Path

from gpufleet.contract.programs.karpenter_keys import CODES
from gpufleet.contract.schemas import schema_rules
from gpufleet.rules.rows import rule_table, written_rules
from gpufleet.rules.rule import Proof

_CRDS = "aws/karpenter-provider-aws v1.14.1 pkg/apis/crds"

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *schema_rules(CODES, ("KP-2",), "Karpenter's objects", _CRDS, keys=Proof.VALUE),
)
