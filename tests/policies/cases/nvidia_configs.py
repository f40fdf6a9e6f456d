"""Cases of rules/nvidia_configs.py."""

from gpufleet_policies.rules.rule import Level
from tests.policies.cases.case import Case
from tests.policies.cases.sharing import operator

CASES = (
    Case(
        "nvidia-config-rejected",
        operator({"mig": {"strategy": "mixed"}}),
        operator({"mig": {"strategy": "mixd"}}),
        "`gpufleet check --as gpu-operator-values` calls it gpu-operator-choice-unknown",
        alongside=(),
    ),
    Case(
        "nvidia-config-surprising",
        operator({"driver": {"enabled": False}}),
        operator({"driver": {"enabled": "false"}}),
        "`gpufleet check --as gpu-operator-values` calls it gpu-operator-switch-as-text",
        Level.ADVISORY,
        alongside=(),
    ),
)
