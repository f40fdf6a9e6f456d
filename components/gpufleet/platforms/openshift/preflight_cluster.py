# pyright: standard
"""Requirements of pools on an OpenShift cluster: platform, machine API, existing MachineSets.

Formats: openshift/api a0259ee `config/v1/types_infrastructure.go`, bfa868a `machine/v1beta1`, read
2026-11-23.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, NotAnsweredError
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.cluster_charts import ask_permissions, ask_version
from gpufleet.platforms.accounts.cluster_client import ClusterClient
from gpufleet.platforms.openshift.cluster_autoscaler_manifest import cluster_autoscaler
from gpufleet.platforms.openshift.machine_cloud import API_VERSION, MachineCloud, named_zones
from gpufleet.platforms.openshift.machine_clouds import CLOUDS
from gpufleet.platforms.openshift.registered import registered
from gpufleet.platforms.openshift.shape import MACHINE, MACHINE_NAMESPACE

_finding = findings_in(__file__)

HOSTED = "External"
"""Topology of a control plane that runs in another cluster."""


def ask_cluster(fleet: Fleet, pools: Sequence[Pool], answers: Answers) -> Mapping[str, Any]:
    """Check the cluster of the kubeconfig.

    Args:
        fleet: The compiled fleet.
        pools: Pools that gpufleet creates.
        answers: Collects the results.

    Returns:
        The cluster's platform (`status.platformStatus` of its Infrastructure); empty if not
        known.

    Raises:
        CannotAskError: the client library is not installed.
    """
    try:
        cluster = ClusterClient(answers, "the OpenShift cluster", "`oc login`")
    except NotAnsweredError:
        return {}
    cloud = CLOUDS[fleet.spec.platform]
    ask_version(cluster, fleet, answers)
    infrastructure = cluster.answer("infrastructure", _finding("cluster-is-no-openshift"))
    status = mapping(mapping(infrastructure).get("status"))
    if infrastructure is not None:
        answers.findings += _misplaced(fleet, cloud, status)
        if status.get("controlPlaneTopology") == HOSTED:
            name = fleet.spec.cluster.name
            answers.findings.append(_finding("openshift-hosted", cluster=name, found=HOSTED))
        else:
            _machine_sets(cluster, fleet, pools, status, answers)
    _permissions(cluster, fleet, pools, answers)
    return mapping(status.get("platformStatus"))


def _misplaced(fleet: Fleet, cloud: MachineCloud, status: Mapping[str, Any]) -> Iterator[Finding]:
    there, declared = mapping(status.get("platformStatus")), fleet.spec.cluster
    kind, wanted = str(there.get("type") or status.get("platform")), cloud.infrastructure_type
    if kind != wanted:
        platform = fleet.spec.platform.value
        yield _finding("cluster-on-other-platform", platform=platform, found=kind, limit=wanted)
        return
    found = mapping(there.get(kind.lower()))
    region, project = found.get("region"), found.get("projectID")
    if isinstance(region, str) and declared.region not in (None, region):
        yield _finding("cluster-in-other-region", found=region, limit=declared.region)
    if isinstance(project, str) and declared.project not in (None, project):
        yield _finding("cluster-in-other-project", found=project, limit=declared.project)


def _machine_sets(
    cluster: ClusterClient,
    fleet: Fleet,
    pools: Sequence[Pool],
    status: Mapping[str, Any],
    answers: Answers,
) -> None:
    group, _, version = API_VERSION.partition("/")
    missing = _finding("machine-api-missing", found=API_VERSION)
    place = {"group": group, "version": version, "namespace": MACHINE_NAMESPACE}
    found = cluster.answer("machineSets", missing, **place)
    if found is None:
        return
    named = {str(one["metadata"]["name"]): one for one in found["items"]}
    answers.findings += _names_taken(fleet, pools, named)
    cloud = CLOUDS[fleet.spec.platform]
    machines = [
        machine
        for name in sorted(named)
        if not mapping(named[name]["metadata"].get("labels")).get(POOL_LABEL)
        and (machine := mapping(value_at(named[name], MACHINE))).get("kind") == cloud.provider_kind
    ]
    path = f"connection.{cloud.connection}"
    if not machines:
        answers.could_not_check(
            path,
            "the connection of the cluster's machines",
            f"it has no MachineSet with a {cloud.provider_kind} but those of gpufleet",
            "take image, network and identity from the installation's own records",
        )
        return
    connection = cloud.connection_of(str(status.get("infrastructureName")), machines)
    shown = [f"{key}: {value}" for key, value in connection.items()]
    answers.findings.append(
        _finding("openshift-connection", path, shown=shown, connection=connection)
    )
    for pool in pools:
        missing = [z for z in named_zones(pool.spec) if not cloud.knows_zone(connection, z)]
        if missing:
            answers.could_not_check(
                f"{pool.path}.zones",
                f"the subnet of {pool.name} in {', '.join(missing)}",
                "no MachineSet of the cluster creates machines there",
                "create a subnet of the cluster's network in that zone, and name it in the "
                "connection",
            )


def _names_taken(
    fleet: Fleet, pools: Sequence[Pool], named: Mapping[str, Mapping[str, Any]]
) -> Iterator[Finding]:
    for pool in pools:
        for one in registered(fleet, pool).values():
            name = str(one["metadata"]["name"])
            if one["kind"] != "MachineSet" or name not in named:
                continue
            owner = mapping(named[name]["metadata"].get("labels")).get(POOL_LABEL)
            if owner != pool.name:
                yield _finding(
                    "machine-set-exists", pool.path, name=name, pool=pool.name, found=owner
                )


def _permissions(
    cluster: ClusterClient, fleet: Fleet, pools: Sequence[Pool], answers: Answers
) -> None:
    """Whether the current user may create the objects of the pools."""
    objects = [one for pool in pools for one in registered(fleet, pool).values()]
    addon = fleet.spec.addons.cluster_autoscaler
    scaler = cluster_autoscaler(fleet.pools, addon)
    if scaler is not None and addon.ours:
        objects.append(scaler)
    kinds = {
        (
            str(one["apiVersion"]).partition("/")[0],
            f"{str(one['kind']).lower()}s",
            one["metadata"].get("namespace"),
        )
        for one in objects
    }
    wanted = (("create", *kind) for kind in sorted(kinds, key=str))
    ask_permissions(cluster, wanted, "pools", "the pools need", answers)
