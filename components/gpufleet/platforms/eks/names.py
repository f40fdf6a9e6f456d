"""Names and tags of AWS resources."""

from collections.abc import Mapping

from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Pool

SUFFIX = 26
"""Characters the provider adds to a name prefix."""
LONGEST = {"node group": 63, "launch template": 128, "security group": 255, "role": 64, "queue": 80}
"""Longest name of each kind (EKS, EC2, IAM and SQS service models, botocore 1.44.5)."""

RESERVED = "sg-"
"""Prefix of ids of security groups, not allowed in names (EC2 CreateSecurityGroup, GroupName)."""


def name_prefix(prefix: str, name: str, kind: str) -> str:
    """`<prefix>-<name>-`, shortened so that the provider's suffix fits the kind's limit.

    The pool's name is kept as far as possible, so that users find it.
    """
    room = LONGEST[kind] - SUFFIX - 1
    kept = name[:room].strip("-")
    left = room - len(kept) - 1
    front = prefix[:left].strip("-") if left > 0 else ""
    name = f"{front}-{kept}-" if front else f"{kept}-"
    return f"gpu-{name}" if kind == "security group" and name.startswith(RESERVED) else name


def pool_tags(pool: Pool, prefix: str, tags: Mapping[str, str]) -> dict[str, str]:
    """Tags of all resources of a pool: the fleet's own, its name, its team."""
    own = {"Name": f"{prefix}-{pool.name}", POOL_LABEL: pool.name}
    if pool.spec.team is not None:
        own["gpufleet.dev/team"] = pool.spec.team
    return dict(sorted({**own, **tags}.items()))
