"""Cases of rules/pool_network.py."""

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing
from tests.policies.cases.pool_fit import EFA, TEMPLATE, WORKER, h100, training
from tests.policies.cases.pools import QUIET, node_group

ON_DEMAND = h100({})
SPREAD = Thing(
    "aws:ec2/launchTemplate:LaunchTemplate",
    {"name": "spread", "networkInterfaces": [{"interfaceType": "efa"}]},
    "spread",
)
ZONES = node_group(
    {
        "instanceTypes": ["p4d.24xlarge"],
        "subnetIds": ["subnet-a", "subnet-b"],
        "launchTemplate": {"name": "spread"},
    },
    "zones",
)

CASES = (
    Case(
        "multi-zone-training-group",
        training({**EFA, f'{WORKER}.nodeSelector."topology.kubernetes.io/zone"': "us-east-1a"}),
        training(EFA),
        "2 training pods of 8 GPU(s) on gpu, which spans 2 zones",
        Level.ADVISORY,
        alongside=(*QUIET, ZONES, SPREAD),
    ),
    Case(
        "multi-node-without-fabric",
        training(EFA),
        training(),
        "and do not request vpc.amazonaws.com/efa",
        Level.ADVISORY,
        alongside=(*QUIET, ON_DEMAND, TEMPLATE),
    ),
)
