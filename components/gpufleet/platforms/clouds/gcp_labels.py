"""Labels of Google's resources from the tags of a fleet."""

import re
from collections.abc import Iterable, Mapping

from gpufleet.findings import Finding, findings_in

_finding = findings_in(__file__)

_LABEL = re.compile(r"^[a-z][a-z0-9_-]{0,62}$")


def resource_label(text: str) -> str:
    """Key or value of a valid Google resource label: lower case, digits, `-` and `_`, at most
    63."""
    return re.sub(r"[^a-z0-9_-]", "-", text.lower())[:63]


def resource_labels(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags as resource labels."""
    return {resource_label(key): resource_label(value) for key, value in tags.items()}


def validate_tags(tags: Mapping[str, str]) -> Iterable[Finding]:
    """Tags become resource labels, which allow fewer characters."""
    seen: dict[str, str] = {}
    for key in tags:
        label = resource_label(key)
        if not _LABEL.match(label):
            yield _finding("gke-tag-no-label", f'tags["{key}', label=label, found=key)
        elif label in seen:
            yield _finding(
                "gke-tag-twice", f'tags["{key}', label=label, seen=seen[label], found=key
            )
        seen.setdefault(label, key)
