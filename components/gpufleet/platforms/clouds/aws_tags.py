"""Findings about tags of AWS resources, before AWS refuses them one by one.

Limits: EC2 user guide `Using_Tags`, EKS `TagResource`, IAM `Tag` (botocore 1.44.5); EC2NodeClass
(karpenter.k8s.aws/v1, v1.14.1).
"""

import unicodedata
from collections.abc import Mapping

from gpufleet.findings import Finding, findings_in, rules_in

_finding, _rules = findings_in(__file__), rules_in(__file__)

SIGNS = frozenset("_.:/=+-@")
"""Characters that tags of an IAM role may have besides letters, digits and spaces of any script."""


def validate_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Findings about the tags that a fleet, or a component, gives to all its resources."""
    return list(_rules("tags", path, listed=_listed(tags, path)))


def validate_karpenter_tags(tags: Mapping[str, str], path: str) -> list[Finding]:
    """Keys that the definition of EC2NodeClass refuses."""
    return list(_rules("karpenter-tags", path, listed=_listed(tags, path)))


def _listed(tags: Mapping[str, str], path: str) -> list[dict[str, object]]:
    return [
        {"key": key, "place": f"{path}.{key}", "size": len(key), "length": len(value)}
        for key, value in tags.items()
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
