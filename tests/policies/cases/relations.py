"""Cases of rules/relations.py."""

from typing import Any

from gpufleet.contract.health import MANAGED_LABEL
from gpufleet.contract.relation import MONITORING_AGENT as AGENT
from gpufleet.findings import Level
from tests.policies.cases.case import FLEET, Case, Thing, manifest
from tests.policies.cases.pools import EKS_TAINT, QUIET, node_group
from tests.policies.cases.sharing import operator


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

PLUGIN = "kubernetes:helm.sh/v3:Release"


def plugin(values: dict[str, object]) -> Thing:
    """A release of the device plugin's own chart."""
    return Thing(PLUGIN, {"chart": "nvidia-device-plugin", "values": values}, "plugin")


def dra_driver(values: dict[str, object]) -> Thing:
    """A release of the DRA driver's chart."""
    return Thing(PLUGIN, {"chart": "dra-driver-nvidia-gpu", "values": values}, "dra")


PARTS_OFF = {"driver": {"enabled": False}, "toolkit": {"enabled": False}}
REBOOTS = {"migManager": {"env": [{"name": "WITH_REBOOT", "value": "true"}]}}
CUT = {"instanceTypes": ["p4d.24xlarge"], "labels": {"nvidia.com/mig.config": "all-1g.5gb"}}
TAINTED = node_group({"taints": [{"key": "team", "value": "ml", "effect": "NO_SCHEDULE"}]})
PEERMEM = {"driver": {"rdma": {"enabled": True}}}
HOST_OFED = {"driver": {"rdma": {"enabled": True, "useHostMofed": True}}}
DEVICES = {"rdmaSharedDevicePlugin": {"image": "k8s-rdma-shared-dev-plugin"}}
WITH_OFED = {**DEVICES, "ofedDriver": {"image": "doca-driver"}}


def nic_policy(spec: dict[str, Any]) -> Thing:
    """Objects that the Network Operator installs."""
    return manifest(
        {
            "apiVersion": "mellanox.com/v1alpha1",
            "kind": "NicClusterPolicy",
            "metadata": {"name": "nic-cluster-policy"},
            "spec": spec,
        }
    )


def tolerations(*keys: str) -> dict[str, Any]:
    listed = [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in keys]
    return {"daemonsets": {"tolerations": listed}, "nfd": {"enabled": False}}


def rdma(policy: dict[str, Any]) -> tuple[Thing, ...]:
    return (machine_set("g6.2xlarge"), nic_policy(policy))


def karpenter_chart(values: dict[str, Any]) -> Thing:
    """A release of Karpenter."""
    return Thing(PLUGIN, {"chart": "karpenter", "version": "1.14.1", "values": values}, "karpenter")


def sentinel(quarantine: dict[str, Any]) -> Thing:
    """A release of NVSentinel that takes broken nodes out of service."""
    values = {"global": {"faultQuarantine": {"enabled": True}}, "fault-quarantine": quarantine}
    return Thing(PLUGIN, {"chart": "nvsentinel", "values": values}, "nvsentinel")


NODE_CLASS = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"}
CUT_NODES = manifest(
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "cut"},
        "spec": {
            "limits": {"nvidia.com/gpu": 16},
            "template": {
                "metadata": {"labels": {"nvidia.com/mig.config": "all-1g.5gb"}},
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.k8s.aws",
                        "kind": "EC2NodeClass",
                        "name": "a",
                    },
                    "requirements": [
                        {
                            "key": "node.kubernetes.io/instance-type",
                            "operator": "In",
                            "values": ["p4d.24xlarge"],
                        }
                    ],
                },
            },
        },
    }
)


def claim(name: str = "gpu", device_class: str = "gpu.nvidia.com", **how: object) -> Thing:
    """A template of claims for one device, a GPU by default."""
    request = {"name": "gpu", "exactly": {"deviceClassName": device_class, **how}}
    return manifest(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        }
    )


ML = manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}})
OVERRIDE: dict[str, object] = {"gpuResourcesEnabledOverride": True}
NETWORK = Thing(
    PLUGIN,
    {"chart": "network-operator", "version": "26.4.1", "values": {"nfd": {"enabled": True}}},
    "network",
)

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
        "driver-not-for-gpu",
        node_group({"instanceTypes": ["g7.2xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}),
        node_group({"instanceTypes": ["g7.2xlarge"], "amiType": "BOTTLEROCKET_x86_64_NVIDIA"}),
        "driver 580 does not support RTX-PRO-4500-BLACKWELL-32GB",
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
        "driver-too-old-for-mig",
        release({"driver": {"version": "450.80.02"}, **REBOOTS}),
        release({"driver": {"version": "440.33.01"}, **REBOOTS}),
        "MIG on A100-40GB needs driver 450.80.02, and nodes of gpu have 440.33.01",
        Level.ADVISORY,
        alongside=(node_group({**CUT, "amiType": "CUSTOM"}),),
    ),
    Case(
        "mig-mode-may-need-reboot",
        operator(REBOOTS),
        operator({}),
        "switch MIG mode by a reset, which eks may forbid",
        Level.ADVISORY,
        alongside=(node_group(CUT),),
    ),
    Case(
        "operands-do-not-tolerate",
        operator({**PARTS_OFF, **tolerations("nvidia.com/gpu", "team")}),
        operator({**PARTS_OFF, **tolerations("nvidia.com/gpu")}),
        "are tainted team:NoSchedule, and the operator's operands would not run there",
        Level.ADVISORY,
        alongside=(TAINTED,),
    ),
    Case(
        "peermem-without-driver-container",
        operator(PARTS_OFF),
        operator({**PARTS_OFF, "driver": {"enabled": False, "rdma": {"enabled": True}}}),
        "get the driver from their image: it has no effect there",
        Level.ADVISORY,
        alongside=(node_group({"amiType": "AL2023_x86_64_NVIDIA"}),),
    ),
    Case(
        "ofed-from-two-places",
        release(PEERMEM),
        release(HOST_OFED),
        "the Network Operator installs it in a container",
        alongside=rdma(WITH_OFED),
    ),
    Case(
        "driver-waits-for-ofed",
        release(HOST_OFED),
        release(PEERMEM),
        "every driver pod would wait for a DOCA-OFED container that is never deployed",
        alongside=rdma(DEVICES),
    ),
    Case(
        "rdma-without-a-path",
        release({"driver": {"kernelModuleType": "open"}}),
        release({"driver": {"kernelModuleType": "proprietary"}}),
        "NICs could not reach GPU memory",
        Level.ADVISORY,
        alongside=rdma(DEVICES),
    ),
    Case(
        "karpenter-does-not-know-the-gpus",
        karpenter_chart({"settings": {"featureGates": {"nodeOverlay": True}}}),
        karpenter_chart({"settings": {"featureGates": {"nodeOverlay": False}}}),
        "Karpenter assumes 8 GPUs on a node of cut, which will offer",
        alongside=(CUT_NODES, operator({"mig": {"strategy": "mixed"}})),
    ),
    Case(
        "kubernetes-too-old-for-chart",
        release({}, "v25.3.4"),
        release({}),
        "refuses Kubernetes below",
        alongside=(node_group({"version": "1.15"}),),
    ),
    Case(
        "kubernetes-not-documented-for-chart",
        release({}, "v25.3.4"),
        release({}),
        "is documented for Kubernetes",
        Level.ADVISORY,
        alongside=(node_group({"version": "1.31"}),),
    ),
    Case(
        "two-advertisers",
        plugin({"nodeSelector": {"plugin": "own"}}),
        plugin({}),
        "Release gpu-operator/gpu-operator runs a device plugin too",
        alongside=(operator(PARTS_OFF),),
    ),
    Case(
        "two-advertisers",
        dra_driver({"resources": {"gpus": {"enabled": False}}}),
        dra_driver({"gpuResourcesEnabledOverride": True}),
        "Release gpu-operator/gpu-operator runs a device plugin for the same GPUs",
        alongside=(operator(PARTS_OFF),),
    ),
    Case(
        "node-feature-discovery-twice",
        release({"nfd": {"enabled": False}}),
        release({"nfd": {"enabled": True}}),
        "the GPU Operator and the Network Operator would both run Node Feature Discovery",
        alongside=(NETWORK,),
    ),
    Case(
        "dra-api-not-had",
        dra_driver({**OVERRIDE, "resourceApiVersion": "resource.k8s.io/v1"}),
        dra_driver({**OVERRIDE, "resourceApiVersion": "resource.k8s.io/v9"}),
        "'resource.k8s.io/v9' is not a version of the API that Kubernetes 1.36 has",
        alongside=(node_group({"version": "1.36"}),),
    ),
    Case(
        "dra-kubernetes-beta",
        plugin({}),
        dra_driver(OVERRIDE),
        "resource.k8s.io is a beta API in Kubernetes 1.33",
        Level.ADVISORY,
        alongside=(node_group({"version": "1.33"}),),
    ),
    Case(
        "dra-driver-serves-no-gpus",
        dra_driver({**OVERRIDE, "resources": {"gpus": {"enabled": True}}}),
        dra_driver({"resources": {"gpus": {"enabled": False}}}),
        "serves compute domains only, and ResourceClaimTemplate ml/gpu requests GPUs from it",
        Level.ADVISORY,
        alongside=(claim(),),
    ),
    Case(
        "dra-admin-namespace",
        claim(),
        claim(adminAccess=True),
        'namespace ml lacks the label resource.kubernetes.io/admin-access: "true"',
        Level.ADVISORY,  # before 1.33 it is not requested
        alongside=(ML,),
    ),
    Case(
        "dra-admin-namespace",
        claim(),
        claim(adminAccess=True),
        'namespace ml lacks the label resource.kubernetes.io/admin-access: "true"',
        alongside=(ML, *QUIET, node_group({"version": "1.34"})),
    ),
    Case(
        "health-without-floor",
        sentinel({"circuitBreaker": {"enabled": True}}),
        sentinel({"circuitBreaker": {"enabled": False}}),
        "no minimum number of healthy nodes is set",
        Level.ADVISORY,
    ),
    Case(
        "health-two-janitors",
        node_group({"labels": {"k8s.amazonaws.com/accelerator": "l4", MANAGED_LABEL: "false"}}),
        node_group(),
        "EKS node auto repair repairs nodes of gpu, and NVSentinel would act on the same nodes",
        Level.ADVISORY,
        alongside=(FLEET, sentinel({})),
    ),
    Case(
        "node-repair-blind-with-mig",
        node_group({"instanceTypes": ["p4d.24xlarge"]}),
        node_group(CUT),
        "acts on a silent kubelet, and on no error of a GPU",
        Level.ADVISORY,
        alongside=(FLEET, Thing("aws:eks/addon:Addon", {"addonName": AGENT}, "agent")),
    ),
    Case(
        "taint-never-removed",
        node_group(),
        node_group({"taints": [EKS_TAINT, {**EKS_TAINT, "key": "gpufleet.dev/not-accepted"}]}),
        "no program that removes the taint gpufleet.dev/not-accepted from nodes of gpu",
        Level.ADVISORY,
    ),
)
