"""Security group of EFA interfaces: everything to and from itself.

EFA traffic has no ports; a rule that names an address range instead of the group lets nothing
through (EFA user guide; eksctl `pkg/cfn/builder/vpc.go`).
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.names import name_prefix, pool_tags

ALL_TRAFFIC = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}


def efa_security_group(pool: Pool, prefix: str, tags: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of `aws:ec2/securityGroup`, without the network it is in."""
    return {
        "namePrefix": name_prefix(prefix, f"{pool.name}-efa", "security group"),
        "description": f"EFA traffic between nodes of pool {pool.name}",
        "ingress": [dict(ALL_TRAFFIC)],
        "egress": [dict(ALL_TRAFFIC)],
        "tags": pool_tags(pool, prefix, tags),
    }
