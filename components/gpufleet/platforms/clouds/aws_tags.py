"""Findings about tags of AWS resources, before AWS refuses them one by one.

Limits: EC2 user guide `Using_Tags`, EKS `TagResource`, IAM `Tag` (botocore 1.44.5); EC2NodeClass
(karpenter.k8s.aws/v1, v1.14.1).
"""

import unicodedata
from collections.abc import Iterable, Mapping

from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)

MOST = 50
"""Maximum number of tags of one resource."""
RESERVED = 10
"""Tags that pools, EKS and Karpenter add to those of the fleet."""
LONGEST_KEY = 128
LONGEST_VALUE = 256
AWS_PREFIX = "aws:"
"""Prefixes of keys that only AWS may set, in any case."""
OWN_PREFIX = "gpufleet.dev/"
"""Prefixes of keys that identify pools: their size, their machines."""
OF_KARPENTER = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
"""Keys that Karpenter sets itself; its definition refuses them."""
CLUSTER_PREFIX = "kubernetes.io/cluster"
"""Prefixes of further keys that Karpenter sets."""
SIGNS = frozenset("_.:/=+-@")
"""Characters that tags of an IAM role may have besides letters, digits and spaces of any script."""


def validate_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Findings about the tags that a fleet, or a component, gives to all its resources."""
    return list(_validate(tags, path))


def validate_karpenter_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Keys that the definition of EC2NodeClass refuses."""
    return [
        _finding("tag-reserved", f"{path}.{key}", found=key)
        for key in tags
        if key in OF_KARPENTER or key.startswith(CLUSTER_PREFIX)
    ]


def validate_role_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Characters that IAM refuses and EC2 accepts: autoscalers get a role with these tags."""
    found = {
        key: "".join(dict.fromkeys(sign for sign in key + value if not _in_role_tag(sign)))
        for key, value in tags.items()
    }
    return [
        _finding("tag-characters", f"{path}.{key}", signs=" ".join(sorted(SIGNS)), found=wrong)
        for key, wrong in found.items()
        if wrong
    ]


def _in_role_tag(sign: str) -> bool:
    return sign in SIGNS or unicodedata.category(sign)[0] in "LNZ"


def _validate(tags: Mapping[str, str], path: str) -> Iterable[Finding]:
    if len(tags) > MOST - RESERVED:
        yield _finding(
            "tags-too-many",
            path,
            found=len(tags),
            most=MOST,
            reserved=RESERVED,
            limit=MOST - RESERVED,
        )
    for key, value in tags.items():
        place = f"{path}.{key}"
        if key.lower().startswith(AWS_PREFIX):
            yield _finding("tag-reserved/aws", place, found=key, aws_prefix=AWS_PREFIX)
        if key.startswith(OWN_PREFIX):
            yield _finding("tag-reserved/gpufleet", place, found=key, own_prefix=OWN_PREFIX)
        if not 1 <= len(key) <= LONGEST_KEY:
            yield _finding("tag-too-long", place, found=len(key), limit=LONGEST_KEY)
        if len(value) > LONGEST_VALUE:
            yield _finding(
                "tag-too-long/value", place, key=key, found=len(value), limit=LONGEST_VALUE
            )
