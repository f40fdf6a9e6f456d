"""Files of `gpufleet render` that are no objects: arguments of node groups and node pools, and the
comment that names the release of a chart above its values."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from gpufleet.cluster.fact import Fact, absent, known
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers import eks, gke

_RELEASE = re.compile(r"^# Chart (\S+) (v?[0-9][^\s,]*), namespace ", re.MULTILINE)
_WRITTEN = re.compile(r"(?:(.*)/)?(?:clouds/[^/]+|values)/[^/]+")
ARGUMENTS = "Arguments"
"""Kind of what holds arguments, in the places of findings."""
COMMENT = "the comment above"
"""Place of a release that a comment names."""
_GKE = frozenset({"name", "nodeConfig", "management", "upgradeSettings"})
"""Keys that arguments of a GKE node pool always have."""


def is_arguments(document: dict[str, Any]) -> bool:
    """Whether a document holds the arguments of a node group or node pool."""
    group = document.get("nodeGroup")
    return set(document) >= _GKE or (is_mapping(group) and "launchTemplate" in document)


def pools_of(document: dict[str, Any], path: str, line: int) -> Iterator[Any]:
    """The node group with its launch template, or the node pool.

    Rules about pools validate the fleet's declaration: these are for relations only (`in_fleet`).
    """
    where = Locator(ARGUMENTS, PurePath(path).stem, "", "", path, line)
    if "nodeGroup" not in document:
        found = gke.node_pool(document, where)
    else:
        template = document["launchTemplate"]
        found = (
            *eks.node_group({**document["nodeGroup"], "launchTemplate": {"name": "?"}}, where),
            *(eks.launch_template(template, where) if is_mapping(template) else ()),
        )
    for one in found:
        yield replace(one, in_fleet=True) if isinstance(one, NodePool) else one


def rendered_root(path: str, facts: Iterable[Any]) -> str | None:
    """The folder that `gpufleet render` wrote, by one of its files that only it writes; None for
    other files."""
    found = _WRITTEN.match(path)
    if found is None:
        return None
    ours = any(
        one.locator.kind == ARGUMENTS if isinstance(one, NodePool) else one.release.place == COMMENT
        for one in facts
        if isinstance(one, (NodePool, Program))
    )
    return (found[1] or ".") if ours else None


def release_above(comment: str, chart: str) -> Fact[str]:
    """The release that the comment above the values of a chart names."""
    named = dict(_RELEASE.findall(comment))
    return known(named[chart], place=COMMENT) if chart in named else absent("version")
