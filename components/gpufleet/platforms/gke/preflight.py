"""Checks of a fleet's Google project: offers, quotas, reservations with free machines, a recent
enough cluster, and imported node pools that match their declaration."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, Wiring
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.accounts.google_offers import ask_offered
from gpufleet.platforms.accounts.google_quotas import ask_quotas
from gpufleet.platforms.gke.autopilot import validate_autopilot
from gpufleet.platforms.gke.names import imported_place
from gpufleet.platforms.gke.node_pool_arguments import node_pools
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.gke.version_floors import floors
from gpufleet.spec.base import Ownership
from gpufleet.spec.capacity import Reserved

_finding, _rules = findings_in(__file__), rules_in(__file__)


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Check everything about the pools that gpufleet creates.

    Raises:
        CannotAskError: no client libraries, no credentials or no project.
    """
    answers = Answers()
    google = GoogleClient(fleet.spec.cluster.project, answers)
    pools = [pool for pool in fleet.pools if pool.ownership is not Ownership.EXISTING]
    zones = ask_cluster(google, fleet, pools, answers)
    for pool in pools:
        shape = gke_shape(pool)
        offered = _zones(pool, sorted(wiring.subnets) or zones)
        ask_offered(google, pool, shape.machine_type, offered, answers)
        for index, entry in enumerate(pool.capacity):
            if entry.reserved is not None:
                path = f"{pool.path}.capacity[{index}].reserved"
                ask_reservation(google, pool, path, entry.reserved, answers)
    ask_quotas(google, fleet, [_purchase(pool) for pool in pools], answers)
    return answers


def _zones(pool: Pool, there: Sequence[str]) -> list[str]:
    """Zones of its reservations, else its own, else those of the cluster."""
    shape = gke_shape(pool)
    reserved = [step.zone for step in shape.steps if step.zone is not None]
    return list(dict.fromkeys(reserved)) or list(shape.zones) or list(there)


def _purchase(pool: Pool) -> tuple[Pool, list[bool]]:
    """The steps that use a quota, and whether it is that of preemptible GPUs. Reserved GPUs were
    counted when they were reserved."""
    steps = [step for step in gke_shape(pool).steps if step.reservation is None]
    return pool, [step.spot or step.flex_start or step.queued for step in steps]


def ask_cluster(
    google: GoogleClient, fleet: Fleet, pools: Sequence[Pool], answers: Answers
) -> list[str]:
    """Its version compared with the declared one and the pools' needs, and node pools to be
    imported; returns its zones."""
    cluster, project = fleet.spec.cluster, google.project
    region = cluster.region
    missing = _finding("cluster-not-found", found=cluster.name, region=region, project=project)
    found: Any = google.answer("cluster", missing, name=cluster.name, region=region)
    if found is None:
        return []
    answers.findings += _differences(fleet, found)
    for pool in pools:
        answers.findings += _lacking(pool, found)
    answers.findings += validate_imports(pools, found.node_pools)
    return sorted(found.locations)


def _differences(fleet: Fleet, found: Any) -> Iterator[Finding]:
    """Version and mode; a declared mode is validated when compiling."""
    cluster, version = fleet.spec.cluster, str(found.current_master_version)
    automatic, same = (
        bool(found.autopilot.enabled),
        version.startswith(f"{cluster.kubernetes_version}."),
    )
    known = {"version": version, "minor": ".".join(version.split(".")[:2]), "same": same}
    yield from _rules("cluster", "", cluster=cluster, automatic=automatic, **known)
    if found.autopilot.enabled and not cluster.autopilot:
        yield from validate_autopilot(fleet.spec, fleet.pools, fleet.addons)


def _lacking(pool: Pool, found: Any) -> Iterator[Finding]:
    """Release, channel and networks that the pool's nodes need."""
    version, network = str(found.current_master_version), found.network_config
    for floor in floors(pool):
        if floor.is_below(version):
            place, limit = f"{pool.path}.{floor.field}", floor.of(version)
            yield from _rules("floor", place, floor=floor, version=version, limit=limit)
    channel = found.release_channel.channel
    known = {
        "provider": network.datapath_provider.name,
        "several": bool(network.enable_multi_networking),
        "channel": channel.name if channel else None,
    }
    yield from _rules("network", pool.path, pool=pool, shape=gke_shape(pool), **known)


def validate_imports(pools: Sequence[Pool], found: Iterable[Any]) -> Iterator[Finding]:
    """Compare each declaration with the node pool of that name.

    An imported node pool keeps its machine, its GPUs and their sharing: the fleet's declaration
    must match them.

    Args: pools: The fleet's pools. found: The cluster's node pools, in the form of the container
        API.
    """
    there = {str(one.name): one for one in found}
    for pool in pools:
        place = None if pool.spec.import_id is None else imported_place(pool.spec.import_id)
        if place is None:
            continue
        name = place["name"]
        if name not in there:
            fix = f"one of {', '.join(sorted(there))}" if there else "remove importId"
            yield _finding("import-not-found", pool.path, fix=fix, found=name)
            continue
        (arguments,) = node_pools(pool, "", {}).values()
        declared, real = _said(arguments["nodeConfig"]), _is(there[name].config)
        for what, value in declared.items():
            if value != (actual := real[what]):
                yield _finding(
                    "import-differs", pool.path, name=name, what=what, found=actual, declared=value
                )


def _said(config: Mapping[str, Any]) -> dict[str, str]:
    accelerators: Sequence[dict[str, Any]] = config.get("guestAccelerators") or [{}]
    gpu = accelerators[0]
    sharing: dict[str, Any] = gpu.get("gpuSharingConfig") or {}
    return {
        "machine type": str(config["machineType"]),
        "GPUs": f"{gpu.get('count', 0)} {gpu.get('type', '')}".strip(),
        "partition size": gpu.get("gpuPartitionSize") or "none",
        "clients": _clients(
            sharing.get("gpuSharingStrategy", ""), sharing.get("maxSharedClientsPerGpu", 0)
        ),
        "spot": str(bool(config.get("spot"))).lower(),
    }


def _is(config: Any) -> dict[str, str]:
    gpus = list(config.accelerators)
    gpu = gpus[0] if gpus else None
    sharing = None if gpu is None else gpu.gpu_sharing_config
    shared = sharing is not None and sharing.max_shared_clients_per_gpu > 0
    return {
        "machine type": str(config.machine_type),
        "GPUs": "0" if gpu is None else f"{gpu.accelerator_count} {gpu.accelerator_type}",
        "partition size": (gpu.gpu_partition_size if gpu is not None else "") or "none",
        "clients": _clients(sharing.gpu_sharing_strategy.name, sharing.max_shared_clients_per_gpu)
        if sharing is not None and shared
        else "1",
        "spot": str(bool(config.spot)).lower(),
    }


def _clients(strategy: str, clients: int) -> str:
    return f"{clients} by {strategy}" if clients > 1 else "1"


def ask_reservation(
    google: GoogleClient, pool: Pool, path: str, reserved: Reserved, answers: Answers
) -> None:
    """Check one reservation of a pool, and its block."""
    zone = reserved.zone or next(iter(pool.spec.zones), None)
    parts = reserved.id.split("/")  # a shared reservation names its owner
    project, name = (parts[1], parts[3]) if len(parts) == 4 else (google.project, reserved.id)
    question = f"reservation {reserved.id}"
    if zone is None:
        answers.could_not_check(
            f"{path}.zone", question, "no zone is declared", "write the reservation's zone"
        )
        return
    place = {"project": project, "zone": zone, "name": name}
    missing = _finding(
        "reservation-not-found", path, project=project, zone=zone, name=name, found=reserved.id
    )
    found: Any = google.answer("reservation", missing, path=path, question=question, **place)
    if found is None:
        return
    specific, wanted = found.specific_reservation, gke_shape(pool).machine_type
    known = {
        "machine": str(specific.instance_properties.machine_type),
        "specific": bool(found.specific_reservation_required),
        "status": str(found.status),
    }
    answers.findings += _rules("reservation", path, wanted=wanted, **known)
    room, what = int(specific.count) - int(specific.in_use_count), f"reservation {name}"
    for block in reserved.blocks:
        missing = _finding("reservation-block-not-found", path, name=name, found=block)
        answer: Any = google.answer("reservationBlock", missing, path=path, block=block, **place)
        if answer is None:
            return
        resource: Any = answer.resource
        room, what = int(resource.count) - int(resource.in_use_count), f"block {block} of {name}"
    answers.findings += _rules("room", pool.path, pool=pool, what=what, room=room)
