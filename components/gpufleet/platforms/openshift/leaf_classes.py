"""What a difference in a field does to nodes, where the inputs of the nodes' resources do not show
it (`registered`)."""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass
from gpufleet.fleet.model import Pool


def leaf_classes(pool: Pool) -> Mapping[str, LeafClass]:
    """How machines are replaced is a setting of the engine's update."""
    return {f"{pool.platform.name.value}.rollout": LeafClass.LIVE}
