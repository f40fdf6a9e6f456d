"""Names that a program leaves to the provider: its own name, a hyphen, seven hex digits.

The engine sends a random seed with each check; the same seed gives the same name, so a preview and
its update agree (pulumi-terraform-bridge `pf` and `pkg/tfbridge/names.go`, read 2026-11-21).
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from gpufleet_sandbox.cloud.values import UNKNOWN

NAMED: Mapping[str, tuple[str, str | None, int]] = {
    "aws:eks/nodeGroup:NodeGroup": ("nodeGroupName", "nodeGroupNamePrefix", 63),
    "aws:ec2/launchTemplate:LaunchTemplate": ("name", "namePrefix", 128),
    "aws:ec2/placementGroup:PlacementGroup": ("name", None, 255),
    "aws:ec2/securityGroup:SecurityGroup": ("name", "namePrefix", 255),
    "aws:iam/role:Role": ("name", "namePrefix", 64),
    "aws:iam/policy:Policy": ("name", "namePrefix", 128),
    "aws:iam/rolePolicy:RolePolicy": ("name", "namePrefix", 128),
    "aws:iam/instanceProfile:InstanceProfile": ("name", "namePrefix", 128),
    "aws:eks/cluster:Cluster": ("name", None, 100),
    "aws:sqs/queue:Queue": ("name", "namePrefix", 80),
    "aws:cloudwatch/eventRule:EventRule": ("name", "namePrefix", 64),
    "aws:cloudwatch/eventTarget:EventTarget": ("targetId", None, 64),
    "gcp:container/nodePool:NodePool": ("name", "namePrefix", 40),
    "gcp:container/cluster:Cluster": ("name", None, 40),
    "gcp:compute/resourcePolicy:ResourcePolicy": ("name", None, 63),
}
"""Type -> property that names it, the prefix that replaces it, longest name."""


def name_property(token: str) -> str:
    """The property that names a resource of this type; default `name`."""
    return NAMED.get(token, ("name", None, 0))[0]


def with_name(
    token: str,
    inputs: Mapping[str, Any],
    before: Mapping[str, Any],
    logical: str,
    seed: bytes,
) -> dict[str, Any]:
    """The inputs with the name filled in, kept from the last time where there was one.

    Args:
        token: type of the resource.
        inputs: what the program gave.
        before: inputs of the last update; empty for a new resource and for a replacement.
        logical: the resource's name in the program.
        seed: the engine's random bytes.
    """
    filled = dict(inputs)
    if token not in NAMED:
        return filled
    key, prefix_key, longest = NAMED[token]
    if filled.get(key) is not None:
        return filled
    prefix = filled.get(prefix_key) if prefix_key else None
    if prefix is UNKNOWN:
        return {**filled, key: UNKNOWN}
    if before.get(key) is not None and before.get(prefix_key or "") == prefix:
        return {**filled, key: before[key]}
    digits = hashlib.sha256(seed or logical.encode()).hexdigest()[:7]
    stem = str(prefix) if prefix else f"{_plain(logical, token)}-"
    return {**filled, key: f"{stem[: longest - 7]}{digits}"}


def _plain(logical: str, token: str) -> str:
    """Google's names are lower case, digits and hyphens."""
    if token.startswith("gcp:"):
        return re.sub(r"[^a-z0-9-]", "-", logical.lower())
    return logical
