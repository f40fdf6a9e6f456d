"""What a difference in a field does to machines on OpenShift. The machine API changes nothing on
machines that exist: labels, taints and shape reach them by `openshift.rollout`."""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass

LEAF_CLASSES: Mapping[str, LeafClass] = {
    **dict.fromkeys(("labels", "taints", "gpuTaint", "disk"), LeafClass.ROLLING),
    **{
        f"openshift.{name}": LeafClass.ROLLING
        for name in ("cpus", "coresPerSocket", "memoryGib", "template", "datastore", "folder")
    },
    "openshift.health": LeafClass.LIVE,
}
