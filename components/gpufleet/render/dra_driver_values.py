"""Values of the chart of NVIDIA's DRA driver.

Keys and defaults: dra-driver-nvidia-gpu 0.5.0 `values.yaml`. The chart has no values schema and
checks no feature gate.
"""

from typing import Any

from pydantic import Field

from gpufleet.contract.dra import driver_root
from gpufleet.contract.platform_facts import HOST_ROOT
from gpufleet.fleet.chart_values import Values, merged
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DRA_LABEL,
    MIG_CONFIG_LABEL,
    MIG_STATE_LABEL,
)
from gpufleet.fleet.cut_over import claim_cuts
from gpufleet.fleet.image_sources import with_images
from gpufleet.fleet.model import Fleet
from gpufleet.partition.dra_gates import HOST_IMEX
from gpufleet.spec.base import SpecModel

CHART = "dra-driver-nvidia-gpu"


class DriverToleration(SpecModel):
    """A taint the driver's pods bear."""

    key: str
    """Key of the taint."""
    value: str = ""
    """Value of the taint. Default: empty."""
    effect: str
    """`NoSchedule`, `PreferNoSchedule` or `NoExecute`."""


class DraDriverSettings(SpecModel):
    """Values of the DRA driver's chart in typed form."""

    feature_gates: dict[str, bool] = Field(default_factory=dict[str, bool])
    """Gates that differ from the driver's defaults. Default: none."""
    driver_root: str = HOST_ROOT
    """Where the GPU driver's files are on the nodes: `/` (default) where the image brings it,
    `/run/nvidia/driver` where the GPU Operator installs it."""
    node_selector: dict[str, str] = Field(default_factory=lambda: {DRA_LABEL: "true"})
    """Nodes it serves. Default: those of pools with `sharing: {dra: ...}`."""
    tolerations: tuple[DriverToleration, ...] = ()
    """Taints its pods bear next to `nvidia.com/gpu`. Default: none."""
    compute_domains: bool = False
    """Serve multi-node NVLink domains too. Default false."""
    host_managed_imex: bool = False
    """Whether the machines run nvidia-imex themselves. Default false."""
    consumable_shares: str = ""
    """`memory`, `unlimited` or a number of shares of each device. Default: one claim each."""
    after_layouts: bool = False
    """Start only where MIG manager has applied the node's layout. Default false."""


def dra_driver_values(settings: DraDriverSettings) -> dict[str, Any]:
    """The values, every switch written out.

    `gpuResourcesEnabledOverride` says that no device plugin serves the selected nodes; without it
    the chart refuses to serve GPUs.
    """
    affinity = {"affinity": _after_layouts()} if settings.after_layouts else {}
    imex = {"imex": {"mode": "hostManaged"}} if settings.host_managed_imex else {}
    shares = settings.consumable_shares
    return {
        **({"consumableShares": shares} if shares else {}),
        "nvidiaDriverRoot": settings.driver_root,
        "gpuResourcesEnabledOverride": True,
        "resources": {
            "gpus": {"enabled": True},
            "computeDomains": {"enabled": settings.compute_domains, **imex},
        },
        "featureGates": dict(sorted(settings.feature_gates.items())),
        "kubeletPlugin": {
            **affinity,
            "nodeSelector": dict(settings.node_selector),
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                *(
                    {
                        "key": toleration.key,
                        "operator": "Equal",
                        "value": toleration.value,
                        "effect": toleration.effect,
                    }
                    for toleration in settings.tolerations
                ),
            ],
        },
    }


def _after_layouts() -> dict[str, Any]:
    """Nodes without a layout, and those whose layout is applied.

    The driver reads its devices once, when it starts (kubernetes-sigs/dra-driver-nvidia-gpu 1191eaa
    `cmd/gpu-kubelet-plugin/driver.go` NewDriver), and MIG manager stops and starts only
    clients that it knows (NVIDIA/mig-parted `pkg/mig/reconfigure/reconfigure.go`). DaemonSets
    follow labels: the pod goes when a change begins, and the next one finds the new devices.
    """
    terms: list[dict[str, Any]] = [
        {"key": MIG_CONFIG_LABEL, "operator": "DoesNotExist"},
        {"key": MIG_CONFIG_LABEL, "operator": "In", "values": [ALL_DISABLED]},
        {"key": MIG_STATE_LABEL, "operator": "In", "values": ["success"]},
    ]
    selected = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selected}}


def fleet_dra_driver_settings(fleet: Fleet) -> DraDriverSettings:
    """What the pools of a fleet ask of the driver."""
    cuts = list(claim_cuts(fleet))
    served = [pool for pool, _ in cuts]
    roots = {driver_root(pool.image, fleet.platform) for pool in served}
    taints = {
        (taint.key, taint.value, taint.effect)
        for pool in served
        for taint in pool.taints
        if (taint.key, taint.effect) != ("nvidia.com/gpu", "NoSchedule")
    }
    addon = fleet.spec.addons.dra_driver
    gates = {gate: True for _, cut in cuts for gate in cut.gates}
    data: dict[str, Any] = {
        "featureGates": gates | ({HOST_IMEX: True} if addon.host_managed_imex else {}),
        "hostManagedImex": addon.host_managed_imex,
        "consumableShares": next((s for _, cut in cuts if (s := cut.consumable_shares)), ""),
        "driverRoot": min(roots, default=HOST_ROOT),
        "computeDomains": any(cut.compute_domain for _, cut in cuts),
        "afterLayouts": any(cut.devices == "mig" and not cut.on_demand for _, cut in cuts),
        "tolerations": [
            {"key": key, "value": value, "effect": effect} for key, value, effect in sorted(taints)
        ],
    }
    return DraDriverSettings.model_validate(data)


def dra_release_values(fleet: Fleet) -> Values:
    """Values of a fleet's release, the declared `values` merged last."""
    values = dra_driver_values(fleet_dra_driver_settings(fleet))
    return with_images(fleet, CHART, merged(values, fleet.spec.addons.dra_driver.values))


def needs_dra_driver(fleet: Fleet) -> bool:
    """Whether some pool uses claims, or the declaration asks for the driver."""
    declared = fleet.spec.addons.dra_driver.enabled
    if declared is not None:
        return declared
    return any(True for _ in claim_cuts(fleet))
