"""Keeping pools in order: taints, repair, labels, owners; of Karpenter consolidation and expiry."""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from gpufleet.cluster import FleetFacts, WorkloadFacts
from gpufleet.cluster.pool import KarpenterFacts, Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.findings.remediation import JsonPatch, add
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.placement import accepts
from gpufleet_policies.rules.pool_money import nodes_money, patchable, saving, setting
from gpufleet_policies.rules.pools import (
    all_pools,
    gpu_pools,
    gpu_workloads,
    same_cluster,
    template_seen,
    validated_pools,
)
from gpufleet_policies.rules.purpose import is_training
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
        yield without_repair.say(
            pool.repair_place,
            pool=pool,
            remediation=setting(pool, {"enabled": True}, "", "nodeRepairConfig")
            if pool.maker is Maker.EKS
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
    for where, found, certain in _owned(context, subject):
        there = {_folded(key) for key, value in found.items() if value}
        missing = [key for key in wanted if _folded(key) not in there]
        if missing:
            instead = owner_tags.instead()
            yield owner_tags.say(
                where, missing=missing, wanted=wanted, alternative=instead, certain=certain
            )


def _owned(
    context: RuleContext, subject: NodePool | WorkloadFacts
) -> Iterator[tuple[str, Mapping[str, str], bool]]:
    """Place of the tags, the tags, and whether nothing else may add some."""
    asked = bool(context.thresholds.owner_tags)
    if isinstance(subject, WorkloadFacts):
        if asked and subject.uses_gpus and not subject.node_agent:
            hidden = dict.fromkeys(subject.hidden_keys, "?")
            yield "metadata.labels", {**hidden, **subject.labels, **subject.annotations}, True
        return
    for pool in gpu_pools(context, subject):
        hidden = pool.maker is Maker.KARPENTER and not template_seen(pool, context.surroundings)
        if hidden and context.surroundings is None:
            continue  # validated again with the whole program
        if pool.tags_known and pool.labels_known:
            found = {**pool.annotations, **pool.tags, **pool.labels}
            yield pool.tags_place or "tags", found, asked and not hidden


def _folded(key: str) -> str:
    return key.rpartition("/")[2].lower().replace("-", "").replace("_", "")


_DISRUPTION = "spec.disruption"
_SHORT_SECONDS = 600
"""Empty or underused for less than this, a node of a training pool should not go."""

_SLOW_SECONDS = 3600
"""Longer than this, an empty serving node represents nothing."""


def _dynamic(
    context: RuleContext, subject: NodePool | FleetFacts
) -> Iterator[tuple[NodePool, KarpenterFacts]]:
    for pool in gpu_pools(context, subject):
        if pool.karpenter is not None and not pool.karpenter.static:
            yield pool, pool.karpenter


def _set(pool: KarpenterFacts, **values: str) -> JsonPatch:
    """A patch of keys of `spec.disruption`, which may not be there yet."""
    if pool.disruption_written:
        return tuple(add(value, _DISRUPTION, key) for key, value in values.items())
    return (add(values, _DISRUPTION),)


@written_rule("karpenter-never-consolidates", NodePool)
def never_consolidates(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """`consolidateAfter: Never`, or a budget that is always 0 for empty nodes.

    Absent fields are good defaults and never fire; static pools are never consolidated anyway.
    """
    for pool, karpenter in _dynamic(context, subject):
        if not karpenter.disruption_known:
            continue
        money = nodes_money(context, pool, 1, AmountKind.EXPOSURE)
        if karpenter.consolidate_after.found == "Never":
            yield never_consolidates.say(
                money=money,
                remediation=_set(karpenter, consolidationPolicy="WhenEmpty", consolidateAfter="5m"),
            )
            continue
        budgets = karpenter.budgets.value if karpenter.budgets.is_known else ()
        blocked = [i for i, one in enumerate(budgets) if one.always_zero_for("Empty")]
        if blocked:
            yield never_consolidates.say(case="budget", blocked=blocked, money=money)


@written_rule("karpenter-never-expires", NodePool)
def never_expires(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """`expireAfter: Never`; an absent field means 720 hours."""
    for _, karpenter in _dynamic(context, subject):
        if karpenter.expire_after.found == "Never":
            yield never_expires.say(remediation=(add("720h", "spec.template.spec", "expireAfter"),))


@written_rule("karpenter-disrupts-training", NodePool)
def disrupts_training(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """The pool is labelled for training, or training without checkpoints selects it.

    Silent where a budget keeps underused nodes, or pods wait ten minutes and more.
    """
    for pool, karpenter in _dynamic(context, subject):
        if not karpenter.disruption_known or not karpenter.policy.is_known:
            continue
        after = karpenter.consolidate_after_seconds
        if karpenter.policy.value not in ("WhenEmptyOrUnderutilized", "Balanced"):
            continue
        if not after.is_known or after.value >= _SHORT_SECONDS:
            continue
        budgets = karpenter.budgets.value if karpenter.budgets.is_known else ()
        if karpenter.budgets.is_unknown or any(b.always_zero_for("Underutilized") for b in budgets):
            continue
        because = _for_training(context, pool)
        if because is None:
            continue
        yield disrupts_training.say(
            karpenter=karpenter,
            because=because,
            remediation=_set(karpenter, consolidationPolicy="WhenEmpty", consolidateAfter="30m"),
        )


def _for_training(context: RuleContext, pool: NodePool) -> str | None:
    said = {*pool.labels.values(), *pool.annotations.values()}
    if "training" in said or "training" in pool.name:
        return "the pool is for training"
    if pool.taints.is_known and any("training" in taint.key for taint in pool.taints.value):
        return "the pool's taint is for training"
    for workload in gpu_workloads(context):
        pinned = (group for group in workload.running_groups() if group.node_labels)
        if is_training(workload) and any(accepts(context, pool, one) is True for one in pinned):
            return f"{workload.locator} trains on it"
    return None


@written_rule("expiry-blocked-for-ever", NodePool)
def expiry_blocked(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """`expireAfter` is written, no `terminationGracePeriod`, and GPU pods forbid disruption.

    A duration as the annotation's value complies, and so does a pool without its own `expireAfter`.
    """
    for pool, karpenter in _dynamic(context, subject):
        if not karpenter.expiry_written or not karpenter.termination_grace.is_absent:
            continue
        if not karpenter.expire_after.is_known:
            continue
        for workload in gpu_workloads(context):
            stays = workload.annotations.get("karpenter.sh/do-not-disrupt") == "true"
            groups = workload.running_groups() if stays else ()
            if any(accepts(context, pool, group) is not False for group in groups):
                yield expiry_blocked.say(
                    karpenter=karpenter,
                    workload=workload,
                    money=nodes_money(context, pool, 1, AmountKind.EXPOSURE),
                    remediation=(add("24h", "spec.template.spec", "terminationGracePeriod"),),
                )
                break


@written_rule("karpenter-consolidates-slowly", NodePool)
def slow(context: RuleContext, subject: NodePool) -> Iterator[Finding]:
    """Silent for pools labelled for training: a long wait is right there."""
    for pool, karpenter in _dynamic(context, subject):
        after = karpenter.consolidate_after_seconds
        if not after.is_known or after.value <= _SLOW_SECONDS:
            continue
        if _for_training(context, pool) is not None:
            continue
        of_day = Fraction(min(after.value, 86_400) - _SLOW_SECONDS, 86_400)
        yield slow.say(
            karpenter=karpenter,
            money=saving(context, pool, 1, of_day, "one such wait a day"),
            remediation=_set(karpenter, consolidateAfter="5m"),
        )
