"""Cases of rules/mig_layouts.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing, fleet_thing, manifest
from tests.policies.cases.pools import QUIET, gke_pool, node_group

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
        "mig-layout-strands-slices",
        layouts('"3g.40gb": 1, "2g.20gb": 2'),
        layouts('"4g.40gb": 1, "1g.20gb": 2'),
        "strands 1 of 7 compute slices of each GPU",
        Level.ADVISORY,
        alongside=(),
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
