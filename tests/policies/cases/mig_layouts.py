"""Cases of rules/mig_layouts.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing, fleet_thing, manifest
from tests.policies.cases.pools import CPU_GROUP, QUIET, gke_pool, node_group
from tests.policies.cases.sharing import operator
from tests.policies.cases.workloads import CONTAINER, LIMITS, deployment

PARTITION = "nodeConfig.guestAccelerators[0].gpuPartitionSize"

CASES = (
    Case(
        "mig-layout-strands-slices",
        FLEET,
        fleet_thing({"pools[1].sharing.mig.layouts": [{"devices": {"1g.20gb": 3}}]}),
        "3 x 1g.20gb on 8 of 8 GPUs strands 2 of 7 compute slices each",
        alongside=(),
    ),
)

LAYOUT = """\
version: v1
mig-configs:
  own:
  - devices: all
    mig-enabled: true
    mig-devices: {%s}
"""


def layouts(devices: str) -> Thing:
    """A mig-parted ConfigMap with one config."""
    return manifest(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "layouts", "namespace": "gpu-operator"},
            "data": {"config.yaml": LAYOUT % devices},
        }
    )


A100 = {"instanceTypes": ["p4de.24xlarge"], "labels.accelerator": "a100"}
SELECTED = 'labels."nvidia.com/mig.config"'

CASES = (
    *CASES,
    Case(
        "mig-layout-strands-slices",
        node_group({**A100, SELECTED: "all-1g.10gb"}),
        node_group({**A100, SELECTED: "all-1g.20gb"}),
        "4 x 1g.20gb on 8 of 8 GPUs strands 3 of 7 compute slices each",
        alongside=QUIET,
    ),
    Case(
        "mig-layout-nowhere",
        layouts('"1g.10gb": 7'),
        layouts('"3g.40gb": 3'),
        "fits no GPU",
        alongside=(),
    ),
    Case(
        "mig-layout-infeasible",
        gke_pool({PARTITION: "1g.5gb"}),
        gke_pool({PARTITION: "1g.10gb"}),
        "1g.10gb on a2-highgpu-1g with A100-40GB; GKE offers 1g.5gb",
        alongside=QUIET,
    ),
)


A100_40GB = {"instanceTypes": ["p4d.24xlarge"], "labels.accelerator": "a100"}
SINGLE = operator({"mig": {"strategy": "single"}})
MIXED = operator({"mig": {"strategy": "mixed"}})
SERVES = ["tritonserver", "--model-repository=/models"]
LABEL = 'labels."nvidia.com/mig.config"'


def _pool(layout: str, minimum: int = 0):
    return node_group({**A100_40GB, LABEL: layout, "scalingConfig.minSize": minimum})


CASES = (
    *CASES,
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
