"""Files that a kustomization names as patches: parts of objects."""

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.nvidia import NvidiaConfig
from gpufleet_policies.configurations.kinds import WHOLE_KINDS
from gpufleet_policies.fronts.audit.reading import Reading
from gpufleet_policies.fronts.audit.unjudged import Unjudged
from gpufleet_policies.resolve.written_lines import Located


def without_patches(readings: Sequence[Reading]) -> Sequence[Reading]:
    """The readings, with patches validated as far as possible.

    Settings of a configuration count, and missing ones prove nothing; pods are read as parts; and
    objects of other kinds are listed as not validated.
    """
    patches: set[str] = set()
    whole: set[str] = set()
    for reading in readings:
        folder = posixpath.dirname(reading.name)
        for link in reading.links:
            if not link.from_root:
                target = posixpath.normpath(posixpath.join(folder, link.target))
                (patches if link.is_patch else whole).add(target)
    patches -= whole
    if not patches:
        return readings
    return [
        _parted(reading) if posixpath.normpath(reading.name) in patches else reading
        for reading in readings
    ]


def _parted(reading: Reading) -> Reading:
    pairs = list(zip(reading.facts, reading.sources, strict=True))
    kept: list[tuple[Any, Located]] = []
    for fact, source in pairs:
        if isinstance(fact, NvidiaConfig):
            kept.append((replace(fact, complete=False), source))
        elif isinstance(fact, WorkloadFacts):
            kept.append((fact, source))
    # Of a kind that is validated whole, a part proves what its own values prove and little more.
    judged = {fact.locator for fact, _ in kept if getattr(fact, "kind", "") not in WHOLE_KINDS}
    reason = "a patch is validated only with the object that it changes"
    left = [
        Unjudged(reading.name, max(source.line, 1), str(fact.locator), "patch", reason)
        for fact, source in pairs
        if fact.locator not in judged
    ]
    return replace(
        reading,
        facts=[fact for fact, _ in kept],
        sources=[source for _, source in kept],
        not_judged=list(dict.fromkeys((*reading.not_judged, *left))),
    )
