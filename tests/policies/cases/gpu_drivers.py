"""Cases of rules/gpu_drivers.py."""

from typing import Any

from gpufleet.findings import Level
from tests.policies.cases.case import Case, Thing, manifest
from tests.policies.cases.workloads import CONTAINER, deployment

SOFTWARE = {"toolkit": {"enabled": True}}


def release(values: dict[str, Any], version: str = "v26.7.0") -> Thing:
    """A release of the GPU Operator, with the version of its chart."""
    chart = {"chart": "gpu-operator", "version": version, "namespace": "gpu-operator"}
    return Thing("kubernetes:helm.sh/v3:Release", {**chart, "values": values}, "gpu-operator")


def machine_set(instance_type: str) -> Thing:
    """An OpenShift MachineSet on AWS."""
    provider = {"kind": "AWSMachineProviderConfig", "instanceType": instance_type}
    return manifest(
        {
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "MachineSet",
            "metadata": {"name": "gpu", "namespace": "openshift-machine-api"},
            "spec": {"replicas": 1, "template": {"spec": {"providerSpec": {"value": provider}}}},
        }
    )


V100, B300 = machine_set("p3.2xlarge"), machine_set("p6-b300.48xlarge")

CUDA = "docker.io/nvidia/cuda"
TRAIN = {f"{CONTAINER}.command": ["python", "train.py"]}

CASES = (
    Case(
        "driver-not-for-gpu",
        release({"driver": {"version": "580.126.20"}}),
        release({"driver": {"version": "595.91.07"}}),
        "driver 595.91.07 does not support V100-16GB: 580 is the last branch for volta",
        alongside=(V100,),
    ),
    Case(
        "driver-not-for-gpu",
        release({"driver": {"version": "580.126.20"}}),
        release({}),
        "driver 595.91.07 does not support V100-16GB",
        alongside=(V100,),
    ),
    Case(
        "driver-not-for-gpu",
        release({"driver": {"version": "595.91.07"}}),
        release({"driver": {"version": "580.126.20"}}),
        "NVIDIA documents it from 595.58.03 on",
        alongside=(machine_set("g7.2xlarge"),),
    ),
    Case(
        "kernel-module-not-for-gpu",
        release({"driver": {"version": "580.126.20"}}),
        release({"driver": {"version": "580.126.20", "kernelModuleType": "open"}}),
        "the open kernel modules do not support V100-16GB",
        alongside=(V100,),
    ),
    Case(
        "kernel-module-not-for-gpu",
        release({"driver": {"kernelModuleType": "open"}}),
        release({"driver": {"kernelModuleType": "proprietary"}}),
        "the proprietary kernel modules do not support B300-269GB",
        alongside=(B300,),
    ),
    Case(
        "gpu-operator-too-old-for-gpu",
        release({"driver": {"version": "580.95.05"}}, "v25.10.0"),
        release({"driver": {"version": "580.95.05"}}, "v25.3.4"),
        "GPU Operator v25.3.4 does not support B300-269GB: 25.10.0 is the first that does",
        Level.ADVISORY,
        alongside=(B300,),
    ),
    Case(
        "cuda-not-for-gpu",
        deployment(
            {**TRAIN, f"{CONTAINER}.image": "docker.io/nvidia/cuda:12.8.1-runtime-ubuntu24.04"}
        ),
        deployment(
            {**TRAIN, f"{CONTAINER}.image": "docker.io/nvidia/cuda:10.2-runtime-ubuntu18.04"}
        ),
        "CUDA 10.2 has no code for L4",
        Level.ADVISORY,
    ),
)
