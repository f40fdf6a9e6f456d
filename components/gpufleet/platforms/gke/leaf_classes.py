"""What a difference in a field does to nodes, where the inputs of the nodes' resources do not show
it (`registered`)."""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass

LEAF_CLASSES: Mapping[str, LeafClass] = {}
