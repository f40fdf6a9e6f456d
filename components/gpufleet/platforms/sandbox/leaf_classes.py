"""What a difference in a field does to simulated nodes: `registered` shows it."""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass

LEAF_CLASSES: Mapping[str, LeafClass] = {}
