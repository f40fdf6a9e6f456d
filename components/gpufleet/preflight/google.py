"""What a fleet on GKE needs of its Google project: offers, quotas, reservations, versions."""

import re
from collections.abc import Sequence
from typing import Any

from gpufleet.findings import error, warning
from gpufleet.fleet.gke_shape import gke_shape
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.preflight.answers import Answers, MissingError, NotAnsweredError, Wiring
from gpufleet.preflight.google_client import GoogleClient
from gpufleet.preflight.google_reservations import ask_reservation
from gpufleet.preflight.gpu_quotas import ALL_REGIONS, GpuNeed, needs
from gpufleet.spec.base import Ownership

FLOORS = {
    "automatic": (
        "1.34.1-gke.1829001",
        "gke.acceleratorNetworkProfile",
        "networks that GKE makes by itself",
    ),
    "ladder": ("1.30.3-gke.1451000", "capacity", "a ComputeClass over several ways of buying"),
    "driver": ("1.30.1-gke.1156000", "gke.driver", "GKE's own installation of the driver"),
}
"""What a pool uses -> the first release that has it, the field, and what it is (GKE
documentation and provider documentation, read 2026-11-21)."""

ADVANCED_DATAPATH = "ADVANCED_DATAPATH"
_RELEASE = re.compile(r"^(\d+)\.(\d+)\.(\d+)(?:-gke\.(\d+))?")


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Ask everything about the pools that gpufleet makes.

    Raises:
        CannotAskError: no client libraries, no credentials or no project.
    """
    answers = Answers()
    google = GoogleClient(fleet.spec.cluster.project, answers)
    pools = [pool for pool in fleet.pools if pool.ownership is not Ownership.EXISTING]
    zones = _cluster(google, fleet, pools, answers)
    for pool in pools:
        _offered(google, pool, sorted(wiring.subnets) or zones, answers)
        for index, entry in enumerate(pool.capacity):
            if entry.reserved is not None:
                path = f"{pool.path}.capacity[{index}].reserved"
                ask_reservation(google, pool, path, entry.reserved, answers)
    _quotas(google, fleet, pools, answers)
    return answers


def _cluster(
    google: GoogleClient, fleet: Fleet, pools: Sequence[Pool], answers: Answers
) -> list[str]:
    """Its version against the declared one and what the pools use; its zones."""
    cluster = fleet.spec.cluster
    name = f"projects/{google.project}/locations/{cluster.region}/clusters/{cluster.name}"
    try:
        found = google.ask(
            "clusters",
            "get_cluster",
            "cluster.name",
            f"cluster {cluster.name}",
            "container.clusters.get",
            name=name,
        )
    except NotAnsweredError:
        return []
    except MissingError:
        answers.findings.append(
            error(
                "cluster-not-found",
                "cluster.name",
                f"there is no GKE cluster {cluster.name} in {cluster.region} of {google.project}",
                "make it first, or correct name, region and project",
                found=cluster.name,
            )
        )
        return []
    version = str(found.current_master_version)
    if not version.startswith(f"{cluster.kubernetes_version}."):
        minor = ".".join(version.split(".")[:2])
        answers.findings.append(
            error(
                "cluster-version-differs",
                "cluster.kubernetesVersion",
                f"{cluster.name} runs {version}, and {cluster.kubernetes_version} is declared",
                f'write kubernetesVersion: "{minor}"',
                found=version,
                limit=cluster.kubernetes_version,
            )
        )
    for pool in pools:
        _floors(pool, version, answers)
        _datapath(pool, found.network_config, answers)
    return sorted(found.locations)


def _floors(pool: Pool, version: str, answers: Answers) -> None:
    shape = gke_shape(pool)
    used = {
        "automatic": shape.automatic_networks,
        "ladder": shape.ladder,
        "driver": not shape.operator,
    }
    for key, (floor, field, what) in FLOORS.items():
        if used[key] and _release(version) < _release(floor):
            answers.findings.append(
                error(
                    "cluster-too-old",
                    f"{pool.path}.{field}",
                    f"{what} needs GKE {floor} or newer, and the cluster runs {version}",
                    "upgrade the cluster",
                    found=version,
                    limit=floor,
                )
            )


def _datapath(pool: Pool, network: Any, answers: Answers) -> None:
    shape = gke_shape(pool)
    if not shape.networks and not shape.automatic_networks:
        return
    provider = network.datapath_provider.name
    if provider != ADVANCED_DATAPATH:
        answers.findings.append(
            error(
                "cluster-without-dataplane-v2",
                f"{pool.path}.fabric",
                f"networks of GPU interfaces need Dataplane V2, and the cluster has {provider}",
                "make a cluster with `datapathProvider: ADVANCED_DATAPATH`; it cannot be changed",
                found=provider,
                limit=ADVANCED_DATAPATH,
            )
        )
    if shape.networks and not network.enable_multi_networking:
        answers.findings.append(
            error(
                "cluster-without-multi-networking",
                f"{pool.path}.fabric",
                "nodes with several networks need a cluster with multi-networking",
                "make a cluster with `enableMultiNetworking`; it cannot be changed",
            )
        )


def _offered(google: GoogleClient, pool: Pool, there: Sequence[str], answers: Answers) -> None:
    """Whether machine and accelerator are sold in the zones the pool may use."""
    shape = gke_shape(pool)
    reserved = [rung.zone for rung in shape.rungs if rung.zone is not None]
    zones = list(dict.fromkeys(reserved)) or list(shape.zones) or list(there)
    path = f"{pool.path}.instanceTypes"
    if not zones:
        answers.could_not_check(
            path,
            f"where {shape.machine_type} is offered",
            "neither the pool nor the cluster names a zone",
            "write the pool's `zones`",
        )
        return
    lacking: list[str] = []
    asked = 0
    for zone in zones:
        found = _in_zone(google, pool, zone, path)
        asked += found is not None
        if found is False:
            lacking.append(zone)
    if not lacking:
        return
    everywhere = asked > 0 and len(lacking) == asked
    answers.findings.append(
        (error if everywhere else warning)(
            "instance-type-not-offered" if everywhere else "instance-type-not-everywhere",
            path,
            f"{shape.machine_type} with {pool.gpu.key} is not offered in {', '.join(lacking)}",
            "choose other zones"
            if everywhere
            else "leave those zones out: the pool has fewer ways to grow than it reads",
            found=lacking,
        )
    )


def _in_zone(google: GoogleClient, pool: Pool, zone: str, path: str) -> bool | None:
    """Whether a zone has the machine, with its accelerators or beside them; None: not answered."""
    shape, row = gke_shape(pool), pool.machines[0].instance
    place: dict[str, Any] = {"project": google.project, "zone": zone}
    question = f"{shape.machine_type} in {zone}"
    try:
        machine = google.ask(
            "machineTypes",
            "get",
            path,
            question,
            "compute.machineTypes.get",
            machine_type=shape.machine_type,
            **place,
        )
        kind = None if row is None else row.gke_accelerator_type
        if row is not None and row.attachable:
            google.ask(
                "acceleratorTypes",
                "get",
                path,
                f"{kind} in {zone}",
                "compute.acceleratorTypes.get",
                accelerator_type=kind,
                **place,
            )
    except MissingError:
        return False
    except NotAnsweredError:
        return None
    carried = {one.guest_accelerator_type for one in machine.accelerators}
    return not carried or kind in carried or (row is not None and row.attachable)


def _quotas(google: GoogleClient, fleet: Fleet, pools: Sequence[Pool], answers: Answers) -> None:
    """Whether GPU quotas admit all pools at their largest size."""
    needed = needs(pools)
    for need in needed:
        if need.metric is None:
            answers.could_not_check(
                _place(need),
                f"the quota of {need.accelerator}",
                "it is counted by GPU family in Cloud Quotas, which the Compute API does not show",
                f"look for {need.gpus} GPUs under `GPUS-PER-GPU-FAMILY-per-project-region`",
            )
    wanted = [need for need in needed if need.metric is not None]
    if not wanted:
        return
    region = str(fleet.spec.cluster.region)
    question = f"GPU quotas of {region}"
    try:
        answer = google.ask(
            "regions",
            "get",
            "cluster.region",
            question,
            "compute.regions.get",
            project=google.project,
            region=region,
        )
    except NotAnsweredError:
        return
    except MissingError:
        answers.findings.append(
            error(
                "region-unknown",
                "cluster.region",
                f"there is no region {region}",
                "correct it",
                found=region,
            )
        )
        return
    for need in wanted:
        _compare(need, str(need.metric), answer.quotas, f"{region} has", answers)
    _everywhere(google, wanted, answers)


def _everywhere(google: GoogleClient, needed: Sequence[GpuNeed], answers: Answers) -> None:
    """The one quota over all regions."""
    try:
        answer = google.ask(
            "projects",
            "get",
            "pools",
            f"the quota {ALL_REGIONS}",
            "compute.projects.get",
            project=google.project,
        )
    except (NotAnsweredError, MissingError):
        return
    # Preemptible GPUs are not counted there.
    on_demand = [need for need in needed if not str(need.metric).startswith("PREEMPTIBLE")]
    if not on_demand:
        return
    pools = tuple(dict.fromkeys(pool.name for need in on_demand for pool in need.pools))
    together = GpuNeed(
        ALL_REGIONS,
        "GPUs",
        tuple(pool for need in on_demand for pool in need.pools),
        sum(need.gpus for need in on_demand),
    )
    if pools:
        _compare(together, ALL_REGIONS, answer.quotas, "the project has", answers)


def _compare(need: GpuNeed, metric: str, quotas: Any, who: str, answers: Answers) -> None:
    found = next((one for one in quotas if one.metric == metric), None)
    names = ", ".join(dict.fromkeys(pool.name for pool in need.pools))
    if found is None:
        answers.could_not_check(
            _place(need),
            f"the quota {metric}",
            f"{who} none of that name",
            "look for it in Cloud Quotas",
        )
        return
    limit, used = int(found.limit), int(found.usage)
    if need.gpus > limit:
        answers.findings.append(
            error(
                "gpu-quota-short",
                _place(need),
                f"{names} may need {need.gpus} GPUs of {metric}, and {who} {limit}",
                f"ask for {need.gpus} or more, or lower nodes.max",
                found=need.gpus,
                limit=limit,
                used=used,
            )
        )
    elif need.gpus > limit - used:
        answers.findings.append(
            warning(
                "gpu-quota-tight",
                _place(need),
                f"{names} may need {need.gpus} GPUs of {metric}; {who} {limit}, {used} of them "
                "used, perhaps by these very pools",
                f"ask for {need.gpus + used} where others use them",
                found=need.gpus,
                limit=limit,
                used=used,
            )
        )


def _place(need: GpuNeed) -> str:
    paths = list(dict.fromkeys(pool.path for pool in need.pools))
    return f"{paths[0]}.nodes.max" if len(paths) == 1 else "pools"


def _release(version: str) -> tuple[int, ...]:
    found = _RELEASE.match(version)
    return tuple(int(part or 0) for part in found.groups()) if found else ()
