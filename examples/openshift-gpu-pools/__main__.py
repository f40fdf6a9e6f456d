"""GPU pools of an OpenShift cluster: one scales from zero, one is fixed and boots its own way."""

import pulumi

from gpufleet import GpuAddons, OpenShiftClusterAutoscaler, OpenShiftGpuMachineSet

config = pulumi.Config()
CATALOGUE, KUBERNETES = "2026.11", "1.35"
connection = {
    "infrastructure_name": config.require("infrastructureName"),
    "server": config.require("server"),
    "datacenter": config.get("datacenter") or "DC1",
    "network": config.require("network"),
}
POOLS = [
    # Whole L4 from zero: a machine per pod that requests a GPU, gone again when it is done.
    {
        "name": "batch",
        "gpu": "L4",
        "nodes": {"min": 0, "max": 4},
        "openshift": {"cpus": 16, "memory_gib": 64, "template": config.require("template")},
    },
    # Two A100 per machine; the kernel arguments create a separate MachineConfigPool.
    {
        "name": "training",
        "gpu": "A100-80GB",
        "gpus_per_node": 2,
        "nodes": {"min": 1, "max": 1},
        "openshift": {
            "cpus": 48,
            "memory_gib": 256,
            "template": config.require("trainingTemplate"),
            "machine_config": {"kernel_arguments": ["iommu=pt"]},
        },
    },
]
about = {"catalogue": CATALOGUE, "kubernetes_version": KUBERNETES}
addons = GpuAddons("addons", {**about, "platform": "openshift", "pools": POOLS})
scaler = OpenShiftClusterAutoscaler("scaler", {**about, "pools": POOLS})
for pool in POOLS:
    machines = OpenShiftGpuMachineSet(
        pool["name"],
        {**about, "pool": pool, "connection": connection},
        pulumi.ResourceOptions(depends_on=[addons]),
    )
    pulumi.export(pool["name"], machines.machine_set)
pulumi.export("gpuLimits", scaler.gpu_limits)
