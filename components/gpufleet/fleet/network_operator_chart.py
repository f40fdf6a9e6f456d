"""Values of the Network Operator chart.

Keys and defaults: Mellanox/network-operator v26.4.1 `deployment/network-operator/values.yaml` (read
2026-11-21). The chart has no values schema.
"""

from gpufleet.contract.tolerations import GPU_TOLERATION
from gpufleet.fleet.chart_values import Values, merged
from gpufleet.fleet.model import NetworkPlan
from gpufleet.spec.addons import Addons

_CONTROL_PLANE = [
    {"key": f"node-role.kubernetes.io/{role}", "operator": "Exists", "effect": "NoSchedule"}
    for role in ("master", "control-plane")
]
PCI_CLASSES = ("02", "0200", "0207", "0300", "0302")
"""PCI classes that are labelled by vendor: network and display controllers, which identify NIC and
GPU nodes. The chart's own list has only display controllers."""


def network_operator_values(addons: Addons, plan: NetworkPlan) -> Values:
    """The values, the declared `values` merged last."""
    declared = addons.network_operator
    values: Values = {
        "nfd": {"enabled": plan.node_feature_discovery, "deployNodeFeatureRules": True},
        "sriovNetworkOperator": {"enabled": False},
        "maintenanceOperator": {"enabled": False},
    }
    if plan.node_feature_discovery:
        worker: Values = {
            "config": {
                "sources": {
                    "pci": {
                        "deviceClassWhitelist": list(PCI_CLASSES),
                        "deviceLabelFields": ["vendor"],
                    }
                }
            }
        }
        if plan.tolerations:
            # Lists replace those of the chart: the chart's own entries are written again.
            ours = [t.as_dict() for t in plan.tolerations]
            worker["tolerations"] = [*_CONTROL_PLANE, GPU_TOLERATION.as_dict(), *ours]
        values["node-feature-discovery"] = {"worker": worker}
    if declared.image_pull_secret is not None:
        values["imagePullSecrets"] = [declared.image_pull_secret]
    return merged(values, declared.values)
