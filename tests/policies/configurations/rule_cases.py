"""For every rule of `gpufleet check`: a document that breaks it, and one close to it that does not."""
# ruff: noqa: E501  # one case, one line

from tests.policies.configurations.autoscaler_cases import CASES as AUTOSCALER
from tests.policies.configurations.case_rows import CaseRow
from tests.policies.configurations.chart_cases import DRA_VALUES, PLUGIN_VALUES
from tests.policies.configurations.claim_cases import CLAIMS
from tests.policies.configurations.device_plugin_cases import DEVICE_PLUGIN, DRA
from tests.policies.configurations.karpenter_cases import CASES as KARPENTER
from tests.policies.configurations.kueue_cases import CASES as KUEUE
from tests.policies.configurations.mig_cases import MIG_PARTED
from tests.policies.configurations.network_cases import NETWORK_OPERATOR, RDMA, SRIOV
from tests.policies.configurations.object_cases import CASES as OBJECTS
from tests.policies.configurations.operator_cases import GPU_OPERATOR
from tests.policies.configurations.scaling_chart_cases import (
    DCGM_VALUES,
    KARPENTER_VALUES,
    KEDA_VALUES,
    KUEUE_VALUES,
)

CASES: dict[str, list[CaseRow]] = {
    "mig-parted": MIG_PARTED,
    "device-plugin": DEVICE_PLUGIN,
    "device-plugin-values": PLUGIN_VALUES,
    "dra-driver-values": DRA_VALUES,
    "dcgm-exporter-values": DCGM_VALUES,
    "karpenter-values": KARPENTER_VALUES,
    "keda-values": KEDA_VALUES,
    "kueue-values": KUEUE_VALUES,
    "dra-config": [*DRA, *CLAIMS],
    "gpu-operator-values": GPU_OPERATOR,
    "network-operator-values": NETWORK_OPERATOR,
    "rdma-shared-config": RDMA,
    "sriov-config": SRIOV,
    "karpenter": KARPENTER,
    "kubernetes-object": OBJECTS,
    "autoscaler": AUTOSCALER,
    "kueue": KUEUE,
}
