"""Values of the chart of NVIDIA's DRA driver (`objects/dra_driver.yaml`)."""

from gpufleet.contract.dra import driver_root
from gpufleet.contract.platform_facts import HOST_ROOT
from gpufleet.contract.tolerations import GPU_TOLERATION
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
from gpufleet.render.data_files import data_part

CHART = "dra-driver-nvidia-gpu"


def dra_driver_values(fleet: Fleet) -> Values:
    """Values of the driver that the pools of a fleet need."""
    cuts = list(claim_cuts(fleet))
    host = (HOST_IMEX,) if fleet.spec.addons.dra_driver.host_managed_imex else ()
    taints = {
        (taint.key, taint.value, taint.effect)
        for pool, _ in cuts
        for taint in pool.taints
        if (taint.key, taint.effect) != ("nvidia.com/gpu", "NoSchedule")
    }
    return data_part(
        "dra_driver",
        "values",
        shares=next((s for _, cut in cuts if (s := cut.consumable_shares)), None),
        root=min((driver_root(one.image, fleet.platform) for one, _ in cuts), default=HOST_ROOT),
        domains=any(cut.compute_domain for _, cut in cuts),
        host=host,
        gates=dict.fromkeys(sorted((*claim_gates(fleet), *host)), True),
        waits=any(cut.devices == "mig" and not cut.on_demand for _, cut in cuts),
        layout=MIG_CONFIG_LABEL,
        disabled=ALL_DISABLED,
        state=MIG_STATE_LABEL,
        nodes={DRA_LABEL: "true"},
        tolerations=[
            GPU_TOLERATION.as_dict(),
            *(
                {"key": key, "operator": "Equal", "value": value, "effect": effect}
                for key, value, effect in sorted(taints)
            ),
        ],
    )


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
