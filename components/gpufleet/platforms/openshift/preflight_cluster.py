# pyright: standard
"""What pools need of an OpenShift cluster: its place, the machine API, MachineSets to copy from.

Formats: openshift/api a0259ee `config/v1/types_infrastructure.go`, bfa868a `machine/v1beta1`, read
2026-11-23.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError
from gpufleet.documents.shapes import mapping
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.cluster_charts import ask_permissions, ask_version
from gpufleet.platforms.accounts.cluster_client import ClusterClient
from gpufleet.platforms.openshift.cluster_autoscaler_manifest import cluster_autoscaler
from gpufleet.platforms.openshift.machine_cloud import API_VERSION, MachineCloud, named_zones
from gpufleet.platforms.openshift.machine_clouds import CLOUDS
from gpufleet.platforms.openshift.registered import registered
from gpufleet.platforms.openshift.shape import MACHINE_NAMESPACE
from gpufleet.spec.base import Ownership

HOSTED = "External"
"""Topology of a control plane that runs in another cluster."""


def ask_cluster(fleet: Fleet, pools: Sequence[Pool], answers: Answers) -> Mapping[str, Any]:
    """Ask the cluster of the kubeconfig everything.

    Args:
        fleet: The compiled fleet.
        pools: Pools that gpufleet makes.
        answers: Collects the answers.

    Returns:
        Where the cluster says it is (`status.platformStatus` of its Infrastructure); empty where
        that is not known.

    Raises:
        CannotAskError: the client library is not installed.
    """
    try:
        cluster = ClusterClient(answers, "the OpenShift cluster", "`oc login`")
    except NotAnsweredError:
        return {}
    cloud = CLOUDS[fleet.spec.platform]
    ask_version(cluster, fleet, answers)
    status = _infrastructure(cluster, answers)
    if status is not None:
        _place(fleet, cloud, status, answers)
        hosted = status.get("controlPlaneTopology") == HOSTED
        if hosted:
            answers.error(
                "openshift-hosted",
                "platform",
                f"the control plane of {fleet.spec.cluster.name} runs in another cluster: "
                "machines come from NodePools there, and no MachineSet makes any here",
                "make the NodePool there, and write `ownership: existing` on the pool",
                found=HOSTED,
            )
        else:
            _machine_sets(cluster, fleet, pools, status, answers)
    _permissions(cluster, fleet, pools, answers)
    return {} if status is None else mapping(status.get("platformStatus"))


def _infrastructure(cluster: ClusterClient, answers: Answers) -> dict[str, Any] | None:
    """Status of the Infrastructure; None where it is not known or there is none."""
    try:
        found = cluster.cluster_object(
            "config.openshift.io",
            "v1",
            "infrastructures",
            "cluster",
            "platform",
            "platform and name of the cluster's infrastructure",
        )
    except NotAnsweredError:
        return None
    except MissingError:
        answers.error(
            "cluster-is-no-openshift",
            "platform",
            "the cluster of the kubeconfig has no Infrastructure of OpenShift",
            "log in to the right cluster, or write its platform",
        )
        return None
    return mapping(found.get("status"))


def _place(fleet: Fleet, cloud: MachineCloud, status: Mapping[str, Any], answers: Answers) -> None:
    there = mapping(status.get("platformStatus"))
    kind = str(there.get("type") or status.get("platform"))
    if kind != cloud.infrastructure_type:
        answers.error(
            "cluster-on-other-platform",
            "platform",
            f"the cluster's infrastructure is {kind}, and {fleet.spec.platform.value} makes "
            f"machines of {cloud.infrastructure_type}",
            "write the cluster's platform, or log in to the right cluster",
            found=kind,
            limit=cloud.infrastructure_type,
        )
        return
    declared = fleet.spec.cluster
    found = mapping(there.get(kind.lower()))
    for field, key, wanted in (
        ("region", "region", declared.region),
        ("project", "projectID", declared.project),
    ):
        actual = found.get(key)
        if isinstance(actual, str) and wanted is not None and actual != wanted:
            answers.error(
                f"cluster-in-other-{field}",
                f"cluster.{field}",
                f"the cluster is in {actual}, and {wanted} is declared",
                f"write {field}: {actual}",
                found=actual,
                limit=wanted,
            )


def _machine_sets(
    cluster: ClusterClient,
    fleet: Fleet,
    pools: Sequence[Pool],
    status: Mapping[str, Any],
    answers: Answers,
) -> None:
    group, _, version = API_VERSION.partition("/")
    question = f"MachineSets in {MACHINE_NAMESPACE}"
    try:
        found = cluster.objects(group, version, MACHINE_NAMESPACE, "machinesets", "pools", question)
    except NotAnsweredError:
        return
    except MissingError:
        answers.error(
            "machine-api-missing",
            "platform",
            f"the cluster does not serve MachineSets of {API_VERSION}: nothing would make machines",
            "make the machines otherwise, and write `ownership: existing` on the pool",
        )
        return
    named = {str(one["metadata"]["name"]): one for one in found}
    _names_taken(fleet, pools, named, answers)
    cloud = CLOUDS[fleet.spec.platform]
    machines = [
        machine
        for name in sorted(named)
        if not mapping(named[name]["metadata"].get("labels")).get(POOL_LABEL)
        and (machine := _machine(named[name])).get("kind") == cloud.provider_kind
    ]
    path = f"connection.{cloud.connection}"
    if not machines:
        answers.could_not_check(
            path,
            "what machines of the cluster are wired to",
            f"it has no MachineSet with a {cloud.provider_kind} but those of gpufleet",
            "take image, network and identity from the installation's own records",
        )
        return
    connection = cloud.connection_of(str(status.get("infrastructureName")), machines)
    answers.info(
        "openshift-connection",
        path,
        "the cluster's own MachineSets are wired like this: "
        + ", ".join(f"{key}: {value}" for key, value in connection.items()),
        "compare it with the connection that the fleet is given",
        connection=connection,
    )
    for pool in pools:
        missing = [z for z in named_zones(pool.spec) if not cloud.knows_zone(connection, z)]
        if missing:
            answers.could_not_check(
                f"{pool.path}.zones",
                f"the subnet of {pool.name} in {', '.join(missing)}",
                "no MachineSet of the cluster makes machines there",
                "make a subnet of the cluster's network in that zone, and name it in the "
                "connection",
            )


def _names_taken(
    fleet: Fleet, pools: Sequence[Pool], named: Mapping[str, Mapping[str, Any]], answers: Answers
) -> None:
    for pool in pools:
        for one in registered(fleet, pool).values():
            there = named.get(str(one["metadata"]["name"]))
            if one["kind"] != "MachineSet" or there is None:
                continue
            owner = mapping(there["metadata"].get("labels")).get(POOL_LABEL)
            if owner != pool.name:
                answers.error(
                    "machine-set-exists",
                    pool.path,
                    f"there is a MachineSet {one['metadata']['name']} already, which is not "
                    f"of the pool {pool.name}",
                    "write another `namePrefix`",
                    found=owner,
                )


def _permissions(
    cluster: ClusterClient, fleet: Fleet, pools: Sequence[Pool], answers: Answers
) -> None:
    """Whether who asks may create what the pools become."""
    objects = [one for pool in pools for one in registered(fleet, pool).values()]
    addon = fleet.spec.addons.cluster_autoscaler
    scaler = cluster_autoscaler(fleet.pools, addon)
    if scaler is not None and addon.enabled is not False and addon.ownership is Ownership.MANAGED:
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


def _machine(one: Mapping[str, Any]) -> dict[str, Any]:
    template = mapping(mapping(one.get("spec")).get("template"))
    return mapping(mapping(mapping(template.get("spec")).get("providerSpec")).get("value"))
