"""One machine for each way into a virtual machine: any free GPU, a named one, a share of one."""

import pulumi

from gpufleet import VsphereGpuNodeGroup

config = pulumi.Config()
connection = {
    **config.require_object("connection"),
    "join": {
        "method": "rke2",
        "endpoint": config.require("joinEndpoint"),
        "token": config.require_secret("joinToken"),
    },
}
machine = {"cpus": 16, "memory_gib": 64, "template": config.require("template")}
POOLS = {
    # Any free A100 of the cluster; vCenter picks the device when the machine starts.
    "any": {"vsphere": machine},
    # This device of this host, and no other.
    "fixed": {
        "vsphere": {
            **machine,
            "attachment": "passthrough",
            "hosts": [config.require("host")],
            "pci_addresses": [config.require("pciAddress")],
        }
    },
    # A share of a GPU; its guests need NVIDIA's licensed driver.
    "share": {
        "sharing": {"vgpu": {"profile": config.require("profile")}},
        "vsphere": {**machine, "attachment": "vgpu"},
    },
}
ADDONS = {
    "gpuOperator": {
        "driver": {"repository": config.require("driverRepository"), "version": "580.95.05"},
        "imagePullSecret": "vgpu-driver",
    }
}
for name, pool in POOLS.items():
    group = VsphereGpuNodeGroup(
        name,
        {
            "catalogue": "2026.11",
            "pool": {
                "name": name,
                "gpu": "A100-80GB",
                "disk": {"size_gib": 100},
                "nodes": {"min": 1, "max": 1},
                **pool,
            },
            "connection": connection,
            "addons": ADDONS,
        },
    )
    pulumi.export(name, group.node_names)
