"""Rows of case tables for `gpufleet check`, and a correct document of each kind.

A case is (code, broken document, fine document or None, circumstances). None represents the kind's
document in FINE. Circumstances are keyword arguments of `judge_text` for both documents.
"""
# one case, one line

from typing import Any

from tests.policies.configurations.autoscaler_cases import FINE_TEXT as AUTOSCALER_FINE
from tests.policies.configurations.karpenter_cases import FINE_TEXT as KARPENTER_FINE
from tests.policies.configurations.object_cases import FINE_TEXT as OBJECT_FINE

KUEUE_FINE = (
    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\n"
    "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: "
    "[{name: a, resources: [{name: cpu, nominalQuota: 9}]}]}]}\n"
)

Circumstances = dict[str, Any]

CaseRow = tuple[str, str, str | None, Circumstances]

FINE = {
    "mig-parted": "version: v1\nmig-configs: {a: [{devices: all, mig-enabled: true, "
    "mig-devices: {1g.10gb: 7}}]}",
    "device-plugin": "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
    "device-plugin-values": "migStrategy: single",
    "dra-driver-values": "gpuResourcesEnabledOverride: true",
    "dra-config": "apiVersion: resource.nvidia.com/v1beta1\nkind: GpuConfig",
    "gpu-operator-values": "mig: {strategy: mixed}",
    "network-operator-values": "nfd: {enabled: false}",
    "dcgm-exporter-values": "serviceMonitor: {enabled: true}",
    "karpenter-values": "settings: {clusterName: a}",
    "keda-values": "operator: {replicaCount: 2}",
    "kueue-values": "enablePrometheus: true",
    "rdma-shared-config": '{"configList": [{"resourceName": "rdma-a", "rdmaHcaMax": 63, '
    '"selectors": {"vendors": ["15b3"]}}]}',
    "sriov-config": '{"resourceList": [{"resourceName": "hostdev", '
    '"selectors": {"vendors": ["15b3"]}}]}',
    "karpenter": KARPENTER_FINE,
    "autoscaler": AUTOSCALER_FINE,
    "kueue": KUEUE_FINE,
    "kubernetes-object": OBJECT_FINE,
}

A100: Circumstances = {"gpu": "A100-80GB"}

ARGUED: Circumstances = {"gpu": "A100-80GB", "context": {"gpusPerNode": 2}}

MIXED: Circumstances = {"gpu": "A100-80GB", "context": {"env": {"MIG_STRATEGY": "mixed"}}}

SINGLE: Circumstances = {
    "gpu": "A100-80GB",
    "context": {"gpusPerNode": 2, "env": {"MIG_STRATEGY": "single"}},
}


def dra_chart(**values: Any) -> Circumstances:
    values = {"gpuResourcesEnabledOverride": True, **values}
    return {"context": {"chart": {"name": "dra-driver-nvidia-gpu", "values": values}}}


def several(*items: str) -> str:
    return "apiVersion: v1\nkind: List\nitems: [" + ", ".join(items) + "]"
