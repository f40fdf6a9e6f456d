"""Node pools that GKE refuses, beyond fields and enumerations.

From the API's own words (discovery document container.v1 of 2026-10-27) and the preconditions of
Google's module (GoogleCloudPlatform/cluster-toolkit 1047080 `modules/compute/gke-node-pool`),
written independently of the decisions of the components. Machine shapes are the catalogue's.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from google.cloud import container_v1beta1

from gpufleet.catalogue import InstanceType, load
from gpufleet.catalogue.edition import DEFAULT_EDITION
from gpufleet_sandbox.cloud.cloud import CloudError

_Reservation = container_v1beta1.ReservationAffinity.Type
_Strategy = container_v1beta1.NodePoolUpdateStrategy
MOST_UPGRADED_AT_ONCE = 20
RESERVATION_KEY = "compute.googleapis.com/reservation-name"


def admit_node_pool(pool: container_v1beta1.NodePool) -> None:
    """Refuse a node pool that GKE would refuse.

    Raises:
        CloudError: all that is wrong.
    """
    found = [
        *_autoscaling(pool),
        *_purchase(pool),
        *_upgrade(pool),
        *_accelerators(pool.config),
        *_network_and_disks(pool),
    ]
    if found:
        raise CloudError(f"googleapi: Error 400: INVALID_ARGUMENT: {'; '.join(found)}")


def _autoscaling(pool: container_v1beta1.NodePool) -> Iterator[str]:
    limits = pool.autoscaling
    if not limits.enabled:
        return
    zonal, total = limits.max_node_count, limits.total_max_node_count
    if (zonal and total) or (limits.min_node_count and limits.total_min_node_count):
        yield "autoscaling limits are per zone or total, not both"
    if limits.min_node_count > zonal or limits.total_min_node_count > total:
        yield "the autoscaling minimum is above the maximum"
    if not zonal and not total:
        yield "autoscaling needs a maximum of at least 1 node"


def _purchase(pool: container_v1beta1.NodePool) -> Iterator[str]:
    config = pool.config
    affinity = config.reservation_affinity
    reserved = affinity.consume_reservation_type in (
        _Reservation.ANY_RESERVATION,
        _Reservation.SPECIFIC_RESERVATION,
    )
    kinds = {
        "spot": config.spot,
        "preemptible": config.preemptible,
        "flexStart": config.flex_start,
        "a reservation": reserved,
    }
    bought = [kind for kind, wanted in kinds.items() if wanted]
    if len(bought) > 1:
        yield f"{' and '.join(bought)} exclude each other"
    queued = pool.queued_provisioning.enabled
    if queued and (reserved or config.spot):
        yield "queued provisioning excludes reservations and spot"
    if queued and not pool.autoscaling.enabled:
        yield "queued provisioning needs autoscaling"
    if config.flex_start and pool.management.auto_repair:
        yield "flex start needs auto repair off"
    named = affinity.consume_reservation_type == _Reservation.SPECIFIC_RESERVATION
    if named and (affinity.key != RESERVATION_KEY or len(affinity.values) != 1):
        yield f"SPECIFIC_RESERVATION needs the key {RESERVATION_KEY} and one value"
    if not named and (affinity.key or affinity.values):
        yield "only SPECIFIC_RESERVATION takes a key and values"
    compact = pool.placement_policy.type_ == container_v1beta1.NodePool.PlacementPolicy.Type.COMPACT
    if compact and len(pool.locations) > 1:
        yield "compact placement needs exactly one zone"
    if compact and queued and not pool.placement_policy.tpu_topology:
        yield "compact placement excludes queued provisioning"


def _upgrade(pool: container_v1beta1.NodePool) -> Iterator[str]:
    settings = pool.upgrade_settings
    if "upgrade_settings" not in pool:
        return
    surge = settings.strategy in (
        _Strategy.SURGE,
        _Strategy.NODE_POOL_UPDATE_STRATEGY_UNSPECIFIED,
    )
    at_once = settings.max_surge + settings.max_unavailable
    if surge and not at_once:
        yield "maxSurge and maxUnavailable cannot both be 0"
    if surge and at_once > MOST_UPGRADED_AT_ONCE:
        yield f"maxSurge and maxUnavailable together are at most {MOST_UPGRADED_AT_ONCE}"
    if settings.strategy == _Strategy.BLUE_GREEN and pool.placement_policy.type_:
        yield "compact placement excludes blue-green upgrades"


def _accelerators(config: container_v1beta1.NodeConfig) -> Iterator[str]:
    row = _machines().get(config.machine_type)
    for accelerator in config.accelerators:
        kind, count = accelerator.accelerator_type, accelerator.accelerator_count
        size = accelerator.gpu_partition_size
        if row is not None and row.gke_accelerator_type not in (None, kind):
            yield f"machine type {row.name} has {row.gke_accelerator_type}, not {kind}"
        if row is not None and count != row.accelerator.count:
            yield f"machine type {row.name} has {row.accelerator.count} accelerators, not {count}"
        if row is not None and size and size not in row.gke_partition_sizes:
            yield f"{kind} has no partition size {size}"
        sharing: Any = accelerator.gpu_sharing_config
        if (
            "gpu_sharing_config" in accelerator
            and not 2 <= (sharing.max_shared_clients_per_gpu) <= 48
        ):
            yield (
                "maxSharedClientsPerGpu must be between 2 and 48, and is "
                f"{sharing.max_shared_clients_per_gpu}"
            )


def _network_and_disks(pool: container_v1beta1.NodePool) -> Iterator[str]:
    network, config = pool.network_config, pool.config
    if network.accelerator_network_profile and network.additional_node_network_configs:
        yield "an accelerator network profile excludes additional node networks"
    if network.accelerator_network_profile not in ("", "auto"):
        yield f"no accelerator network profile {network.accelerator_network_profile}"
    ephemeral = config.ephemeral_storage_local_ssd_config.local_ssd_count
    if ephemeral and config.local_nvme_ssd_block_config.local_ssd_count:
        yield "local SSDs are ephemeral storage or raw block devices, not both"
    if 0 < config.disk_size_gb < 10:
        yield f"a boot disk has at least 10 GB, not {config.disk_size_gb}"


@cache
def _machines() -> dict[str, InstanceType]:
    rows = load(DEFAULT_EDITION).instances.values()
    return {row.name: row for row in rows if row.gke_accelerator_type is not None}
