"""Fleets that break rules of the contract outside `validate.RULES`, and rules of one platform."""

from typing import Any

from tests.unit.contract.bad_fleets import ABSENCE, CUT, NODES, OWN_AMI, RDMA, of_kubernetes
from tests.unit.contract.fleets import declaration

H100: dict[str, Any] = {"name": "claims", "gpu": "H100-80GB"}
MACHINE = {"cpus": 8, "memoryGib": 64, "template": "ubuntu"}
GUEST_DRIVER: dict[str, Any] = {
    "driver": {"version": "580.95.05", "repository": "registry.example.com/vgpu"},
    "imagePullSecret": "registry",
}
L4: dict[str, Any] = {"name": "chat", "gpu": "L4"}
PRECOMPILED = {"usePrecompiled": True, "version": "595"}
SPOT = [{"spot": {}}]


def dra(name: str = "claims", **how: Any) -> dict[str, Any]:
    return {**H100, "name": name, "sharing": {"dra": how}}


def with_gates(version: str, **gates: bool) -> dict[str, Any]:
    found = of_kubernetes(version, dra())
    found["cluster"]["featureGates"] = gates
    return found


EITHER = [{"products": ["H100-80GB"]}] * 2


def claiming(claim: dict[str, Any]) -> dict[str, Any]:
    return declaration("eks", dra(namespaces=["research"], claims=[{"name": "one", **claim}]))


def guest(name: str, profile: str = "grid_a100d-40c", **how: Any) -> dict[str, Any]:
    return {
        "name": name,
        "gpu": "A100-80GB",
        "sharing": {"vgpu": {"profile": profile, "licenseSecret": "nls", **how}},
        "vsphere": {**MACHINE, "attachment": "vgpu"},
    }


def guests(*pools: dict[str, Any], **operator: Any) -> dict[str, Any]:
    return declaration("vsphere", *pools, gpuOperator={**GUEST_DRIVER, **operator})


def on(platform: str, pool: dict[str, Any], **options: Any) -> dict[str, Any]:
    return declaration(platform, {**pool, platform: options})


WHOLE_A100 = {"name": "whole", "gpu": "A100-80GB", "vsphere": MACHINE}
UNLICENSED = {**guest("a"), "sharing": {"vgpu": {"profile": "grid_a100d-40c"}}}
DRIVER_ON: dict[str, Any] = {"driver": {"enabled": True}}

REPAIR = {"mode": "repair", "floor": {"asPlatform": True}}

BEYOND: dict[str, dict[str, Any]] = {
    "driver-installed-twice": declaration("eks", L4, gpuOperator=DRIVER_ON),
    "gpu-cluster-serves-claims": declaration("eks", L4, gpuOperator={"gpuCluster": True}),
    "toolkit-installed-twice": declaration("eks", L4, gpuOperator={"toolkit": {"enabled": True}}),
    "device-plugin-installed-twice": declaration(
        "eks",
        {**L4, "image": "bottlerocket-nvidia"},
        gpuOperator={"devicePlugin": {"enabled": True}},
    ),
    "driver-installed-by-nobody": declaration(
        "eks", {**L4, **OWN_AMI}, gpuOperator={"driver": {"enabled": False}}
    ),
    "toolkit-installed-by-nobody": declaration(
        "eks", {**L4, **OWN_AMI}, gpuOperator={"toolkit": {"enabled": False}}
    ),
    "device-plugin-installed-by-nobody": declaration(
        "eks", L4, gpuOperator={"devicePlugin": {"enabled": False}}
    ),
    "node-feature-discovery-twice": declaration(
        "vsphere",
        RDMA,
        gpuOperator={"nodeFeatureDiscovery": {"enabled": True}},
        networkOperator={"values": {"nfd": {"enabled": True}}},
    ),
    "node-feature-discovery-not-installed": declaration(
        "eks", L4, gpuOperator={"nodeFeatureDiscovery": {"enabled": False}}
    ),
    "gds-without-its-module": declaration(
        "vsphere",
        RDMA,
        gpuOperator={
            "values": {
                "gds": {"enabled": True},
                "driver": {"usePrecompiled": True, "version": "595"},
            }
        },
    ),
    "dra-kubernetes-too-old": of_kubernetes("1.31", dra()),
    "dra-kubernetes-beta": of_kubernetes("1.33", dra()),
    "dra-kubernetes-gate-off": of_kubernetes("1.35", dra(extendedResource=True)),
    "dra-api-not-had": declaration(
        "eks", dra(), draDriver={"values": {"resourceApiVersion": "resource.k8s.io/v9"}}
    ),
    "dra-two-advertisers": declaration("eks", {**dra(), "image": "bottlerocket-nvidia"}),
    "dra-driver-disabled": declaration("eks", dra(), draDriver={"enabled": False}),
    "dra-driver-serves-no-gpus": declaration(
        "eks",
        dra(namespaces=["research"]),
        draDriver={"values": {"resources": {"gpus": {"enabled": False}}}},
    ),
    "dra-driver-roots-differ": declaration("eks", dra(), {**dra("own"), **OWN_AMI}),
    "dra-gate-switched-off": declaration(
        "eks",
        dra(sharing="mps", namespaces=["research"]),
        draDriver={"values": {"featureGates": {"MPSSupport": False}}},
    ),
    "dra-gate-unknown": declaration("eks", dra(devices="mig"), draDriver={"version": "25.3.2"}),
    "dra-gates-conflict": declaration("eks", dra(devices="mig"), dra("mps", sharing="mps")),
    "dra-class-answers-everywhere": declaration("eks", dra(extendedResource=False)),
    "cluster-gate-fixed": with_gates("1.36", DRAExtendedResource=True),
    "cluster-gate-locked": with_gates("1.37", DRAExtendedResource=False),
    "cluster-gate-unknown": with_gates("1.36", DRADerivedAttributes=True),
    "dra-claim-two-ways": claiming({"firstAvailable": EITHER, "adminAccess": True}),
    "dra-admin-namespace": claiming({"adminAccess": True}),
    "dra-shares-differ": declaration("eks", dra(), dra("shared", consumableShares=4)),
    "vgpu-needs-hypervisor": declaration(
        "eks", {"name": "a", "gpu": "A100-80GB", "sharing": guest("a")["sharing"]}
    ),
    "vgpu-unlicensed": guests(UNLICENSED),
    "vgpu-licenses-differ": guests(guest("a"), guest("b", licenseSecret="other")),
    "vgpu-sizes-differ": guests(guest("a"), guest("b", "grid_a100d-20c")),
    "vgpu-schedulers-differ": guests(
        guest("a", scheduler="bestEffort"), guest("b", scheduler="equalShare")
    ),
    "vgpu-guest-driver-missing": guests(guest("a"), driver={}, imagePullSecret=None),
    "vgpu-and-passthrough-drivers": guests(guest("a"), WHOLE_A100),
    "spot-one-type": declaration(
        "eks", {"name": "chat", "instanceTypes": ["g6.xlarge"], "capacity": SPOT}
    ),
    "gke-taint-depends-on-order": declaration("gke", {**L4, "gpuTaint": False}),
    "gke-auto-upgrade-off": on("gke", L4, autoUpgrade=False),
    "health-two-janitors": declaration(
        "eks",
        {**L4, "provisioner": "autoMode", "health": {**REPAIR, "by": "nvsentinel"}},
        gpuOperator={"dcgm": {"enabled": True}},
    ),
    "node-repair-blind-with-mig": declaration("eks", {**CUT, "health": REPAIR}),
    "health-without-floor": declaration("eks", {**L4, "health": {"mode": "repair"}}),
    "taint-never-removed": declaration(
        "gke", {**L4, "taints": [{"key": "gpufleet.dev/not-accepted"}]}
    ),
    "cert-manager-by-no-one": declaration("eks", L4, kueue={"values": {"enableCertManager": True}}),
}
"""Code -> the fleet."""

LABELLED = "node labels in the files keep the operator's part off nodes that have it"
LEFT_OUT = "what the relation is about is left out of the files"
CLAIMS = "which pool's pods claim which devices is in the declaration only"
GATES = "which gates the control plane was started with is in no file"
RELEASE = "which release of the driver reads the values is in those of `render --gitops` only"
ONE_SETTING = "the files have the one setting that the driver gets, not what pools ask for"
DECLARED = "it is about the declaration of a pool, which the audit is asked about itself"

SWITCHES = "node groups and their repair are made by Pulumi, and in no rendered file"

NOT_IN_FILES: dict[str, str] = {
    "driver-installed-twice": LABELLED,
    "toolkit-installed-twice": LABELLED,
    "device-plugin-installed-twice": LABELLED,
    "driver-installed-by-nobody": NODES,
    "toolkit-installed-by-nobody": NODES,
    "device-plugin-installed-by-nobody": ABSENCE,
    "node-feature-discovery-not-installed": ABSENCE,
    "dra-kubernetes-gate-off": LEFT_OUT,
    "dra-two-advertisers": NODES,
    "gpu-cluster-serves-claims": CLAIMS,
    "dra-driver-disabled": ABSENCE,
    "dra-driver-roots-differ": NODES,
    "dra-gate-unknown": RELEASE,
    "dra-class-answers-everywhere": CLAIMS,
    "dra-claim-two-ways": LEFT_OUT,
    "dra-admin-namespace": ABSENCE,
    "dra-shares-differ": ONE_SETTING,
    "cluster-gate-fixed": GATES,
    "cluster-gate-locked": GATES,
    "cluster-gate-unknown": GATES,
    "vgpu-needs-hypervisor": LEFT_OUT,
    "vgpu-unlicensed": NODES,
    "vgpu-licenses-differ": NODES,
    "vgpu-sizes-differ": NODES,
    "vgpu-schedulers-differ": NODES,
    "vgpu-guest-driver-missing": NODES,
    "vgpu-and-passthrough-drivers": NODES,
    "spot-one-type": DECLARED,
    "gke-taint-depends-on-order": DECLARED,
    "gke-auto-upgrade-off": DECLARED,
    "cert-manager-by-no-one": ABSENCE,
    "health-two-janitors": SWITCHES,
    "node-repair-blind-with-mig": SWITCHES,
    "health-without-floor": SWITCHES,
}
"""Code -> why the audit of the rendered folder does not find it. An entry that is found fails."""

FOUND_AS = {
    "gds-without-its-module": "gpu-operator-precompiled-extras",
    "dra-kubernetes-too-old": "dra-chart-kubernetes",
    "dra-gate-switched-off": "dra-gate-missing",
    "image-not-for-kubernetes": "karpenter-al2-ended",
}
"""Code -> the code of the rule about values of charts or claims, which finds it in files."""
