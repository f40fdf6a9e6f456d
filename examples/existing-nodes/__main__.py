"""A fleet of nodes that another tool created: it needs only a Kubernetes provider."""

import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as k8s
import yaml

from gpufleet import GpuFleet

config = pulumi.Config()
spec = yaml.safe_load(Path(__file__).with_name(f"{config.require('fleet')}.yaml").read_text())
if folder := config.get("charts") or os.environ.get("GPUFLEET_CHARTS"):
    spec.setdefault("addons", {})["charts"] = {"source": {"folder": folder}}
cluster = k8s.Provider("cluster")
options = pulumi.ResourceOptions(providers=[cluster])
GpuFleet("gpus", {"spec": spec, "connection": {}}, options)
