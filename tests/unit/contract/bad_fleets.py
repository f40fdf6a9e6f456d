"""One fleet that breaks each rule of the contract, by the code of its finding."""

from typing import Any

from tests.unit.contract.fleets import declaration
from tests.unit.contract.test_public_reports import PEERMEM, RDMA

L4: dict[str, Any] = {"name": "chat", "gpu": "L4"}
TAINTED = {**L4, "taints": [{"key": "team", "value": "ml"}]}
LISTED = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
CUT: dict[str, Any] = {
    "name": "cut",
    "instanceTypes": ["p4d.24xlarge"],
    "sharing": {"mig": {"layouts": [{"devices": {"1g.5gb": 7}}]}},
}
OWN_AMI = {"image": "ubuntu-eks", "eks": {"amiId": "ami-0123456789abcdef0"}}
B300 = {"name": "new", "instanceTypes": ["p6-b300.48xlarge"], **OWN_AMI}


def rdma(operator: dict[str, Any], network: dict[str, Any]) -> dict[str, Any]:
    return declaration("vsphere", RDMA, gpuOperator=operator, networkOperator=network)


def of_kubernetes(version: str, *pools: dict[str, Any]) -> dict[str, Any]:
    found = declaration("eks", *pools)
    found["cluster"]["kubernetesVersion"] = version
    return found


def driver(**values: Any) -> dict[str, Any]:
    return {"values": {"driver": values}}


HOST_OFED = driver(rdma={"enabled": True, "useHostMofed": True})
BAD: dict[str, dict[str, Any]] = {
    "operands-do-not-tolerate": declaration(
        "eks", TAINTED, gpuOperator={"values": {"daemonsets": {"tolerations": LISTED}}}
    ),
    "operands-may-not-tolerate": declaration("eks", TAINTED, gpuOperator={"ownership": "existing"}),
    "rdma-without-network-operator": rdma({}, {"enabled": False}),
    "peermem-without-driver-container": declaration(
        "eks", L4, gpuOperator={"values": PEERMEM}, networkOperator={"enabled": True}
    ),
    "ofed-from-two-places": rdma(HOST_OFED, {"ofed": "operator"}),
    "ofed-on-no-host": rdma(HOST_OFED, {}),
    "driver-waits-for-ofed": rdma(driver(rdma={"enabled": True}), {"ofed": "host"}),
    "gpu-driver-before-ofed": declaration(
        "vsphere",
        {**RDMA, "ownership": "existing"},
        gpuOperator={"values": PEERMEM},
        networkOperator={"ofed": "operator", "wait": False},
    ),
    "rdma-without-a-path": rdma(driver(kernelModuleType="proprietary"), {}),
    "two-advertisers": declaration(
        "eks",
        L4,
        gpuOperator={"values": {"devicePlugin": {"enabled": True}}},
        devicePlugin={"enabled": True},
    ),
    "image-plugin-shares-by-itself": declaration(
        "eks", {**L4, "image": "bottlerocket-nvidia", "sharing": {"mps": {"replicas": 4}}}
    ),
    "gpus-advertised-by-nobody": declaration("eks", L4, gpuOperator={"enabled": False}),
    "karpenter-does-not-know-the-gpus": declaration(
        "eks",
        {**CUT, "provisioner": "karpenter"},
        karpenter={"values": {"settings": {"featureGates": {"nodeOverlay": False}}}},
    ),
    "kubernetes-not-documented-for-chart": of_kubernetes("1.31", L4),
    "kubernetes-too-old-for-chart": of_kubernetes("1.15", L4),
    "image-not-for-kubernetes": of_kubernetes(
        "1.33", {**L4, "image": "al2-nvidia", "provisioner": "karpenter"}
    ),
    "driver-too-old-for-mig": declaration(
        "eks", {**CUT, **OWN_AMI}, gpuOperator={"driver": {"version": "440.33.01"}}
    ),
    "mig-mode-may-need-reboot": declaration(
        "eks", CUT, gpuOperator={"migManager": {"env": {"WITH_REBOOT": "false"}}}
    ),
    "driver-not-for-gpu": declaration("eks", {"name": "old", "gpu": "V100-16GB", **OWN_AMI}),
    "kernel-module-not-for-gpu": declaration(
        "eks", B300, gpuOperator={"driver": {"kernelModuleType": "proprietary"}}
    ),
    "gpu-operator-too-old-for-gpu": declaration("eks", B300, gpuOperator={"version": "v25.3.4"}),
}
"""Code -> the fleet. Each compiles but for findings, so that it can be rendered."""

ABSENCE = "the files hold what is declared; that nobody else does the rest is not in them"
NODES = "image and driver of these nodes are not in the files"
ORDER = "in which order releases are installed is not in the files"
HOST = "whether the nodes have DOCA-OFED is not in the files"
SELECTS = "the files hold a driver that selects nodes by a label, and these may be others"
NO_VALUES = "values of Karpenter are in the releases of `render --gitops` only"
IMAGE_SHARES = "the plugin of the image gets no file: how it shall share is in the declaration only"

NOT_IN_FILES: dict[str, str] = {
    "operands-may-not-tolerate": ABSENCE,
    "rdma-without-network-operator": ABSENCE,
    "ofed-on-no-host": HOST,
    "gpu-driver-before-ofed": ORDER,
    "two-advertisers": SELECTS,
    "image-plugin-shares-by-itself": IMAGE_SHARES,
    "gpus-advertised-by-nobody": ABSENCE,
    "karpenter-does-not-know-the-gpus": NO_VALUES,
}
"""Code -> why the audit of the rendered folder does not find it. An entry that is found fails."""
