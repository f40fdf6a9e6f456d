"""Repair of nodes that a pool asks for: who does it, and whether its floor can be kept."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic.alias_generators import to_camel

from gpufleet.contract.contract_fact import ContractFact, Term
from gpufleet.contract.health import NVSENTINEL, Repairer
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.health import HealthActor, HealthMode, HealthPolicy
from gpufleet.spec.pool import Intent

_BY_NVSENTINEL = "write `by: nvsentinel`"


def repairer_of(pool: Pool) -> Repairer | None:
    """The platform's own repair of the pool's nodes; None where there is none."""
    if pool.ownership is Ownership.EXISTING:
        return None
    return pool.platform.facts.repairers.get(pool.provisioner)


def completes(pools: Iterable[Pool]) -> bool:
    """Whether pods of these pools end by themselves or lose work when they are cut off: a training
    run without a checkpoint, a job, a notebook."""
    return any(pool.intent is not Intent.INFERENCE for pool in pools)


def by_nvsentinel(pools: Iterable[Pool]) -> list[tuple[Pool, HealthPolicy]]:
    """Pools that name NVSentinel, with what they ask of it."""
    return [
        (pool, pool.health)
        for pool in pools
        if pool.health is not None and pool.health.actor is HealthActor.NVSENTINEL
    ]


def validate_health(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Findings about `health` of the fleet and its pools."""
    for pool in pools:
        if pool.health is not None:
            yield from _declared_twice(pool)
            yield from _who(spec, pool, pool.health)
            if pool.health.acts:
                yield from _floor(pool, pool.health)
    yield from _nvsentinel(spec, pools)


def _path(pool: Pool) -> str:
    return "health" if pool.spec.health is None else f"{pool.path}.health"


def _declared_twice(pool: Pool) -> Iterator[Finding]:
    for option in pool.platform.facts.repair_options:
        *sections, name = option.split(".")
        model: object = pool.spec
        for section in sections:
            model = model.get(section) if is_mapping(model) else getattr(model, section, None)
        if name in (model if is_mapping(model) else getattr(model, "model_fields_set", ())):
            place = ".".join(map(to_camel, option.split(".")))
            yield error(
                "health-declared-twice",
                f"{pool.path}.{place}",
                f"{place} and `health` both say whether nodes of {pool.name} are repaired",
                "remove one of them",
            )


def _who(spec: FleetSpec, pool: Pool, policy: HealthPolicy) -> Iterator[Finding]:
    path, own, title = _path(pool), repairer_of(pool), pool.platform.facts.title
    by_platform = policy.actor is HealthActor.PLATFORM
    if by_platform and policy.mode is HealthMode.FENCE:
        yield error(
            "health-not-on-platform",
            f"{path}.by",
            f"nothing on {title} keeps pods off a broken node of {pool.name} without repairing it",
            _BY_NVSENTINEL,
            source=(own or NVSENTINEL).source,
        )
    if policy.platform_repairs and own is None:
        made = pool.ownership is not Ownership.EXISTING
        yield error(
            "health-not-on-platform",
            f"{path}.mode",
            f"nothing on {title} repairs nodes of {pool.name}"
            if made
            else f"nodes of {pool.name} are not gpufleet's, whose repair it cannot set",
            f"{_BY_NVSENTINEL}, or `mode: observe`",
        )
    always = own is not None and (own.always or spec.cluster.autopilot)
    if own is not None and always and not policy.platform_repairs:
        acts = policy.nvsentinel_acts
        yield error(
            "health-two-janitors" if acts else "health-platform-decides",
            f"{path}.mode",
            f"{own.who} always repairs nodes of {pool.name}"
            + (", and NVSentinel would act on the same nodes" if acts else ""),
            "write `mode: repair` and `floor: {asPlatform: true}`",
            source=own.source,
        )
    neuron = spec.addons.neuron_device_plugin
    if policy.platform_repairs and pool.gpu.vendor == "aws" and neuron.node_recovery:
        yield error(
            "health-two-janitors",
            f"{path}.mode",
            f"nodes of {pool.name} are repaired by {'' if own is None else own.who} and by node "
            "recovery of Neuron's chart",
            "remove `addons.neuronDevicePlugin.nodeRecovery`",
            source="aws-neuron/neuron-helm-charts 1.0.0, nodeRecovery",
        )


def _floor(pool: Pool, policy: HealthPolicy) -> Iterator[Finding]:
    path, floor = _path(pool), policy.floor
    least, most = pool.nodes.minimum, pool.nodes.maximum
    if floor is None:
        yield error(
            "health-without-floor",
            path,
            f"nothing says how many nodes of {pool.name} a repair must leave: a fault that is "
            "reported wrongly takes all of them",
            "write `floor: {percent: 80}`, or `floor: {asPlatform: true}` for what the platform "
            "keeps by itself",
        )
        return
    unpaced = policy.model_copy(update={"at_once": None})
    if floor.nodes and floor.nodes >= least:
        yield error(
            "health-floor-above-minimum",
            f"{path}.floor.nodes",
            f"{pool.name} may have {least} nodes, of which a floor of {floor.nodes} lets none be "
            "repaired",
            f"write a floor below nodes.min, or a share: `floor: {{percent: {_share(most)}}}`",
            found=floor.nodes,
            limit=max(0, least - 1),
        )
    elif unpaced.allowed(most) < 1:
        yield error(
            "health-floor-allows-nothing",
            f"{path}.floor.percent",
            f"a floor of {floor.percent} % lets no node of {pool.name} be repaired: it has at most "
            f"{most}",
            f"write `percent: {_share(most)}` or less",
            found=floor.percent,
            limit=_share(most),
        )
    elif policy.at_once is not None and policy.at_once > unpaced.allowed(most):
        yield error(
            "health-at-once-above-floor",
            f"{path}.atOnce",
            f"the floor lets {unpaced.allowed(most)} of {most} nodes of {pool.name} be out",
            f"write `atOnce: {unpaced.allowed(most)}` or less",
            found=policy.at_once,
            limit=unpaced.allowed(most),
        )
    else:
        yield from _kept(pool, policy, unpaced)


def _share(nodes: int) -> int:
    """The greatest floor in percent that lets one of the nodes be out."""
    return 100 - -(-100 // nodes) if nodes else 0


def _kept(pool: Pool, policy: HealthPolicy, unpaced: HealthPolicy) -> Iterator[Finding]:
    """Whether the one that acts keeps the floor."""
    path, least, most = _path(pool), pool.nodes.minimum, pool.nodes.maximum
    own = NVSENTINEL if policy.nvsentinel_acts else repairer_of(pool)
    floor = policy.floor
    if own is None or floor is None:
        return
    counted = policy.nvsentinel_acts or (own.sets_floor and policy.at_once is not None)
    if own.sets_floor:
        if counted and floor.percent is not None and unpaced.allowed_between(least, most) < 1:
            yield error(
                "health-floor-above-minimum",
                f"{path}.floor.percent",
                f"{own.who} takes a number of nodes, whatever the size of {pool.name} is, and at "
                f"{least} nodes a floor of {floor.percent} % lets none be repaired",
                "raise nodes.min, or lower the floor"
                + ("" if policy.nvsentinel_acts else ", or remove `atOnce`"),
                source=own.source,
            )
        return
    sizes = range(max(1, least), most + 1)
    if not floor.as_platform:
        broken = next((n for n in sizes if _takes(own, n) > unpaced.allowed(n)), None)
        if broken is not None:
            yield _not_kept(pool, own, "floor", broken)
    if policy.at_once is not None and _takes(own, most) > policy.at_once:
        yield _not_kept(pool, own, "atOnce", most)


def _takes(own: Repairer, nodes: int) -> int:
    known = own.takes(nodes)
    return nodes if known is None else known


def _not_kept(pool: Pool, own: Repairer, field: str, nodes: int) -> Finding:
    known = own.takes(nodes)
    takes = (
        f"there is no documented number of nodes that {own.who} takes at most"
        if known is None
        else f"of {nodes} nodes of {pool.name} {own.who} takes up to {known}"
    )
    instead = "write `floor: {asPlatform: true}`" if field == "floor" else "remove it"
    return error(
        "health-limit-not-kept",
        f"{_path(pool)}.{field}",
        f"{takes}, and nothing can be set",
        f"{instead}, or {_BY_NVSENTINEL}",
        source=own.source,
    )


def _nvsentinel(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """What NVSentinel needs, and does to pools together."""
    watched = by_nvsentinel(pools)
    operator = spec.addons.gpu_operator
    raw = value_at(operator.values, "dcgm.enabled")
    runs = operator.dcgm.enabled if raw is None else raw
    for pool, _ in watched:
        if pool.gpu.vendor != "nvidia":
            yield error(
                "health-nvsentinel-vendor",
                f"{_path(pool)}.by",
                f"NVSentinel watches NVIDIA GPUs, and {pool.name} has {pool.gpu.name}",
                "write `by: platform`",
                source=NVSENTINEL.source,
            )
        elif pool.served_by_platform and pool.platform.facts.plugin is not None:
            yield _without_dcgm(
                pool, f"write `{pool.platform.facts.plugin.switched_off_by}` for the pool"
            )
        elif operator.ownership is not Ownership.EXISTING and runs is not True:
            yield _without_dcgm(pool, "write `addons: {gpuOperator: {dcgm: {enabled: true}}}`")
    acting = [(pool, policy) for pool, policy in watched if policy.acts]
    if len({policy.mode for _, policy in acting}) > 1:
        for pool, policy in acting:
            if policy.mode is HealthMode.FENCE:
                yield error(
                    "health-nvsentinel-two-modes",
                    f"{_path(pool)}.mode",
                    f"NVSentinel drains and repairs nodes of another pool, and then those of "
                    f"{pool.name} too: its modules are for the whole cluster",
                    "choose one mode for all pools of NVSentinel",
                    source=NVSENTINEL.source,
                )
    elif completes(pool for pool, _ in acting):
        for pool, policy in acting:
            if pool.intent is Intent.INFERENCE and policy.mode is HealthMode.REPAIR:
                yield warning(
                    "health-servers-never-drain",
                    f"{_path(pool)}.mode",
                    f"NVSentinel waits until pods end, so that no run of another pool is cut off, "
                    f"and servers of {pool.name} never end: a person must delete them",
                    "name the namespaces of servers in `node-drainer.userNamespaces`",
                    source=NVSENTINEL.source,
                )


def _without_dcgm(pool: Pool, fix: str) -> Finding:
    return error(
        "health-without-dcgm",
        f"{_path(pool)}.by",
        f"NVSentinel asks the service nvidia-dcgm of the GPU Operator, and no DCGM runs on nodes "
        f"of {pool.name}",
        fix,
        source=NVSENTINEL.source,
    )


def health_terms(pool: Pool) -> Iterator[Term]:
    """Who watches and repairs, how long it takes, what stays, and what a node that is out costs."""
    policy = pool.health
    if policy is None:
        return
    nvsentinel = policy.actor is HealthActor.NVSENTINEL
    own = NVSENTINEL if nvsentinel else repairer_of(pool)
    asked = ContractFact(f"health is {policy.mode.value}", _path(pool))
    facts = (asked,) if own is None else (asked, ContractFact(own.who, own.source))
    if own is None:
        yield Term("watched", "by nothing but alerts of `monitoring`", facts)
        return
    yield Term("watched", f"{own.watches}; it cannot {own.cannot}", facts)
    if policy.mode is HealthMode.FENCE:
        yield Term("fenced", f"by {own.who}, until the fault is gone or a person uncordons", facts)
    if policy.mode is HealthMode.REPAIR:
        yield Term("repaired", f"by {own.who}, which {own.repairs}; after {own.after}", facts)
    if policy.acts:
        yield Term("stays", _stays(pool, policy, own), facts)
        price = pool.hourly_usd
        paid = "an unknown price" if price is None else f"{price:,.4f} USD/h"
        yield Term("node out", f"{paid} is paid for each node that is out", facts)


def _stays(pool: Pool, policy: HealthPolicy, own: Repairer) -> str:
    floor = policy.floor
    if floor is None or floor.as_platform:
        return own.keeps
    most = pool.nodes.maximum
    kept = f"{floor.percent} %" if floor.percent is not None else f"{floor.nodes} nodes"
    return f"{kept}: {policy.allowed(most)} of {most} nodes may be out"
