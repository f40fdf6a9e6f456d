"""Whether a GKE cluster is there, new enough for what pools use, and has what they take over."""

from collections.abc import Iterator, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.gke.autopilot import validate_autopilot
from gpufleet.platforms.gke.preflight_imports import validate_imports
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.gke.version_floors import floors

_finding = findings_in(__file__)

ADVANCED_DATAPATH = "ADVANCED_DATAPATH"


def ask_cluster(
    google: GoogleClient, fleet: Fleet, pools: Sequence[Pool], answers: Answers
) -> list[str]:
    """Its version against the declared one and what the pools use, node pools that are to be taken
    over; gives its zones."""
    cluster, project = fleet.spec.cluster, google.project
    region = cluster.region
    found: Any = answers.answer(
        _finding("cluster-not-found", found=cluster.name, region=region, project=project),
        google.ask,
        "clusters",
        "get_cluster",
        "cluster.name",
        f"cluster {cluster.name}",
        "container.clusters.get",
        name=f"projects/{project}/locations/{region}/clusters/{cluster.name}",
    )
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
    wanted = cluster.kubernetes_version
    if not version.startswith(f"{wanted}."):
        minor = ".".join(version.split(".")[:2])
        yield _finding(
            "cluster-version-differs",
            cluster=cluster.name,
            found=version,
            limit=wanted,
            minor=minor,
        )
    if found.autopilot.enabled and not cluster.autopilot:
        yield from validate_autopilot(fleet.spec, fleet.pools, fleet.addons)
    elif cluster.autopilot and not found.autopilot.enabled:
        yield _finding("cluster-is-standard", cluster=cluster.name, found=True)


def _lacking(pool: Pool, found: Any) -> Iterator[Finding]:
    """Release, channel and networks that the pool's nodes need."""
    version, network = str(found.current_master_version), found.network_config
    for floor in floors(pool):
        if floor.is_below(version):
            yield _finding(
                "cluster-too-old",
                f"{pool.path}.{floor.field}",
                what=floor.what,
                releases=floor.releases,
                found=version,
                limit=floor.of(version),
            )
    shape = gke_shape(pool)
    if shape.networks or shape.automatic_networks:
        provider = network.datapath_provider.name
        if provider != ADVANCED_DATAPATH:
            yield _finding(
                "cluster-without-dataplane-v2", pool.path, found=provider, limit=ADVANCED_DATAPATH
            )
        if shape.networks and not network.enable_multi_networking:
            yield _finding("cluster-without-multi-networking", pool.path)
    channel = found.release_channel.channel
    if channel and pool.spec.gke is not None and pool.spec.gke.auto_upgrade is False:
        yield _finding("gke-auto-upgrade-off-in-channel", pool.path, found=channel.name)
