# pyright: standard
"""What a fleet on EKS needs of its AWS account: offers, quotas, reservations, room, version."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError, Wiring
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.accounts.aws_offers import ask_offered, ask_quotas
from gpufleet.platforms.accounts.aws_reservations import ask_reservations
from gpufleet.platforms.eks.preflight_access import ask_access
from gpufleet.platforms.eks.shape import eks_shape
from gpufleet.platforms.eks.subnet_addresses import short_of_addresses
from gpufleet.spec.base import Ownership


def ask(fleet: Fleet, wiring: Wiring) -> Answers:
    """Ask everything about the pools that gpufleet makes.

    Raises:
        CannotAskError: boto3 is not installed.
    """
    answers = Answers()
    region = fleet.spec.cluster.region
    assert region is not None  # compile refuses an EKS fleet without
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
    """The cluster, and its version against the declared one; empty without an answer."""
    name, wanted = fleet.spec.cluster.name, fleet.spec.cluster.kubernetes_version
    question = f"cluster {name}"
    try:
        found = aws.ask("eks", "describe_cluster", "cluster.name", question, name=name)["cluster"]
    except NotAnsweredError:
        return {}
    except MissingError:
        answers.error(
            "cluster-not-found",
            "cluster.name",
            f"there is no EKS cluster {name} in {fleet.spec.cluster.region}",
            "make it first, or correct name and region",
            found=name,
        )
        return {}
    if found["version"] != wanted:
        answers.error(
            "cluster-version-differs",
            "cluster.kubernetesVersion",
            f"{name} runs Kubernetes {found['version']}, and {wanted} is declared: images and "
            "programs would be chosen for the wrong version",
            f'write kubernetesVersion: "{found["version"]}"',
            found=found["version"],
            limit=wanted,
        )
    return found


def _subnets_of(aws: AwsClient, fleet: Fleet, cluster: Mapping[str, Any]) -> dict[str, str]:
    """Zone -> subnet of the cluster."""
    name = fleet.spec.cluster.name
    ids: list[str] = cluster.get("resourcesVpcConfig", {}).get("subnetIds", [])
    if not ids:
        return {}
    try:
        answer = aws.ask(
            "ec2", "describe_subnets", "cluster.name", f"zones of {name}'s subnets", SubnetIds=ids
        )
    except (NotAnsweredError, MissingError):
        return {}
    return {one["AvailabilityZone"]: one["SubnetId"] for one in answer["Subnets"]}


def _subnets(
    aws: AwsClient, subnets: dict[str, str], pools: Sequence[Pool], answers: Answers
) -> None:
    """Zones as declared, and room for every pool's largest size."""
    if not subnets:
        return
    try:
        answer = aws.ask(
            "ec2",
            "describe_subnets",
            "connection.subnetIdsByZone",
            "zone and free addresses of the subnets",
            SubnetIds=sorted(subnets.values()),
        )
    except NotAnsweredError:
        return
    except MissingError as missing:
        answers.error(
            "subnet-not-found", "connection.subnetIdsByZone", str(missing), "correct the id"
        )
        return
    found = {one["SubnetId"]: one for one in answer["Subnets"]}
    for zone, identifier in sorted(subnets.items()):
        actual = found[identifier]["AvailabilityZone"]
        if actual != zone:
            answers.error(
                "subnet-in-other-zone",
                f"connection.subnetIdsByZone.{zone}",
                f"{identifier} is in {actual}, not in {zone}",
                f"write {actual}: {identifier}",
                found=actual,
                limit=zone,
            )
    _addresses(aws, subnets, found, pools, answers)


def _addresses(
    aws: AwsClient,
    subnets: dict[str, str],
    found: dict[str, Any],
    pools: Sequence[Pool],
    answers: Answers,
) -> None:
    for pool in pools:
        missing = [zone for zone in eks_shape(pool).zones if zone not in subnets]
        if missing:
            answers.error(
                "zone-without-subnet",
                pool.path,
                f"{pool.name} needs {', '.join(missing)}, and there are subnets in "
                f"{', '.join(sorted(subnets))}",
                "give the subnet of that zone",
                found=missing,
                allowed=sorted(subnets),
            )
    free = {
        zone: int(found[identifier]["AvailableIpAddressCount"])
        for zone, identifier in subnets.items()
    }
    running = _running(aws, subnets)
    answers.findings += short_of_addresses(pools, free, running)


def _running(aws: AwsClient, subnets: Mapping[str, str]) -> Mapping[str, int] | None:
    """Pool -> its machines in these subnets; None when that may not be known."""
    try:
        answer = aws.ask(
            "ec2",
            "describe_instances",
            "connection.subnetIdsByZone",
            "which machines of pools have addresses of the subnets already",
            Filters=[
                {"Name": "tag-key", "Values": [POOL_LABEL]},
                {"Name": "subnet-id", "Values": sorted(set(subnets.values()))},
                {"Name": "instance-state-name", "Values": ["pending", "running"]},
            ],
        )
    except (NotAnsweredError, MissingError):
        return None
    tags = [
        tag
        for held in answer["Reservations"]
        for one in held["Instances"]
        for tag in one.get("Tags", [])
    ]
    return Counter(tag["Value"] for tag in tags if tag["Key"] == POOL_LABEL)
