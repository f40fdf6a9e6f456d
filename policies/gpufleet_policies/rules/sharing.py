"""Sharing as it is declared: replicas, MPS, names, failing fast."""

from collections.abc import Iterator

from gpufleet.cluster import FleetFacts
from gpufleet.cluster.container import GPU, MIG_PREFIX
from gpufleet.cluster.nvidia import OperatorChoices, SharingConfig
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.pool_money import setting
from gpufleet_policies.rules.pools import POOLS, all_pools, gpu_pools, named, place, same_cluster
from gpufleet_policies.rules.published import published, sharing_for, strategy
from gpufleet_policies.rules.written import written_rule

GKE_MOST_CLIENTS = 48
"""Maximum number of clients of one GPU on GKE, by time-sharing and by MPS (GKE: GPU sharing
strategies)."""

_MANY_TURNS = 16
"""Tenants of one GPU taking turns, from which each gets too little time to be of use."""


@written_rule("sharing-replicas-out-of-range", (SharingConfig, *POOLS))
def replicas_range(
    context: RuleContext, subject: SharingConfig | NodePool | FleetFacts
) -> Iterator[Finding]:
    """Outside GKE's 2 to 48; more than 16 time slices is advice. Values that the device plugin
    refuses are reported by device-plugin-replicas-invalid and device-plugin-mps-too-many-clients.
    """
    if isinstance(subject, SharingConfig):
        for one in subject.resources:
            if subject.mode == "timeSlicing" and one.replicas and one.replicas > _MANY_TURNS:
                yield _many(one.replicas, one.place)
    else:
        for pool in gpu_pools(context, subject):
            yield from _of_pool(pool)


def _many(replicas: int, where: str) -> Finding:
    return replicas_range.say(where, case="turns", replicas=replicas, many_turns=_MANY_TURNS)


def _of_pool(pool: NodePool) -> Iterator[Finding]:
    replicas = pool.shared.replicas
    if not replicas.is_known or not pool.shared.strategy.is_known:
        return
    if pool.maker is Maker.GKE and not 2 <= replicas.value <= GKE_MOST_CLIENTS:
        nearest = min(max(replicas.value, 2), GKE_MOST_CLIENTS)
        where = f"{pool.shared.place}.gpuSharingConfig"
        yield replicas_range.say(
            at=where,
            replicas=replicas,
            gke_most_clients=GKE_MOST_CLIENTS,
            nearest=nearest,
            remediation=setting(pool, nearest, where, "maxSharedClientsPerGpu"),
        )
    elif pool.shared.strategy.value == "timeSlicing" and replicas.value > _MANY_TURNS:
        yield _many(replicas.value, place(pool, pool.shared.place))


@written_rule("mps-with-mig", SharingConfig)
def mps_with_mig(context: RuleContext, subject: SharingConfig) -> Iterator[Finding]:
    """The strategy `mixed` in the chart that installs the plugin, or MPS of a MIG resource. In the
    same document it is reported by device-plugin-mps-mixed.
    """
    if subject.mode != "mps":
        return
    own, cluster = subject.mig_strategy, strategy(context)
    if own.is_absent and cluster.found == "mixed":
        yield mps_with_mig.say(subject.place)
        return
    for one in subject.resources:
        if one.name.startswith(MIG_PREFIX) and not own.is_known:
            yield mps_with_mig.say(one.place, case="resource", one=one)


@written_rule("sharing-not-fail-fast", SharingConfig)
def not_fail_fast(context: RuleContext, config: SharingConfig) -> Iterator[Finding]:
    """`failRequestsGreaterThanOne` is absent: a false was chosen. MPS sets it by itself.

    The configurations of one object are one finding.
    """
    if not _accepts_several(config):
        return
    seen = context.declared(SharingConfig) or (config,)
    alike = [one for one in seen if one.locator == config.locator and _accepts_several(one)]
    if alike[0] is not config:
        return
    more = f" in {len(alike)} configurations" if len(alike) > 1 else ""
    yield not_fail_fast.say(config.place, more=more)


def _accepts_several(config: SharingConfig) -> bool:
    asked = config.fail_requests_greater_than_one
    if config.mode != "timeSlicing" or asked.is_unknown or not config.resources:
        return False
    return not asked.is_known


@written_rule("sharing-name-collides", (NodePool, SharingConfig))
def name_collides(context: RuleContext, subject: NodePool | SharingConfig) -> Iterator[Finding]:
    """The pool publishes nvidia.com/gpu shared, another one whole, and both have the same taints.

    Reported once: on the device-plugin configuration where it is declared here, else on the pool.
    On GKE the node label cloud.google.com/gke-gpu-sharing-strategy separates them for pods that
    request it; without such pods it is reported too.
    """
    if isinstance(subject, SharingConfig):
        for pool in all_pools(context):
            if subject in _naming(context, pool):
                found = list(_collision(context, pool, subject.place))
                if found:
                    yield found[0]
                    return
        return
    for pool in gpu_pools(context, subject):
        if not _naming(context, pool):
            where = pool.shared.place or "nvidia.com/device-plugin.config"
            yield from _collision(context, pool, where)


def _naming(context: RuleContext, pool: NodePool) -> tuple[SharingConfig, ...]:
    """Configurations declared here that give the pool's shares the name of a whole GPU."""
    if pool.maker in (Maker.GKE, Maker.FLEET) or not pool.is_certainly_gpu:
        return ()
    return tuple(
        config
        for config in sharing_for(context, pool) or ()
        if any(one.name == GPU for one in config.resources)
    )


def _collision(context: RuleContext, pool: NodePool, where: str) -> Iterator[Finding]:
    offer = published(context, pool)
    if offer is None or offer.replicas.get(GPU, 1) < 2 or pool.taints.is_unknown:
        return
    for other in all_pools(context):
        if other.locator == pool.locator or not other.is_certainly_gpu:
            continue
        if not same_cluster(pool, other):
            continue
        whole = published(context, other)
        if whole is None or whole.replicas.get(GPU) != 1 or any(whole.layouts):
            continue
        if _keys(pool) != _keys(other):
            continue
        yield name_collides.say(
            where, shared=named(pool), whole=named(other), pool=pool, other=other
        )
        return


def _keys(pool: NodePool) -> frozenset[str]:
    if not pool.taints.is_known:
        return frozenset()
    return frozenset(taint.key for taint in pool.taints.value if taint.repels)


@written_rule("timeslicing-of-mig-resources", SharingConfig)
def of_mig_resources(context: RuleContext, config: SharingConfig) -> Iterator[Finding]:
    """Slices exist under the strategy `mixed` only (device-plugin-resource-not-offered
    reports that of the same document); a profile that no layout here has matches nothing; otherwise
    tenants of a slice share its memory without isolation, which is advice.
    """
    if config.mode != "timeSlicing":
        return
    chosen = config.mig_strategy if not config.mig_strategy.is_absent else strategy(context)
    offered = _offered(context)
    for one in config.resources:
        if not one.name.startswith(MIG_PREFIX):
            continue
        if chosen.is_known and chosen.value != "mixed":
            if not config.mig_strategy.is_absent:
                continue
            yield of_mig_resources.say(one.place, one=one, chosen=chosen)
        elif offered is not None and one.name not in offered:
            yield of_mig_resources.say(
                one.place, case="unpublished", one=one, offered=", ".join(sorted(offered)) or "none"
            )
        else:
            yield of_mig_resources.say(one.place, case="turns", one=one)


def _offered(context: RuleContext) -> set[str] | None:
    """Names that pools here publish, shares under their own name; None where one is not known."""
    if not context.declared(OperatorChoices):
        return None
    pools = [pool for pool in all_pools(context) if pool.is_certainly_gpu]
    offers = [published(context, pool) for pool in pools]
    if not offers or any(offer is None for offer in offers):
        return None
    return {
        name.removesuffix(".shared")
        for offer in offers
        if offer is not None
        for name in offer.resources
    }
