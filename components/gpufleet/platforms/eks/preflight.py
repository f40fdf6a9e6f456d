# pyright: standard
"""Checks of a fleet's AWS account: offers, quotas, reservations, addresses, version."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError, Wiring
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.accounts.aws_offers import ask_offered, ask_quotas
from gpufleet.platforms.accounts.aws_reservations import ask_reservations
from gpufleet.platforms.eks.auto_mode_rules import auto_pools, makes_auto_entry
from gpufleet.platforms.eks.cluster_autoscaler_values import scaled_pools
from gpufleet.platforms.eks.karpenter_values import karpenter_pools, makes_access_entry
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.spec.base import Ownership

_finding, _rules = findings_in(__file__), rules_in(__file__)

_SUBNETS = "connection.subnetIdsByZone"


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Check everything about the pools that gpufleet creates.

    Raises:
        CannotAskError: boto3 is not installed.
    """
    answers = Answers()
    region = fleet.spec.cluster.region
    assert region is not None  # compile refuses an EKS fleet without it
    aws = AwsClient(region, answers)
    pools = [pool for pool in fleet.pools if pool.ownership is not Ownership.EXISTING]
    cluster = _cluster(aws, fleet, answers)
    of_cluster = _subnets_of(aws, fleet, cluster)
    if cluster:
        ask_access(aws, fleet, cluster, wiring, answers)
    subnets = dict(wiring.subnets) or of_cluster
    _subnets(aws, subnets, pools, answers)
    for pool in pools:
        ask_offered(aws, pool, eks_shape(pool).zones or sorted(subnets), answers)
        ask_reservations(aws, pool, answers)
    ask_quotas(aws, pools, answers)
    return answers


def _cluster(aws: AwsClient, fleet: Fleet, answers: Answers) -> dict[str, Any]:
    """The cluster, and its version compared with the declared one; empty without an answer."""
    name, wanted = fleet.spec.cluster.name, fleet.spec.cluster.kubernetes_version
    missing = _finding("cluster-not-found", found=name, region=fleet.spec.cluster.region)
    answer = aws.answer("cluster", missing, name=name)
    found: dict[str, Any] = {} if answer is None else answer["cluster"]
    if found and (version := found["version"]) != wanted:
        answers.findings.append(
            _finding("cluster-version-differs", cluster=name, found=version, limit=wanted)
        )
    return found


def _subnets_of(aws: AwsClient, fleet: Fleet, cluster: Mapping[str, Any]) -> dict[str, str]:
    """Zone -> subnet of the cluster."""
    ids: list[str] = cluster.get("resourcesVpcConfig", {}).get("subnetIds", [])
    if not ids:
        return {}
    answer = aws.answer("clusterSubnets", name=fleet.spec.cluster.name, ids=ids)
    found = [] if answer is None else answer["Subnets"]
    return {one["AvailabilityZone"]: one["SubnetId"] for one in found}


def _subnets(
    aws: AwsClient, subnets: dict[str, str], pools: Sequence[Pool], answers: Answers
) -> None:
    """Zones as declared, and free addresses for every pool's largest size."""
    if not subnets:
        return
    try:
        answer = aws.ask("subnets", ids=sorted(subnets.values()))
    except NotAnsweredError:
        return
    except MissingError as missing:
        answers.findings.append(_finding("subnet-not-found", _SUBNETS, answer=str(missing)))
        return
    found = {one["SubnetId"]: one for one in answer["Subnets"]}
    answers.findings += _misplaced(subnets, found, pools)
    free = {zone: int(found[one]["AvailableIpAddressCount"]) for zone, one in subnets.items()}
    answers.findings += short_of_addresses(pools, free, _running(aws, subnets))


def _misplaced(
    subnets: Mapping[str, str], found: Mapping[str, Any], pools: Sequence[Pool]
) -> Iterator[Finding]:
    for zone, identifier in sorted(subnets.items()):
        actual = found[identifier]["AvailabilityZone"]
        if actual != zone:
            place = f"{_SUBNETS}.{zone}"
            yield _finding(
                "subnet-in-other-zone", place, subnet=identifier, found=actual, limit=zone
            )
    there = sorted(subnets)
    for pool in pools:
        missing = [zone for zone in eks_shape(pool).zones if zone not in subnets]
        if missing:
            yield _finding(
                "zone-without-subnet/asked", pool.path, pool=pool.name, found=missing, allowed=there
            )


def _running(aws: AwsClient, subnets: Mapping[str, str]) -> Mapping[str, int] | None:
    """Pool -> its machines in these subnets; None if this cannot be read."""
    ids = sorted(set(subnets.values()))
    answer = aws.answer("machinesInSubnets", label=POOL_LABEL, ids=ids)
    if answer is None:
        return None
    tags = [
        tag
        for held in answer["Reservations"]
        for one in held["Instances"]
        for tag in one.get("Tags", [])
    ]
    return Counter(tag["Value"] for tag in tags if tag["Key"] == POOL_LABEL)


ADDRESSES_PER_NODE = 16
"""Minimum addresses of a GPU node: its own, and those that the VPC CNI keeps for pods. EFA-only
interfaces have none. Our assumption; large nodes with many pods need more."""

UNCOUNTED = " (nodes that run already could not be counted)"


def short_of_addresses(
    pools: Sequence[Pool], free: Mapping[str, int], running: Mapping[str, int] | None = None
) -> Iterator[Finding]:
    """Pools that do not fit into their possible subnets, together with pools that have no other
    subnets.

    Args:
        pools: Pools that gpufleet creates.
        free: Zone -> free addresses of its subnet.
        running: Pool -> machines that already have addresses; None if not known.
    """
    there_already = running or {}
    confined = {pool.name: _zones(pool, free) for pool in pools}
    for zones in dict.fromkeys(zones for zones in confined.values() if zones):
        inside = [pool for pool in pools if confined[pool.name] and confined[pool.name] <= zones]
        nodes = sum(max(0, pool.nodes.maximum - there_already.get(pool.name, 0)) for pool in inside)
        there, needed = sum(free[zone] for zone in zones), nodes * ADDRESSES_PER_NODE
        if there < needed:
            shown = ", ".join(f"{zone} {free[zone]}" for zone in sorted(zones))
            names = ", ".join(pool.name for pool in inside)
            more = "more " if any(there_already.get(pool.name) for pool in inside) else ""
            unknown = UNCOUNTED if running is None else ""
            place = f"{inside[0].path}.nodes.max" if len(inside) == 1 else "pools"
            known = {"nodes": nodes, "more": more, "names": names, "shown": shown}
            yield from _rules("room", place, needed=needed, there=there, unknown=unknown, **known)


def _zones(pool: Pool, free: Mapping[str, int]) -> frozenset[str]:
    """Zones of the pool with a subnet."""
    return frozenset(eks_shape(pool).zones or free) & frozenset(free)


# Requirements of nodes and controllers on the account besides machines: access entry, the agent of
# EKS Pod Identity, the role of Spot.
#
# Sources: Amazon EKS user guide, access entries and pod identities; karpenter-provider-aws v1.14.1,
# installation guide (service-linked role of EC2 Spot). Read 2026-11-23. docs/what-must-exist.md

AGENT = "eks-pod-identity-agent"
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
_MAP_ONLY = "CONFIG_MAP"


def ask_access(
    aws: AwsClient, fleet: Fleet, cluster: Mapping[str, Any], wiring: Wiring, answers: Answers
) -> None:
    """Check access entry, agent and role.

    Args:
        aws: The account.
        fleet: The compiled fleet.
        cluster: The cluster in EKS' description.
        wiring: Values that the declaration does not contain.
        answers: Collects the results.
    """
    name, addons = fleet.spec.cluster.name, fleet.spec.addons
    pools, auto = karpenter_pools(fleet.pools), auto_pools(fleet.pools)
    if pools:
        _entry(aws, fleet, cluster, wiring, answers, made=makes_access_entry(fleet))
        _spot(aws, pools)
    bound = [
        title
        for title, addon, used in (
            ("Karpenter", addons.karpenter, bool(pools)),
            ("Cluster Autoscaler", addons.cluster_autoscaler, bool(scaled_pools(fleet.pools))),
        )
        if used and addon.ours
    ]
    automatic = (cluster.get("computeConfig") or {}).get("enabled") is True
    if auto and not automatic:
        names = [pool.name for pool in auto]
        answers.findings.append(
            _finding("auto-mode-off", auto[0].path, cluster=name, pools=names, found=False)
        )
    if auto:
        _entry(aws, fleet, cluster, wiring, answers, made=makes_auto_entry(fleet))
        _spot(aws, auto)
    if automatic and pools and addons.karpenter.ours:
        answers.findings.append(_finding("karpenter-beside-auto-mode/asked", cluster=name))
    if bound and not automatic:  # Auto Mode has the agent built in
        who = " and ".join(bound)
        missing = _finding("pod-identity-agent-missing", cluster=name, agent=AGENT, bound=who)
        aws.answer("addon", missing, name=name, addon=AGENT)


def _entry(
    aws: AwsClient,
    fleet: Fleet,
    cluster: Mapping[str, Any],
    wiring: Wiring,
    answers: Answers,
    *,
    made: bool,
) -> None:
    name, role = fleet.spec.cluster.name, wiring.node_role
    mode = (cluster.get("accessConfig") or {}).get("authenticationMode")
    if mode == _MAP_ONLY and made:
        answers.findings.append(
            _finding("cluster-without-access-entries", cluster=name, found=mode)
        )
        return
    if role is None:
        question, why = f"whether the node role may join {name}", "the role is not known"
        answers.could_not_check("connection.nodeRoleArn", question, why, "--node-role ARN")
        return
    answer = aws.answer("accessEntries", name=name)
    if answer is None:
        return
    there = role in answer["accessEntries"]
    if there and made:
        answers.findings.append(_finding("access-entry-exists", found=role))
    elif not there and not made and mode != _MAP_ONLY:
        auto = auto_pools(fleet.pools)
        kind = "EC2 with AmazonEKSAutoNodePolicy" if auto else "EC2_LINUX"
        answers.findings.append(_finding("access-entry-missing", found=role, kind=kind))


def _spot(aws: AwsClient, pools: Sequence[Pool]) -> None:
    buying = [pool for pool in pools if any(entry.spot is not None for entry in pool.capacity)]
    if not buying:
        return
    path, names = f"{buying[0].path}.capacity", [pool.name for pool in buying]
    missing = _finding("spot-role-missing", path, role=SPOT_ROLE, pools=names)
    aws.answer("role", missing, path=path, role=SPOT_ROLE)
