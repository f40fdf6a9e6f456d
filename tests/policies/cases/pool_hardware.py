"""Cases of rules/pool_hardware.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case
from tests.policies.cases.pools import QUIET, gke_pool, karpenter, node_group
from tests.policies.cases.workloads import LIMITS, deployment

SERVER = deployment(
    {
        LIMITS: {"nvidia.com/gpu": 1},
        "spec.template.spec.containers[0].resources.requests": {"cpu": "2", "memory": "8Gi"},
    }
)
SPOT = {"spec.template.spec.requirements[1].values": ["spot"]}
TYPES = "spec.template.spec.requirements[0].values"
MACHINE, ACCELERATORS = "nodeConfig.machineType", "nodeConfig.guestAccelerators"

CASES = (
    Case(
        "cheaper-instance-same-gpu",
        node_group(),
        node_group({"instanceTypes": ["g6.4xlarge"]}),
        "g6.xlarge has the same GPUs at 0.80 USD/h",
        Level.ADVISORY,
        alongside=(*QUIET, SERVER),
    ),
    Case(
        "superseded-gpu-generation",
        node_group({"instanceTypes": ["g4dn.xlarge"], "labels.env": "prod"}),
        node_group({"instanceTypes": ["p3dn.24xlarge"]}),
        "p3dn.24xlarge with V100-32GB at 3.90 USD/h per GPU",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    Case(
        "spot-without-diversity",
        karpenter(SPOT),
        karpenter({**SPOT, TYPES: ["g6.xlarge"]}),
        "only spot, of 1 machine type(s)",
        Level.ADVISORY,
        alongside=QUIET,
    ),
    Case(
        "gke-accelerator-not-of-machine",
        gke_pool({MACHINE: "g2-standard-24", ACCELERATORS: [{"type": "nvidia-l4", "count": 2}]}),
        gke_pool({MACHINE: "g2-standard-4", ACCELERATORS: [{"type": "nvidia-l4", "count": 4}]}),
        "g2-standard-4 with 4 x L4; it has 1: the cloud refuses the pool",
        alongside=QUIET,
    ),
    Case(
        "gke-accelerator-not-of-machine",
        gke_pool(
            {MACHINE: "n1-standard-4", ACCELERATORS: [{"type": "nvidia-tesla-t4", "count": 1}]}
        ),
        gke_pool({MACHINE: "n1-standard-4", ACCELERATORS: [{"type": "nvidia-t4", "count": 1}]}),
        "names the accelerator nvidia-t4, which the catalogue does not have",
        Level.ADVISORY,
        alongside=QUIET,
    ),
)
