"""Repair of nodes of a pool: which program does it, and whether its floor can be kept."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic.alias_generators import to_camel

from gpufleet.contract.contract_fact import ContractFact, Term
from gpufleet.contract.health import NVSENTINEL, Repairer
from gpufleet.documents.paths import value_at
from gpufleet.documents.shapes import is_mapping
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.health import HealthActor, HealthMode, HealthPolicy
from gpufleet.spec.pool import Intent

_finding, _rules = findings_in(__file__), rules_in(__file__)


def repairer_of(pool: Pool) -> Repairer | None:
    """The platform's own repair of the pool's nodes; None if it has none."""
    if pool.ownership is Ownership.EXISTING:
        return None
    return pool.platform.facts.repairers.get(pool.provisioner)


def always_repairs(spec: FleetSpec, own: Repairer) -> bool:
    """Whether a platform's repair cannot be switched off."""
    return own.always or spec.cluster.autopilot


def completes(pools: Iterable[Pool]) -> bool:
    """Whether pods of these pools end, or lose work when they are interrupted: a training run
    without a checkpoint, a job, a notebook."""
    return any(pool.intent is not Intent.INFERENCE for pool in pools)


def by_nvsentinel(pools: Iterable[Pool]) -> list[tuple[Pool, HealthPolicy]]:
    """Pools that name NVSentinel, with their policies for it."""
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
            yield _finding(
                "health-declared-twice", f"{pool.path}.{place}", option=place, pool=pool.name
            )


def _who(spec: FleetSpec, pool: Pool, policy: HealthPolicy) -> Iterator[Finding]:
    own = repairer_of(pool)
    who, source = ("", NVSENTINEL.source) if own is None else (own.who, own.source)
    known = {"own": own, "who": who, "source": source, "policy": policy}
    always = own is not None and always_repairs(spec, own)
    return _rules("health", _path(pool), spec=spec, pool=pool, always=always, **known)


def _floor(pool: Pool, policy: HealthPolicy) -> Iterator[Finding]:
    """The first error of the floor, or of the program that must keep it."""
    least, most = pool.nodes.minimum, pool.nodes.maximum
    unpaced = policy.model_copy(update={"at_once": None})
    known = {"least": least, "most": most, "limit": max(0, least - 1)}
    # The highest floor in percent that allows one of the nodes to be out of service.
    known["share"] = 100 - -(-100 // most) if most else 0
    known |= {"pool": pool, "policy": policy, "floor": policy.floor}
    found = [*_rules("floor", _path(pool), allowed=unpaced.allowed(most), **known)]
    yield from found[:1] or _kept(pool, policy, unpaced)


def _kept(pool: Pool, policy: HealthPolicy, unpaced: HealthPolicy) -> Iterator[Finding]:
    """Whether the repairing program keeps the floor."""
    least, most = pool.nodes.minimum, pool.nodes.maximum
    own = NVSENTINEL if policy.nvsentinel_acts else repairer_of(pool)
    floor = policy.floor
    if own is None or floor is None:
        return
    counted = policy.nvsentinel_acts or (own.sets_floor and policy.at_once is not None)
    if own.sets_floor:
        if counted and floor.percent is not None and unpaced.allowed_between(least, most) < 1:
            paced = "" if policy.nvsentinel_acts else ", or remove `atOnce`"
            yield _finding(
                "health-floor-above-minimum/count",
                _path(pool),
                fix=f"raise nodes.min, or lower the floor{paced}",
                pool=pool.name,
                who=own.who,
                least=least,
                found=floor.percent,
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
    instead = "write `floor: {asPlatform: true}`" if field == "floor" else "remove it"
    path, fix = f"{_path(pool)}.{field}", f"{instead}, or write `by: nvsentinel`"
    who, takes, source = own.who, own.takes(nodes), own.source
    if takes is None:
        return _finding("health-limit-not-kept/unknown", path, fix=fix, who=who, source=source)
    return _finding(
        "health-limit-not-kept",
        path,
        fix=fix,
        who=who,
        pool=pool.name,
        nodes=nodes,
        takes=takes,
        source=source,
    )


def _nvsentinel(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """Requirements of NVSentinel, and its effects on all pools."""
    watched = by_nvsentinel(pools)
    operator = spec.addons.gpu_operator
    raw = value_at(operator.values, "dcgm.enabled")
    runs = operator.dcgm.enabled if raw is None else raw
    for pool, _ in watched:
        found = _rules("dcgm", _path(pool), pool=pool, operator=operator, runs=runs)
        yield from [*found][:1]
    acting = [(pool, policy) for pool, policy in watched if policy.acts]
    several = len({policy.mode for _, policy in acting}) > 1
    cut_off = completes(pool for pool, _ in acting)
    for pool, policy in acting:
        known = {"pool": pool, "policy": policy, "several": several, "cut_off": cut_off}
        yield from _rules("nvsentinel", _path(pool), **known)


def health_terms(pool: Pool) -> Iterator[Term]:
    """Who detects and repairs, its duration, which nodes stay, and the cost of a broken node."""
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
