"""Whether a GKE cluster is there, new enough for what pools use, and has what they take over."""

from collections.abc import Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.google_client import GoogleClient
from gpufleet.platforms.gke.autopilot import validate_autopilot
from gpufleet.platforms.gke.preflight_imports import validate_imports
from gpufleet.platforms.gke.shape import gke_shape
from gpufleet.platforms.gke.version_floors import floors

ADVANCED_DATAPATH = "ADVANCED_DATAPATH"


def ask_cluster(
    google: GoogleClient, fleet: Fleet, pools: Sequence[Pool], answers: Answers
) -> list[str]:
    """Its version against the declared one and what the pools use, node pools that are to be taken
    over; gives its zones."""
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
        answers.error(
            "cluster-not-found",
            "cluster.name",
            f"there is no GKE cluster {cluster.name} in {cluster.region} of {google.project}",
            "make it first, or correct name, region and project",
            found=cluster.name,
        )
        return []
    version = str(found.current_master_version)
    if not version.startswith(f"{cluster.kubernetes_version}."):
        minor = ".".join(version.split(".")[:2])
        answers.error(
            "cluster-version-differs",
            "cluster.kubernetesVersion",
            f"{cluster.name} runs {version}, and {cluster.kubernetes_version} is declared",
            f'write kubernetesVersion: "{minor}"',
            found=version,
            limit=cluster.kubernetes_version,
        )
    _autopilot(fleet, found, answers)
    for pool in pools:
        _floors(pool, version, answers)
        _datapath(pool, found.network_config, answers)
        _channel(pool, found.release_channel, answers)
    validate_imports(pools, found.node_pools, answers)
    return sorted(found.locations)


def _autopilot(fleet: Fleet, found: Any, answers: Answers) -> None:
    """A declared mode is validated when compiling."""
    declared = fleet.spec.cluster.autopilot
    if found.autopilot.enabled and not declared:
        answers.findings += validate_autopilot(fleet.spec, fleet.pools, fleet.addons)
    elif declared and not found.autopilot.enabled:
        answers.error(
            "cluster-is-standard",
            "cluster.autopilot",
            f"{fleet.spec.cluster.name} is a Standard cluster, and `autopilot: true` is declared",
            "remove autopilot, or correct the cluster's name",
            found=True,
        )


def _channel(pool: Pool, channel: Any, answers: Answers) -> None:
    """`Auto_upgrade cannot be false when release_channel REGULAR is set` (the API's answer in
    terraform-google-modules/terraform-google-kubernetes-engine PR 682)."""
    if channel.channel and pool.spec.gke is not None and pool.spec.gke.auto_upgrade is False:
        answers.error(
            "gke-auto-upgrade-off-in-channel",
            f"{pool.path}.gke.autoUpgrade",
            f"the cluster is in the release channel {channel.channel.name}, which refuses node "
            "pools without automatic upgrades",
            "remove autoUpgrade; a maintenance exclusion keeps upgrades away for a time",
            found=channel.channel.name,
        )


def _floors(pool: Pool, version: str, answers: Answers) -> None:
    for floor in floors(pool):
        if floor.is_below(version):
            answers.error(
                "cluster-too-old",
                f"{pool.path}.{floor.field}",
                f"{floor.what} needs GKE {floor.releases} or newer, and the cluster runs {version}",
                "upgrade the cluster",
                found=version,
                limit=floor.of(version),
            )


def _datapath(pool: Pool, network: Any, answers: Answers) -> None:
    shape = gke_shape(pool)
    if not shape.networks and not shape.automatic_networks:
        return
    provider = network.datapath_provider.name
    if provider != ADVANCED_DATAPATH:
        answers.error(
            "cluster-without-dataplane-v2",
            f"{pool.path}.fabric",
            f"networks of GPU interfaces need Dataplane V2, and the cluster has {provider}",
            "make a cluster with `datapathProvider: ADVANCED_DATAPATH`; it cannot be changed",
            found=provider,
            limit=ADVANCED_DATAPATH,
        )
    if shape.networks and not network.enable_multi_networking:
        answers.error(
            "cluster-without-multi-networking",
            f"{pool.path}.fabric",
            "nodes with several networks need a cluster with multi-networking",
            "make a cluster with `enableMultiNetworking`; it cannot be changed",
        )
