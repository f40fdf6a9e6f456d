"""Cases of rules/mig_workloads.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import CPU_GROUP, node_group
from tests.policies.cases.sharing import operator
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment

A100 = {"instanceTypes": ["p4d.24xlarge"], "labels.accelerator": "a100"}
SINGLE = operator({"mig": {"strategy": "single"}})
MIXED = operator({"mig": {"strategy": "mixed"}})
SERVES = ["tritonserver", "--model-repository=/models"]
LABEL = 'labels."nvidia.com/mig.config"'


def _pool(layout: str, minimum: int = 0):
    return node_group({**A100, LABEL: layout, "scalingConfig.minSize": minimum})


CASES = (
    Case(
        "mig-single-strategy-with-mixed-layout",
        _pool("all-1g.5gb"),
        _pool("all-balanced"),
        "all-balanced: the 8 GPUs of a node have different layouts",
        alongside=(CPU_GROUP, SINGLE),
    ),
    Case(
        "gpu-resource-not-offered",
        deployment({LIMITS: {"nvidia.com/mig-1g.5gb": 1}}),
        deployment({LIMITS: {"nvidia.com/mig-2g.10gb": 1}}),
        "requests 1 x nvidia.com/mig-2g.10gb, which no pool here publishes",
        alongside=(CPU_GROUP, MIXED, _pool("all-1g.5gb")),
    ),
    Case(
        "mig-slices-beyond-one",
        deployment({LIMITS: {"nvidia.com/mig-2g.10gb": 1}, f"{CONTAINER}.command": SERVES}),
        deployment({LIMITS: {"nvidia.com/mig-2g.10gb": 2}, f"{CONTAINER}.command": SERVES}),
        "requests 2 x nvidia.com/mig-2g.10gb",
        Level.ADVISORY,
        alongside=(CPU_GROUP,),
    ),
)
