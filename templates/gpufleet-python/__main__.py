"""A GPU fleet: fleet.yaml is declared, GpuFleet makes it."""

from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes
import yaml

from gpufleet import GpuFleet

settings = pulumi.Config("gpufleet")
spec = yaml.safe_load(Path("fleet.yaml").read_text(encoding="utf-8"))
cluster = kubernetes.Provider("cluster", kubeconfig=settings.require("kubeconfig"))
fleet = GpuFleet(
    pulumi.get_project(),
    {"spec": spec, "connection": {}},
    pulumi.ResourceOptions(providers=[cluster]),
)
