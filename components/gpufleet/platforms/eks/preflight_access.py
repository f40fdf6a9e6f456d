# pyright: standard
"""Requirements of nodes and controllers on the account besides machines: access entry, the agent of
EKS Pod Identity, the role of Spot.

Sources: Amazon EKS user guide, access entries and pod identities; karpenter-provider-aws v1.14.1,
installation guide (service-linked role of EC2 Spot). Read 2026-11-23. docs/what-must-exist.md
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gpufleet.components_base.answers import Answers, Wiring
from gpufleet.findings import findings_in
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.platforms.accounts.aws_client import AwsClient
from gpufleet.platforms.eks.auto_mode_rules import auto_pools, makes_auto_entry
from gpufleet.platforms.eks.cluster_autoscaler_values import scaled_pools
from gpufleet.platforms.eks.karpenter_values import karpenter_pools, makes_access_entry

_finding = findings_in(__file__)

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
        _spot(aws, pools, answers)
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
        _spot(aws, auto, answers)
    if automatic and pools and addons.karpenter.ours:
        answers.findings.append(_finding("karpenter-beside-auto-mode/asked", cluster=name))
    if bound and not automatic:  # Auto Mode has the agent built in
        answers.answer(
            _finding(
                "pod-identity-agent-missing", cluster=name, agent=AGENT, bound=" and ".join(bound)
            ),
            aws.ask,
            "eks",
            "describe_addon",
            "cluster.name",
            f"the add-on {AGENT}",
            clusterName=name,
            addonName=AGENT,
        )


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
    answer = answers.answer(
        None,
        aws.ask,
        "eks",
        "list_access_entries",
        "addons.karpenter.accessEntry",
        f"access entries of {name}",
        clusterName=name,
    )
    if answer is None:
        return
    there = role in answer["accessEntries"]
    if there and made:
        answers.findings.append(_finding("access-entry-exists", found=role))
    elif not there and not made and mode != _MAP_ONLY:
        auto = auto_pools(fleet.pools)
        kind = "EC2 with AmazonEKSAutoNodePolicy" if auto else "EC2_LINUX"
        answers.findings.append(_finding("access-entry-missing", found=role, kind=kind))


def _spot(aws: AwsClient, pools: Sequence[Pool], answers: Answers) -> None:
    buying = [pool for pool in pools if any(entry.spot is not None for entry in pool.capacity)]
    if not buying:
        return
    path, names = f"{buying[0].path}.capacity", [pool.name for pool in buying]
    missing = _finding("spot-role-missing", path, role=SPOT_ROLE, pools=names)
    question = f"the role {SPOT_ROLE}"
    answers.answer(missing, aws.ask, "iam", "get_role", path, question, RoleName=SPOT_ROLE)
