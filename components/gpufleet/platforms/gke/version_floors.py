"""First GKE releases with features of pools: rows of `version_floors.jsonl`, with their sources.

A declaration has a minor version, so only that is compared here; `gpufleet preflight` compares the
whole release of a cluster.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.catalogue.source_rows import fact_of
from gpufleet.findings import Finding, rules_in
from gpufleet.findings.row_rules import holds
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.compute_class import auto_created
from gpufleet.platforms.gke.shape import gke_shape

_rules = rules_in(__file__)

_RELEASE = re.compile(r"^(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?")


@dataclass(frozen=True, slots=True)
class Floor:
    """The first release with a feature."""

    release: str
    """`1.34.1-gke.1829001`."""
    field: str
    """Field that declares it, after the pool's path."""
    what: str
    later: tuple[str, ...] = ()
    """First releases of later minor versions, if they got it in a separate release."""

    @property
    def releases(self) -> str:
        """All of them, for messages."""
        return " or ".join((self.release, *self.later))

    def of(self, version: str) -> str:
        """The one that applies to a cluster's release."""
        minor = release(version)[:2]
        return next((one for one in self.later if release(one)[:2] == minor), self.release)

    def is_below(self, version: str) -> bool:
        """Whether a cluster's release does not have it yet."""
        return release(version) < release(self.of(version))


FLOORS = [
    (row["when"], fact_of(Floor, row)) for row in read_rows(Path(__file__).parent, "version_floors")
]
"""Conditions on a pool (`findings.row_rules`), and its floor if they hold."""


def floors(pool: Pool) -> list[Floor]:
    """The floors of all features of a pool."""
    shape, row, auto = gke_shape(pool), pool.machines[0].instance, auto_created(pool)
    known = {"pool": pool, "shape": shape, "row": row, "auto": auto}
    return [floor for when, floor in FLOORS if holds(when, known)]


def release(version: str) -> tuple[int, ...]:
    """`1.34.1-gke.1829001` as numbers for comparison; missing parts count as 0."""
    found = _RELEASE.match(version)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


def validate_floors(pool: Pool, kubernetes_version: str) -> Iterable[Finding]:
    """Features that the declared minor version of the cluster cannot have yet. Networks that GKE
    creates are validated with their other rules."""
    for floor in floors(pool):
        made = floor.field == "gke.acceleratorNetworkProfile"
        if not made and release(kubernetes_version) < release(floor.release)[:2]:
            place = f"{pool.path}.{floor.field}"
            yield from _rules("declared-floor", place, floor=floor, version=kubernetes_version)
