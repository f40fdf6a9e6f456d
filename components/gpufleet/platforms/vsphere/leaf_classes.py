"""What a difference in a field does to machines on vSphere: the provider's own table,
`vcenter/changes.py`, by the fields of the declaration. Labels, among them
those that choose a way of sharing, and taints are first-boot data, which guests read once."""

from collections.abc import Mapping

from gpufleet.fleet.leaf_class import LeafClass

_POWERED_OFF = (
    *("cpus", "coresPerSocket", "memoryGib", "hardwareVersion", "pciAddresses", "deviceIds"),
    *("hardwareLabel", "mmioGib", "latencySensitivity", "extraConfig"),
)
_LIVE = (
    *("updatePolicy", "rolloutWidth", "creationWidth", "waitFor", "maxPerHost", "timeouts"),
    *("hosts", "denyHosts", "onCreateFailure", "deletePolicy", "ignoreUserDataChanges"),
    *("annotation", "customAttributes", "tags", "folder", "vmGroup", "drsBehavior"),
)

LEAF_CLASSES: Mapping[str, LeafClass] = {
    **dict.fromkeys(("labels", "taints", "gpuTaint", "image", "sharing"), LeafClass.REPLACEMENT),
    **dict.fromkeys(("vsphere.template", "vsphere.attachment"), LeafClass.REPLACEMENT),
    "disk": LeafClass.LIVE,
    **{f"vsphere.{name}": LeafClass.RESTART for name in _POWERED_OFF},
    **{f"vsphere.{name}": LeafClass.LIVE for name in _LIVE},
}
