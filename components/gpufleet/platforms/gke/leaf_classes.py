"""What a difference in a field does to nodes on GKE.

What makes a new node pool is in `fixed_fields`. The rest changes in place (the source is named
there): the disk and the image by making nodes anew, one after the other, labels and taints on the
nodes that are there (Google's GKE documentation, updating node labels and taints of a node pool).
"""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass

_FIXED = (
    *("driver", "driverVersion", "localSsds", "localSsdUse", "imageCache", "imageStreaming"),
    *("maxPods", "compactPlacement", "secureBoot", "acceleratorNetworkProfile", "tpuTopology"),
    "openReservations",
)

LEAF_CLASSES: Mapping[str, LeafClass] = {
    "capacity": LeafClass.COMPILED,
    **{f"gke.{name}": LeafClass.COMPILED for name in _FIXED},
    **dict.fromkeys(("disk", "gke.diskType", "image"), LeafClass.ROLLING),
    **dict.fromkeys(("labels", "taints"), LeafClass.LIVE),
    **dict.fromkeys(
        ("gke.upgrade", "gke.autoUpgrade", "gke.autoRepair", "gke.locationPolicy"), LeafClass.LIVE
    ),
}
