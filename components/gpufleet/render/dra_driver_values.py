"""Values of the chart of NVIDIA's DRA driver.

Keys and defaults: dra-driver-nvidia-gpu 0.5.0 `values.yaml`. The chart has no values schema and
checks no feature gate.
"""

from typing import Any

from gpufleet.contract.dra import driver_root
from gpufleet.contract.platform_facts import HOST_ROOT
from gpufleet.fleet.chart_values import Values, merged
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DRA_LABEL,
    MIG_CONFIG_LABEL,
    MIG_STATE_LABEL,
)
from gpufleet.fleet.cut_over import claim_cuts, claim_gates
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import Fleet
from gpufleet.partition.dra_gates import HOST_IMEX

CHART = "dra-driver-nvidia-gpu"


def dra_driver_values(fleet: Fleet) -> Values:
    """Values of the driver that the pools of a fleet need, with every switch.

    `gpuResourcesEnabledOverride` states that no device plugin serves the selected nodes; without it
    the chart refuses to serve GPUs.
    """
    cuts = list(claim_cuts(fleet))
    addon = fleet.spec.addons.dra_driver
    roots = {driver_root(pool.image, fleet.platform) for pool, _ in cuts}
    taints = {
        (taint.key, taint.value, taint.effect)
        for pool, _ in cuts
        for taint in pool.taints
        if (taint.key, taint.effect) != ("nvidia.com/gpu", "NoSchedule")
    }
    waits = any(cut.devices == "mig" and not cut.on_demand for _, cut in cuts)
    affinity = {"affinity": _after_layouts()} if waits else {}
    host = (HOST_IMEX,) if addon.host_managed_imex else ()
    imex = {"imex": {"mode": "hostManaged"}} if host else {}
    shares = next((s for _, cut in cuts if (s := cut.consumable_shares)), "")
    return {
        **({"consumableShares": shares} if shares else {}),
        "nvidiaDriverRoot": min(roots, default=HOST_ROOT),
        "gpuResourcesEnabledOverride": True,
        "resources": {
            "gpus": {"enabled": True},
            "computeDomains": {"enabled": any(cut.compute_domain for _, cut in cuts), **imex},
        },
        "featureGates": dict.fromkeys(sorted((*claim_gates(fleet), *host)), True),
        "kubeletPlugin": {
            **affinity,
            "nodeSelector": {DRA_LABEL: "true"},
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                *(
                    {"key": key, "operator": "Equal", "value": value, "effect": effect}
                    for key, value, effect in sorted(taints)
                ),
            ],
        },
    }


def _after_layouts() -> dict[str, Any]:
    """Nodes without a layout, and those whose layout is applied.

    The driver reads its devices once, when it starts (kubernetes-sigs/dra-driver-nvidia-gpu 1191eaa
    `cmd/gpu-kubelet-plugin/driver.go` NewDriver), and MIG manager stops and starts only
    clients that it knows (NVIDIA/mig-parted `pkg/mig/reconfigure/reconfigure.go`). DaemonSets
    follow labels: the pod is removed when a change begins, and the next pod reads the new devices.
    """
    terms: list[dict[str, Any]] = [
        {"key": MIG_CONFIG_LABEL, "operator": "DoesNotExist"},
        {"key": MIG_CONFIG_LABEL, "operator": "In", "values": [ALL_DISABLED]},
        {"key": MIG_STATE_LABEL, "operator": "In", "values": ["success"]},
    ]
    selected = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selected}}


def dra_release_values(fleet: Fleet) -> Values:
    """Values of a fleet's release, the declared `values` merged last."""
    values = merged(dra_driver_values(fleet), fleet.spec.addons.dra_driver.values)
    return with_images(fleet, CHART, values)


def needs_dra_driver(fleet: Fleet) -> bool:
    """Whether the driver's own chart is installed: a pool uses claims and no GPUCluster of the
    operator runs the driver, or the declaration enables it."""
    addons = fleet.spec.addons
    if addons.dra_driver.enabled is not None:
        return addons.dra_driver.enabled
    return not addons.gpu_operator.gpu_cluster and any(True for _ in claim_cuts(fleet))
