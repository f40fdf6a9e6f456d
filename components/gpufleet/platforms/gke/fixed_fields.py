"""What of a GKE node pool cannot change in place: a change there makes a new pool.

Names of the settings as the declaration has them. Source: `ForceNew` in hashicorp/
terraform-provider-google e03b762 `google/services/container/{node_config,
resource_container_node_pool}.go` (2026-08-21). Machine type, image, disk size and type, labels,
taints, limits, upgrade and repair settings change in place.
"""

from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.auto_class import auto_created
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.gke.tpu import tpu_slice
from gpufleet.spec.base import Platform


def fixed_settings(pool: Pool) -> dict[str, str]:
    """Setting -> its value in words, for everything that is decided when a node pool is made; empty
    for pools of other platforms, and where GKE makes node pools by itself."""
    row = pool.machines[0].instance
    if pool.platform.name is not Platform.GKE or row is None or auto_created(pool):
        return {}
    shape = gke_shape(pool)
    options, partition = shape.options, pool.partition
    slice_ = tpu_slice(pool)
    streaming = bool(options.image_streaming or options.image_cache)
    profile = "" if shape.operator else ", ".join(sorted(partition.slices))
    clients = 1 if shape.operator else partition.replicas
    return {
        "gpu": f"{pool.gpus_per_node} {row.gke_accelerator_type}",
        "sharing": f"{profile or 'whole'}, {clients} clients"
        + ("" if clients == 1 else f" by {partition.mode}"),
        "gke.driver": "gpuOperator" if shape.operator else f"gke {options.driver_version}",
        "capacity": "; ".join(
            " ".join(
                str(part)
                for part in (
                    step.capacity.mode,
                    "by flex start" if step.queued and step.flex_start else None,
                    step.reservation_type,
                    step.reservation,
                    step.max_run_seconds,
                )
                if part is not None
            )
            for step in shape.steps
        ),
        "gke.localSsds": f"{shape.local_ssds} {options.local_ssd_use.value}",
        "gke.kmsKey": str(options.kms_key),
        "gke.maintenanceInterval": str(options.maintenance_interval),
        "gke.imageCache": f"{options.image_cache}, streaming {streaming}",
        "gke.maxPods": str(options.max_pods),
        "gke.compactPlacement": str(options.compact_placement),
        "gke.secureBoot": str(shape.secure_boot),
        "gke.acceleratorNetworkProfile": str(options.accelerator_network_profile),
        "fabric": ", ".join(network.name for network in shape.networks),
        "gke.tpuTopology": "" if slice_ is None else slice_.topology,
    }


def taken_over(old: Pool, new: Pool) -> bool:
    """Whether both declare one node pool that exists: its machines stay what they are, whatever
    else is declared of them."""
    imported = old.spec.import_id
    return (
        new.platform.name is Platform.GKE
        and imported is not None
        and imported == new.spec.import_id
    )


def new_pool_because(old: Pool, new: Pool) -> dict[str, tuple[str, str]]:
    """Settings whose change makes a new node pool, with their value before and after."""
    before, after = fixed_settings(old), fixed_settings(new)
    if not before or not after or taken_over(old, new):
        return {}
    return {name: (before[name], after[name]) for name in after if before[name] != after[name]}
