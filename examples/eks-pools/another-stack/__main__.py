"""A team's own node group, in a stack of its own, on a cluster that another stack made.

The cluster's `GpuAddons` is in that stack too, and knows this pool's way of sharing: it is declared
in both, and its output `configurations` refuses a pool that it does not know.
"""

import pulumi
import pulumi_aws as aws

from gpufleet import EksGpuNodeGroup

platform = pulumi.StackReference(pulumi.Config().require("platform"))
account = aws.Provider("account", region="us-east-1")
pool = EksGpuNodeGroup(
    "vision",
    {
        "catalogue": "2026.11",
        "region": "us-east-1",
        "cluster_name": platform.require_output("clusterName"),
        "node_role_arn": platform.require_output("nodeRoleArn"),
        "subnet_ids_by_zone": {"us-east-1a": platform.require_output("subnetA")},
        "configurations": platform.require_output("configurations"),
        "pool": {
            "name": "vision",
            "gpu": "L4",
            "nodes": {"min": 0, "max": 2},
            "sharing": {"time_slicing": {"replicas": 2}},
            "team": "vision",
        },
    },
    pulumi.ResourceOptions(providers={"aws": account}),
)
pulumi.export("nodeGroup", pool.node_group_name)
