"""Cases of rules/fractions_of_gpus.py."""

from tests.policies.cases.case import Case
from tests.policies.cases.workloads import LIMITS, deployment

FRACTION = {'spec.template.metadata.annotations."gpu-fraction"': "0.5"}

CASES = (
    Case(
        "fraction-with-whole-gpu",
        deployment({LIMITS: {"cpu": "4"}, **FRACTION}),
        deployment({LIMITS: {"nvidia.com/gpu": 1}, **FRACTION}),
        "requests whole nvidia.com/gpu and has annotation gpu-fraction",
    ),
)
