"""Names of GKE node pools: new names, and the ids of existing node pools.

Longest name and its letters: GKE API, NodePool. Formats of ids: pulumi-gcp 10.2.0,
`gcp:container/nodePool:NodePool`, Import.
"""

import hashlib
import re

from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.shape import CapacityStep
from gpufleet.spec.platforms.gke import LONGEST_NAME

NODE_POOL = "gcp:container/nodePool:NodePool"

_DIGITS = 4
"""Number of letters that distinguish shortened names."""

_IMPORT_ID = re.compile(
    r"^(?:projects/(?P<p>[^/]+)/locations/(?P<l>[^/]+)/clusters/(?P<c>[^/]+)/nodePools/(?P<n>[^/]+)"
    r"|(?:(?P<project>[^/]+)/)?(?P<location>[^/]+)/(?P<cluster>[^/]+)/(?P<name>[^/]+))$"
)


def node_pool_name(pool: Pool, step: CapacityStep, prefix: str) -> str:
    """Name of a step's node pool, at most 40 characters: prefix, pool and step.

    A prefix that does not fit is shortened, then the pool's name; the step stays whole. An imported
    pool keeps its name.
    """
    place = None if pool.spec.import_id is None else imported_place(pool.spec.import_id)
    if place is not None:
        return place["name"]
    tail = f"-{step.name}" if step.name else ""
    name = f"{pool.name}{tail}"
    if len(name) > LONGEST_NAME:
        mark = hashlib.sha256(pool.name.encode()).hexdigest()[:_DIGITS]
        room = LONGEST_NAME - len(tail) - len(mark) - 1
        return f"{pool.name[:room].rstrip('-')}-{mark}{tail}"
    room = LONGEST_NAME - len(name) - 1
    head = google_prefix(prefix)[: max(room, 0)].rstrip("-")
    return f"{head}-{name}" if head else name


def google_prefix(prefix: str) -> str:
    """The prefix in the form of Google's names, which begin with a lowercase letter, and have
    lowercase letters, digits and hyphens (ValidateGCEName of the provider; GKE API, NodePool)."""
    return re.sub(r"[^a-z0-9-]", "-", prefix.lower()).lstrip("-0123456789").rstrip("-")


def imported_place(import_id: str) -> dict[str, str] | None:
    """`location`, `cluster`, `name` and, if given, `project` of the id of a node pool; None for a
    text that is not such an id: `project/location/cluster/pool`, the same without the project, or
    the API's long name."""
    found = _IMPORT_ID.match(import_id)
    if found is None:
        return None
    pairs = zip("plcn", ("project", "location", "cluster", "name"), strict=True)
    names = {plain: found[short] or found[plain] for short, plain in pairs}
    return {key: value for key, value in names.items() if value is not None}
