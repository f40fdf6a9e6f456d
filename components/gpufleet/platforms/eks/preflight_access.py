# pyright: standard
"""What nodes and controllers need of the account besides machines: access entry, the agent of EKS
Pod Identity, the role of Spot.

Sources: Amazon EKS user guide, access entries and pod identities; karpenter-provider-aws v1.14.1,
installation guide (service-linked role of EC2 Spot). Read 2026-11-23. docs/what-must-exist.md
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, MissingError, NotAnsweredError, Wiring
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.eks.auto_mode_rules import auto_pools, makes_auto_entry
from gpufleet.platforms.eks.cluster_autoscaler_values import scaled_pools
from gpufleet.platforms.eks.karpenter_values import karpenter_pools, makes_access_entry
from gpufleet.spec.addons import Addon
from gpufleet.spec.base import Ownership

AGENT = "eks-pod-identity-agent"
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
_MAP_ONLY = "CONFIG_MAP"


def ask_access(
    aws: AwsClient, fleet: Fleet, cluster: Mapping[str, Any], wiring: Wiring, answers: Answers
) -> None:
    """Ask everything of this kind.

    Args:
        aws: The account.
        fleet: The compiled fleet.
        cluster: The cluster as EKS describes it.
        wiring: What the declaration does not hold.
        answers: Collects the answers.
    """
    pools = karpenter_pools(fleet.pools)
    if pools:
        made = makes_access_entry(fleet)
        _entry(aws, fleet, cluster, wiring, answers, made=made)
        _spot(aws, pools, answers)
    addons = fleet.spec.addons
    bound = [
        title
        for title, addon, used in (
            ("Karpenter", addons.karpenter, bool(pools)),
            ("Cluster Autoscaler", addons.cluster_autoscaler, bool(scaled_pools(fleet.pools))),
        )
        if used and _ours(addon)
    ]
    automatic = (cluster.get("computeConfig") or {}).get("enabled") is True
    auto = auto_pools(fleet.pools)
    if auto and not automatic:
        answers.error(
            "auto-mode-off",
            f"{auto[0].path}.provisioner",
            f"{fleet.spec.cluster.name} is not in EKS Auto Mode: nothing would make the nodes "
            f"of {', '.join(pool.name for pool in auto)}",
            "aws eks update-cluster-config with computeConfig, storageConfig and "
            "kubernetesNetworkConfig enabled, or write `provisioner: karpenter`",
            found=False,
        )
    if auto:
        _entry(aws, fleet, cluster, wiring, answers, made=makes_auto_entry(fleet))
        _spot(aws, auto, answers)
    if automatic and pools and _ours(addons.karpenter):
        answers.error(
            "karpenter-beside-auto-mode",
            "addons.karpenter",
            f"{fleet.spec.cluster.name} is in EKS Auto Mode, which has Karpenter built in, and "
            "a second one would be installed: Amazon describes that for a migration only",
            "write `provisioner: autoMode` or `managed` on the pools, or switch Auto Mode off",
        )
    if bound and not automatic:  # Auto Mode has the agent built in
        _agent(aws, fleet, bound, answers)


def _ours(addon: Addon) -> bool:
    return addon.enabled is not False and addon.ownership is Ownership.MANAGED


def _entry(
    aws: AwsClient,
    fleet: Fleet,
    cluster: Mapping[str, Any],
    wiring: Wiring,
    answers: Answers,
    *,
    made: bool,
) -> None:
    name = fleet.spec.cluster.name
    mode = (cluster.get("accessConfig") or {}).get("authenticationMode")
    if mode == _MAP_ONLY and made:
        answers.error(
            "cluster-without-access-entries",
            "addons.karpenter.accessEntry",
            f"{name} authenticates by the ConfigMap aws-auth alone, and takes no access entry",
            "set its authentication mode to API_AND_CONFIG_MAP, or write `accessEntry: false` "
            "and add the node role to aws-auth",
            found=mode,
        )
        return
    if wiring.node_role is None:
        answers.could_not_check(
            "connection.nodeRoleArn",
            f"whether the node role may join {name}",
            "the role is not known",
            "--node-role ARN",
        )
        return
    path = "addons.karpenter.accessEntry"
    question = f"access entries of {name}"
    try:
        found: list[str] = aws.ask("eks", "list_access_entries", path, question, clusterName=name)[
            "accessEntries"
        ]
    except (NotAnsweredError, MissingError):
        return
    there = wiring.node_role in found
    if there and made:
        answers.error(
            "access-entry-exists",
            path,
            f"{wiring.node_role} has an access entry already, and EKS refuses a second one",
            "write `accessEntry: false`, unless it is the one this fleet made",
            found=wiring.node_role,
        )
    elif not there and not made and mode != _MAP_ONLY:
        answers.error(
            "access-entry-missing",
            path,
            f"{wiring.node_role} has no access entry: machines would start, bill and never join",
            "write `accessEntry: true`, or make one of type "
            + ("EC2 with AmazonEKSAutoNodePolicy" if auto_pools(fleet.pools) else "EC2_LINUX"),
            found=wiring.node_role,
        )


def _agent(aws: AwsClient, fleet: Fleet, bound: Sequence[str], answers: Answers) -> None:
    name = fleet.spec.cluster.name
    question = f"the add-on {AGENT}"
    try:
        aws.ask(
            "eks", "describe_addon", "cluster.name", question, clusterName=name, addonName=AGENT
        )
    except NotAnsweredError:
        return
    except MissingError:
        answers.error(
            "pod-identity-agent-missing",
            "cluster.name",
            f"{name} has no {AGENT}: {' and '.join(bound)} would get no credentials",
            f"aws eks create-addon --cluster-name {name} --addon-name {AGENT}",
        )


def _spot(aws: AwsClient, pools: Sequence[Pool], answers: Answers) -> None:
    buying = [pool for pool in pools if any(entry.spot is not None for entry in pool.capacity)]
    if not buying:
        return
    path = f"{buying[0].path}.capacity"
    try:
        aws.ask("iam", "get_role", path, f"the role {SPOT_ROLE}", RoleName=SPOT_ROLE)
    except NotAnsweredError:
        return
    except MissingError:
        names = ", ".join(pool.name for pool in buying)
        answers.error(
            "spot-role-missing",
            path,
            f"the account has no {SPOT_ROLE}, without which Karpenter can start no Spot "
            f"machine for {names}",
            "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
        )
