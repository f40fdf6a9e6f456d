"""Pools and a connection of OpenShift, in the spelling of arguments."""

from typing import Any

MACHINE: dict[str, Any] = {"cpus": 16, "memory_gib": 128, "template": "rhcos-gpu"}
CONNECTION: dict[str, Any] = {
    "infrastructure_name": "lab-x7k2p",
    "server": "vcenter.example.com",
    "datacenter": "DC1",
    "network": "machines",
    "folder": "/DC1/vm/lab-x7k2p",
}
CHAT: dict[str, Any] = {
    "name": "chat",
    "gpu": "L4",
    "nodes": {"min": 0, "max": 4},
    "sharing": {"time_slicing": {"replicas": 4}},
    "openshift": MACHINE,
}
TRAIN: dict[str, Any] = {
    "name": "train",
    "gpu": "A100-80GB",
    "nodes": {"min": 2, "max": 2},
    "openshift": {**MACHINE, "machine_config": {"kernel_arguments": ["iommu=pt"]}},
}
