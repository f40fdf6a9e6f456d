"""Keeping pools in order: taints, repair, labels of the autoscaler, owners, expiry."""

from collections.abc import Iterator, Mapping

from gpufleet.cluster import WorkloadFacts
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding, Level
from gpufleet.findings.money import AmountKind
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.pool_money import nodes_money, patchable, setting
from gpufleet_policies.rules.pools import (
    all_pools,
    gpu_pools,
    same_cluster,
    template_seen,
    validated_pools,
)
from gpufleet_policies.rules.written import written_rule

_EKS_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

_ACCELERATOR = "k8s.amazonaws.com/accelerator"

_TEMPLATE_GPUS = "k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"
"""Tag that tells the cluster autoscaler how many whole GPUs a new node will have."""

DEFAULT_OWNER_TAGS = ("owner", "cost-center", "environment")
"""Default keys of a pool's owner, where the project names none."""

_NEVER_ALONE = (Maker.KARPENTER, Maker.OPENSHIFT)
"""Karpenter's own pods need a place; an OpenShift cluster has its control plane's machines."""


@written_rule("gpu-pool-untainted", NodePool)
def untainted(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """No taint with effect NoSchedule. The only pool of a cluster must not be tainted.

    Advice where it is not known whether another pool exists. GKE adds the taint `nvidia.com/gpu`
    itself where a pool without GPUs is there.
    """
    for pool in validated_pools(context, subject):
        if pool.taints.is_unknown or _tainted(pool):
            continue
        if not pool.is_mixed and (not pool.is_certainly_gpu or pool.is_shape_open):
            continue
        others = _others(context, pool)
        if others is False or (others and pool.maker is Maker.GKE):
            continue
        certain = others is True and not pool.is_mixed
        gke = " (GKE adds one if a pool without GPUs exists first)"
        yield untainted.say(
            pool.taints_place or "taints",
            words="no NoSchedule taint" + (gke if pool.maker is Maker.GKE else ""),
            alternative="add the taint nvidia.com/gpu=present:NoSchedule"
            + (" to a separate pool for the machines with GPUs" if pool.is_mixed else ""),
            certain=certain,
            money=None if pool.is_mixed else nodes_money(context, pool, 1, AmountKind.EXPOSURE),
            remediation=() if pool.is_mixed else _taint(pool),
        )


def _others(context: RuleContext, pool: NodePool) -> bool | None:
    """Whether pods without GPUs have another place; False: certainly not, None: not known."""
    if context.surroundings is None:
        return None
    rest = [other for other in all_pools(context) if other.locator != pool.locator]
    rest = [other for other in rest if same_cluster(other, pool)]
    if any(other.is_certainly_not_gpu and not _tainted(other) for other in rest):
        return True
    return None if rest or pool.maker in _NEVER_ALONE else False


def _tainted(pool: NodePool) -> bool:
    return pool.taints.is_known and any(taint.repels for taint in pool.taints.value)


def _taint(pool: NodePool) -> JsonPatch:
    if not patchable(pool) or not pool.taints.is_absent:
        return ()
    if pool.maker is Maker.EKS:
        return (add([_EKS_TAINT], "", "taints"),)
    if pool.maker is Maker.KARPENTER:
        return (add([_TAINT], "spec.template.spec", "taints"),)
    return ()


@written_rule("gpu-pool-without-repair", NodePool)
def without_repair(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """EKS leaves node repair off unless it is switched on; GKE has it on. Not for nodes that come
    for one run: Google's page on queued provisioning switches repair off, which ends the run."""
    for pool in gpu_pools(context, subject):
        if not pool.repair.is_known or pool.repair.value or pool.capacity.is_unknown:
            continue
        if (pool.capacity.found or frozenset()) & {"queued", "flexStart"}:
            continue
        eks = pool.maker is Maker.EKS
        yield without_repair.say(
            pool.repair_place,
            pool=pool,
            remediation=(add({"enabled": True}, "", "nodeRepairConfig"),)
            if eks and patchable(pool)
            else setting(pool, True, pool.repair_place),
        )


@written_rule("cluster-autoscaler-accelerator-label-missing", NodePool)
def accelerator_label(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """AWS groups that carry the cluster autoscaler's tags and lack k8s.amazonaws.com/accelerator.

    Managed node groups do not state their autoscaler; their tags do. Groups whose tags state that
    nodes have no whole GPU need no label: nodes with the label and no GPU count as unready.
    """
    for pool in gpu_pools(context, subject):
        if pool.maker not in (Maker.EKS, Maker.AWS) or not _scaled(pool):
            continue
        if pool.tags.get(_TEMPLATE_GPUS) == "0":
            continue
        if _ACCELERATOR in pool.labels or (not pool.labels_known and pool.maker is Maker.EKS):
            continue
        yield accelerator_label.say(
            "labels" if pool.maker is Maker.EKS else "tags",
            name=_short(pool),
            money=nodes_money(context, pool, 1, AmountKind.EXPOSURE),
            remediation=setting(pool, _short(pool), "labels", _ACCELERATOR)
            if pool.maker is Maker.EKS and pool.labels
            else (),
        )


def _scaled(pool: NodePool) -> bool:
    if pool.autoscaled_by.is_known:
        return True
    return any(key.startswith("k8s.io/cluster-autoscaler/") for key in pool.tags)


def _short(pool: NodePool) -> str:
    return pool.gpu.value.partition("-")[0].lower() if pool.gpu.is_known else "nvidia"


@written_rule("gpu-owner-tags-missing", (NodePool, WorkloadFacts))
def owner_tags(context: RuleContext, subject: NodePool | WorkloadFacts) -> Iterator[Finding]:
    """The keys are `ownerTags` of the settings; case, `-`, `_` and prefixes do not matter.

    A pool is checked by its tags and labels, by default for owner, cost-center and environment, and
    by those of its node class; where that is declared elsewhere, or the settings name no
    `ownerTags`, it is advice. A workload is checked by labels and annotations, and only where the
    project sets `ownerTags`: its namespace may have them already.
    """
    wanted = context.thresholds.owner_tags or DEFAULT_OWNER_TAGS
    if isinstance(subject, WorkloadFacts):
        if not context.thresholds.owner_tags:
            return
        if subject.uses_gpus and not subject.node_agent:
            hidden = dict.fromkeys(subject.hidden_keys, "?")
            found = {**hidden, **subject.labels, **subject.annotations}
            missing = _missing(wanted, found)
            if missing:
                yield _ownerless(missing, wanted, "metadata.labels")
        return
    for pool in gpu_pools(context, subject):
        hidden = pool.maker is Maker.KARPENTER and not template_seen(pool, context.surroundings)
        if hidden and context.surroundings is None:
            continue  # validated again with the whole program
        if pool.tags_known and pool.labels_known:
            found = {**pool.annotations, **pool.tags, **pool.labels}
            missing = _missing(wanted, found)
            if missing:
                yield _ownerless(
                    missing,
                    wanted,
                    pool.tags_place or "tags",
                    at_most=Level.ADVISORY
                    if hidden or not context.thresholds.owner_tags
                    else Level.MANDATORY,
                )


def _missing(wanted: tuple[str, ...], found: Mapping[str, str]) -> list[str]:
    there = {_folded(key) for key, value in found.items() if value}
    return [key for key in wanted if _folded(key) not in there]


def _ownerless(
    missing: list[str],
    wanted: tuple[str, ...],
    place: str,
    at_most: Level = Level.MANDATORY,
) -> Finding:
    return owner_tags.say(
        place, missing=missing, wanted=wanted, alternative=owner_tags.instead(), at_most=at_most
    )


def _folded(key: str) -> str:
    return key.rpartition("/")[2].lower().replace("-", "").replace("_", "")
