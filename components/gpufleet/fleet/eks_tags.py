"""Findings about tags of AWS resources, before AWS refuses them one by one.

Limits: EC2 user guide `Using_Tags`, EKS `TagResource` (botocore 1.44.5).
"""

from collections.abc import Iterable, Mapping

from gpufleet.findings import Finding, error

MOST = 50
"""Most tags of one resource."""
RESERVED = 10
"""Tags that pools, EKS and Karpenter add to those of the fleet."""
LONGEST_KEY = 128
LONGEST_VALUE = 256
AWS_PREFIX = "aws:"
"""Beginning of keys that only AWS itself may set, in any case."""


def judge_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Everything about the tags that a fleet, or a component, gives to all its resources."""
    return list(_judge(tags, path))


def _judge(tags: Mapping[str, str], path: str) -> Iterable[Finding]:
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
