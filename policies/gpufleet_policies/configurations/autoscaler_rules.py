"""The rules of kind `autoscaler`: what scales a GPU workload by the wrong signal, or not at all."""

from pathlib import Path

from gpufleet.contract.schemas import schema_codes, schema_rules
from gpufleet.rules.rows import rule_table, written_rules

_HPA = "kubernetes/api v0.36 autoscaling/v2/types.go"
_KEDA = "kedacore/keda v2.20.2 apis/keda/v1alpha1"

CODES = schema_codes("autoscaler")

RULES = rule_table(
    *written_rules(Path(__file__).with_suffix(".jsonl")),
    *schema_rules(CODES, ("AS-1",), "autoscalers", f"{_KEDA}, {_HPA}"),
)
