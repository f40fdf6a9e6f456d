"""A fleet of nodes that somebody else made: a Kubernetes provider is all that it needs."""

from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s
import yaml

from gpufleet import GpuFleet

file = Path(__file__).with_name(f"{pulumi.Config().require('fleet')}.yaml")
cluster = k8s.Provider("cluster")
GpuFleet(
    "gpus",
    {"spec": yaml.safe_load(file.read_text()), "connection": {}},
    pulumi.ResourceOptions(providers=[cluster]),
)
