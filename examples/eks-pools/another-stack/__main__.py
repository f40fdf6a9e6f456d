"""A team's node group in its own stack, on a cluster that another stack created.

That stack also has the cluster's `GpuAddons`. Both stacks declare the pool's sharing: the output
`configurations` of `GpuAddons` refuses a pool whose sharing it does not have.
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
