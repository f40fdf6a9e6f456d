"""Fleets on OpenShift that tests of several layers start from."""

import copy
from typing import Any

from gpufleet.fleet import Fleet
from gpufleet.platforms.compiled import compile_data

MACHINE = {"cpus": 16, "memoryGib": 128, "template": "rhcos-gpu"}
CHAT = {
    "name": "chat",
    "gpu": "L4",
    "nodes": {"min": 0, "max": 4},
    "sharing": {"timeSlicing": {"replicas": 4}},
    "openshift": MACHINE,
}
TRAIN = {
    "name": "train",
    "gpu": "A100-80GB",
    "gpusPerNode": 2,
    "nodes": {"min": 2, "max": 2},
    "intent": "training",
    "openshift": {**MACHINE, "machineConfig": {"kernelArguments": ["intel_iommu=on", "iommu=pt"]}},
}
NOTEBOOKS = {
    "name": "notebooks",
    "gpu": "A100-80GB",
    "nodes": {"min": 1, "max": 3},
    "intent": "interactive",
    "sharing": {"mig": {"strategy": "mixed", "layouts": [{"gpus": 1, "devices": {"1g.10gb": 7}}]}},
    "openshift": MACHINE,
}


def declaration(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A declaration with these pools; without any, with all three above."""
    return {
        "catalogue": "2026.11",
        "platform": "openshift",
        "cluster": {"name": "lab", "kubernetesVersion": "1.35"},
        "pools": copy.deepcopy(list(pools) or [CHAT, TRAIN, NOTEBOOKS]),
        **more,
    }


def fleet(*pools: dict[str, Any], **more: Any) -> Fleet:
    """The fleet of it, which must compile without an error."""
    compiled = compile_data(declaration(*pools, **more))
    assert compiled.deployable, [str(finding) for finding in compiled.findings]
    assert compiled.fleet is not None
    return compiled.fleet
