"""Raw arguments of a GKE node pool that are refused: rows of `raw_arguments.jsonl`."""

from collections.abc import Iterable
from pathlib import Path

from gpufleet.catalogue.provider_shapes import inputs_of
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.gke.names import NODE_POOL
from gpufleet.platforms.gke.shape import GkeShape

_finding = findings_in(__file__)


def validate_raw(pool: Pool, shape: GkeShape) -> Iterable[Finding]:
    """Raw arguments of one pool."""
    raw = shape.options.node_pool
    place = f"{pool.path}.gke.nodePool"
    yield from validate_raw_arguments(pool, Path(__file__).parent, "gke.nodePool", raw)
    shapes = inputs_of(NODE_POOL)
    for key, value in raw.items():
        if is_mapping(shapes.get(key)) and not is_mapping(value):
            yield _finding("raw-argument-no-object", f"{place}.{key}", key=key, value=value)
