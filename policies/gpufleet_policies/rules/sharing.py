"""Sharing: as it is declared (replicas, MPS, names, failing fast, licences of vGPUs), and used."""

from collections.abc import Iterator
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction

from gpufleet.cluster import Container, FleetFacts, PodGroup, Provenance, WorkloadFacts
from gpufleet.cluster.container import GPU, MIG_PREFIX
from gpufleet.cluster.nvidia import OperatorChoices, SharingConfig
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.findings import Finding
from gpufleet.findings.money import AmountKind
from gpufleet.rules.context import RuleContext
from gpufleet_policies.rules.grants import PoolGrant, shared_grants
from gpufleet_policies.rules.hardware import held
from gpufleet_policies.rules.model_memory import ROOM, gib, memory_need, model_weights
from gpufleet_policies.rules.model_requests import held_memory, larger_share
from gpufleet_policies.rules.pool_money import saving, setting, smallest
from gpufleet_policies.rules.pools import POOLS, all_pools, gpu_pools, named, place, same_cluster
from gpufleet_policies.rules.published import published, sharing_for, strategy
from gpufleet_policies.rules.purpose import training
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
    chosen = not config.fail_requests_greater_than_one.is_absent
    return config.mode == "timeSlicing" and bool(config.resources) and not chosen


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
    return frozenset(taint.key for taint in pool.taints.found or () if taint.repels)


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


USUAL_SHARE = Decimal("0.9")
"""Part of a GPU's memory that vLLM takes by default (`--gpu-memory-utilization`)."""


@written_rule("sharing-used-for-training")
def trains_on_shares(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Stops where several pods train together: two ranks may land on one GPU."""
    evidence = training(workload)
    if evidence is None:
        return
    for group in workload.running_groups():
        for share in shared_grants(context, group):
            several = group.pods.is_known and group.pods.value > 1
            yield trains_on_shares.say(
                group.place,
                share=share,
                limit="ranks of one program may run on one GPU and wait for each other"
                if several
                else "every step waits for the other tenants, and their memory use may stop it",
                certain=several,
                money=held(
                    context,
                    workload,
                    group,
                    Fraction(share.grant.replicas - 1, share.grant.replicas),
                ),
                provenance=evidence,
            )


@written_rule("sharing-memory-oversubscribed")
def oversubscribed(context: RuleContext, workload: WorkloadFacts) -> Iterator[Finding]:
    """Stops where the part of the memory is written; vLLM's own 0.9 and estimates only advise."""
    for group in workload.running_groups():
        if _cannot_load(context, workload, group):
            continue  # model-exceeds-gpu-memory reports it
        for share in shared_grants(context, group):
            greedy = next(
                (
                    container
                    for container in group.containers
                    if share.grant.resource in container.gpu_resources
                    and (taken := _taken(container)) is not None
                    and taken[0] * share.grant.replicas > 1
                ),
                None,
            )
            if greedy is not None:
                yield _too_greedy(context, workload, group, greedy, share)
            else:
                yield from _needs_more(context, workload, group, share)


def _cannot_load(context: RuleContext, workload: WorkloadFacts, group: PodGroup) -> bool:
    """Whether the weights alone exceed the memory that the pods can allocate."""
    weights = model_weights(workload.intent, context.catalogue)
    held = None if weights is None else held_memory(context, group)
    return weights is not None and held is not None and weights.bytes > held.bytes


def _taken(container: Container) -> tuple[Decimal, Provenance] | None:
    """Part of a GPU's memory a program takes for itself; None where it takes what it needs."""
    written = container.launch.memory_share
    if written.is_known:
        return written.value, Provenance.EXPLICIT
    image = container.image.found or ""
    if (
        written.is_absent
        and not container.words.is_unknown
        and "vllm-openai" in image.rsplit("/", 1)[-1]
    ):
        return USUAL_SHARE, Provenance.INFERRED
    return None


def _too_greedy(
    context: RuleContext,
    workload: WorkloadFacts,
    group: PodGroup,
    container: Container,
    share: PoolGrant,
) -> Finding:
    taken = _taken(container)
    assert taken is not None
    part, evidence = taken
    replicas = share.grant.replicas
    fair = (USUAL_SHARE / replicas).quantize(Decimal("0.01"), ROUND_DOWN)
    alternative = f"write a memory utilisation of {fair}"
    weights = model_weights(workload.intent, context.catalogue)
    device = share.grant.device_bytes
    if (
        weights is not None
        and device is not None
        and weights.bytes * ROOM > device * Fraction(fair)
    ):
        need = memory_need(workload.intent, context.catalogue)
        wanted = int(weights.bytes * ROOM) if need is None else need.bytes
        alternative = larger_share(share.grant, wanted)
    said = "" if evidence is Provenance.EXPLICIT else ", its usual value,"
    return oversubscribed.say(
        container.where,
        part=part,
        said=said,
        share=share,
        replicas=replicas,
        part_text=str(part),
        alternative=alternative,
        money=held(context, workload, group, kind=AmountKind.STANDING),
        provenance=evidence,
    )


def _needs_more(
    context: RuleContext,
    workload: WorkloadFacts,
    group: PodGroup,
    share: PoolGrant,
) -> Iterator[Finding]:
    """By what the model needs: MPS gives each pod its part, time-slicing lets pods collide."""
    need, own = memory_need(workload.intent, context.catalogue), share.grant
    if need is None or own.device_bytes is None or own.memory_bytes is None:
        return
    if not group.pods.is_known:
        return
    meeting = min(own.replicas, group.pods.value)
    enough = own.memory_bytes if own.is_enforced else own.device_bytes // meeting
    if need.bytes <= enough:
        return
    yield oversubscribed.say(
        group.place,
        case="need",
        need=need,
        share=share,
        own=own,
        device=gib(own.device_bytes),
        limit=f"MPS gives each pod {gib(own.memory_bytes)}"
        if own.is_enforced
        else f"{meeting} of its own pods may share one GPU, and their memory has no limit",
        alternative=larger_share(own, need.bytes),
        money=held(context, workload, group, kind=AmountKind.STANDING),
        provenance=need.provenance,
    )


_THROTTLED = Fraction(9, 10)
"""Part of its speed an unlicensed guest is assumed to lose; NVIDIA publishes no figure."""


@written_rule("vgpu-unlicensed", OperatorChoices)
def unlicensed(context: RuleContext, choices: OperatorChoices) -> Iterator[Finding]:
    """The operator installs the driver of guests that use vGPUs, and names no licence Secret."""
    if choices.licence.found is not False or choices.driver_enabled.found is not True:
        return
    pool = next((one for one in all_pools(context) if one.vgpu_profile.is_known), None)
    if pool is None:
        return
    yield unlicensed.say(
        f"{choices.place}.driver.licensingConfig".strip("."),
        pool=pool,
        money=saving(
            context, pool, smallest(pool), _THROTTLED, "0.9 of the speed lost, by assumption"
        ),
    )
