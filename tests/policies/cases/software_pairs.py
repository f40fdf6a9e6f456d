"""Cases of rules/software_pairs.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.workloads import deployment


def _release(chart: str, version: str, values: dict[str, Any]) -> Thing:
    properties = {"chart": chart, "version": version, "namespace": "gpu", "values": values}
    return Thing("kubernetes:helm.sh/v3:Release", properties, chart)


def _dra(domains: bool) -> Thing:
    values = {"resources": {"gpus": {"enabled": False}, "computeDomains": {"enabled": domains}}}
    return _release("dra-driver-nvidia-gpu", "0.5.0", values)


def _operator(version: str, default: bool) -> Thing:
    crd = {"enabled": True, "deployDefaultCR": default}
    return _release("gpu-operator", version, {"driver": {"nvidiaDriverCRD": crd}})


DOMAIN = manifest(
    {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "nccl"},
        "spec": {"numNodes": 0, "channel": {"resourceClaimTemplate": {"name": "nccl"}}},
    }
)
DRIVER = manifest(
    {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "NVIDIADriver",
        "metadata": {"name": "ubuntu"},
        "spec": {
            "driverType": "gpu",
            "repository": "nvcr.io/nvidia",
            "image": "driver",
            "version": "580.95.05",
            "nodeSelector": {"pool": "a"},
        },
    }
)
NRI = _release(
    "gpu-operator",
    "v26.3.1",
    {"cdi": {"enabled": True, "nriPluginEnabled": True}, "mig": {"strategy": "mixed"}},
)

CASES = (
    Case(
        "compute-domain-without-plugin",
        _dra(domains=True),
        _dra(domains=False),
        "resources.computeDomains.enabled is false, and ComputeDomain nccl is declared",
        alongside=(DOMAIN,),
    ),
    Case(
        "default-driver-takes-all-nodes",
        _operator("v26.3.1", default=False),
        _operator("v26.3.1", default=True),
        "the chart makes an NVIDIADriver for all nodes, and NVIDIADriver ubuntu is declared too",
        alongside=(DRIVER,),
    ),
    Case(
        "default-driver-takes-all-nodes",
        _operator("v26.7.0", default=True),
        _operator("v25.10.1", default=True),
        "before v26.7.0 the operator refuses both, and v25.10.1 is installed",
        alongside=(DRIVER,),
    ),
    Case(
        "runtime-class-of-operator-gone",
        deployment(),
        deployment({"spec.template.spec.runtimeClassName": "nvidia"}),
        "asks for the RuntimeClass nvidia, and Release gpu/gpu-operator has cdi.nriPluginEnabled",
        Level.ADVISORY,
        alongside=(NRI,),
    ),
)
