"""Seven notebooks on an A100, each in its own machine with a MIG slice as its vGPU."""

import pulumi

from gpufleet import GpuFleet

config = pulumi.Config()
spec = {
    "catalogue": "2026.11",
    "platform": "vsphere",
    "cluster": {"name": "lab", "kubernetesVersion": "1.36"},
    "namePrefix": "lab",
    "pools": [
        {
            "name": "notebooks",
            "gpu": "A100-80GB",
            "nodes": {"min": 7, "max": 7},
            "intent": "interactive",
            "disk": {"sizeGib": 100},
            # One compute slice and 10 GB: the host partitions the GPU, the guest sees a whole GPU.
            "sharing": {"vgpu": {"profile": "nvidia_a100d-1-10c", "licenseSecret": "vgpu-licence"}},
            "vsphere": {
                "cpus": 8,
                "memoryGib": 32,
                "template": config.require("template"),
                "attachment": "vgpu",
            },
        }
    ],
    "addons": {
        "gpuOperator": {
            "driver": {"repository": config.require("driverRepository"), "version": "580.95.05"},
            "imagePullSecret": "vgpu-driver",
        }
    },
}
place = {
    "server": config.require("server"),
    "datacenter": config.get("datacenter") or "DC1",
    "compute_cluster": config.get("computeCluster") or "gpu",
    "join": {
        "method": "rke2",
        "endpoint": config.require("joinEndpoint"),
        "token": config.require_secret("joinToken"),
    },
}
fleet = GpuFleet("fleet", {"spec": spec, "connection": {"vsphere": place}})
pulumi.export("advertised", fleet.advertised)
