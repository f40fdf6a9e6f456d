"""Findings about tags of AWS resources, before AWS refuses them one by one.

Limits: EC2 user guide `Using_Tags`, EKS `TagResource`, IAM `Tag` (botocore 1.44.5); EC2NodeClass
(karpenter.k8s.aws/v1, v1.14.1).
"""

import unicodedata
from collections.abc import Iterable, Mapping

from gpufleet.findings import Finding, error

MOST = 50
"""Maximum number of tags of one resource."""
RESERVED = 10
"""Tags that pools, EKS and Karpenter add to those of the fleet."""
LONGEST_KEY = 128
LONGEST_VALUE = 256
AWS_PREFIX = "aws:"
"""Beginning of keys that only AWS itself may set, in any case."""
OWN_PREFIX = "gpufleet.dev/"
"""Beginning of keys by which pools are found again: their size, their machines."""
OF_KARPENTER = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
"""Keys that Karpenter sets itself; its definition refuses them."""
CLUSTER_PREFIX = "kubernetes.io/cluster"
"""Beginning of further ones."""
SIGNS = frozenset("_.:/=+-@")
"""What tags of an IAM role may have next to letters, digits and spaces of any script."""


def validate_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Everything about the tags that a fleet, or a component, gives to all its resources."""
    return list(_validate(tags, path))


def validate_karpenter_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Keys that the definition of EC2NodeClass refuses."""
    return [
        error(
            "tag-reserved",
            f"{path}.{key}",
            f"{key} is Karpenter's own, and its API refuses node classes that set it",
            "remove it: Karpenter sets it on what it launches",
            found=key,
        )
        for key in tags
        if key in OF_KARPENTER or key.startswith(CLUSTER_PREFIX)
    ]


def validate_role_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Characters that IAM refuses and EC2 takes: autoscalers get a role with these tags."""
    found = {
        key: "".join(dict.fromkeys(sign for sign in key + value if not _in_role_tag(sign)))
        for key, value in tags.items()
    }
    return [
        error(
            "tag-characters",
            f"{path}.{key}",
            f"IAM takes letters, digits, spaces and {' '.join(sorted(SIGNS))} in tags of a role, "
            f"and not {wrong}",
            "write it without",
            found=wrong,
        )
        for key, wrong in found.items()
        if wrong
    ]


def _in_role_tag(sign: str) -> bool:
    return sign in SIGNS or unicodedata.category(sign)[0] in "LNZ"


def _validate(tags: Mapping[str, str], path: str) -> Iterable[Finding]:
    if len(tags) > MOST - RESERVED:
        yield error(
            "tags-too-many",
            path,
            f"{len(tags)} tags are given, and AWS takes {MOST} of one resource; pools, EKS and "
            f"Karpenter add up to {RESERVED}",
            f"keep {MOST - RESERVED}",
            found=len(tags),
            limit=MOST - RESERVED,
        )
    for key, value in tags.items():
        place = f"{path}.{key}"
        if key.lower().startswith(AWS_PREFIX):
            yield error(
                "tag-reserved",
                place,
                f"{key} begins with {AWS_PREFIX}, which only AWS may set",
                "choose another key",
                found=key,
            )
        if key.startswith(OWN_PREFIX):
            yield error(
                "tag-reserved",
                place,
                f"{key} begins with {OWN_PREFIX}, which gpufleet sets by itself: pools are found "
                "again by it",
                "choose another key",
                found=key,
            )
        if not 1 <= len(key) <= LONGEST_KEY:
            yield error(
                "tag-too-long",
                place,
                f"the key has {len(key)} characters, 1 to {LONGEST_KEY} are allowed",
                "choose another key",
                found=len(key),
                limit=LONGEST_KEY,
            )
        if len(value) > LONGEST_VALUE:
            yield error(
                "tag-too-long",
                place,
                f"the value of {key} has {len(value)} characters, at most {LONGEST_VALUE} fit",
                "shorten it",
                found=len(value),
                limit=LONGEST_VALUE,
            )
