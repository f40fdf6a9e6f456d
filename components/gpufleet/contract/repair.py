"""Repair of nodes: by one program, above a floor, and with detection of GPU faults."""

from collections.abc import Iterator

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.pool import ACCEPTANCE_LABEL, NOT_ACCEPTED_KEY, POOL_LABEL, Maker, NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.health import MANAGED_LABEL, NVSENTINEL
from gpufleet.contract.relation import (
    HEALTH_CHECK,
    KARPENTER,
    MONITORING_AGENT,
    NODE_TESTS,
    NVSENTINEL_CHART,
    Broken,
    place_of,
)
from gpufleet.documents.shapes import mapping
from gpufleet.findings import findings_in

_finding = findings_in(__file__)

GATE = "settings.featureGates.nodeRepair"
_BREAKER = "fault-quarantine.circuitBreaker.enabled"
_MACHINE_SET = "machine.openshift.io/cluster-api-machineset"
_WITH_AGENT = {Maker.EKS: "EKS node auto repair", Maker.KARPENTER: "Karpenter's node repair"}
"""Platforms whose repair learns of GPU faults from the node monitoring agent."""
_WHO = {**_WITH_AGENT, Maker.GKE: "GKE node auto-repair"}


def validate_repair(cluster: ClusterModel) -> Iterator[Broken]:
    """Nodes that two programs repair, repair without a limit or without detection of GPU faults,
    and nodes that never get work."""
    sentinel = cluster.program(NVSENTINEL_CHART)
    acts = sentinel is not None and _is_on(sentinel, "global.faultQuarantine.enabled")
    if sentinel is not None and acts and sentinel.switch(_BREAKER, True).found is False:
        yield _without_floor(
            sentinel, _BREAKER, NVSENTINEL.source, "`circuitBreaker.enabled: true`"
        )
    yield from _health_checks(cluster)
    agent = cluster.program(MONITORING_AGENT)
    everywhere = (
        agent is not None
        and agent.complete
        and all(agent.value(f"{part}.affinity") is None for part in ("nodeAgent", "dcgmAgent"))
    )
    tested = {_selected(one, ACCEPTANCE_LABEL) for one in cluster.programs(NODE_TESTS)}
    for pool in cluster.pools:
        if not pool.is_certainly_gpu or pool.existing:
            continue
        managed = pool.labels.get(MANAGED_LABEL, "true" if pool.labels_known else "")
        cut = pool.maker in _WITH_AGENT and pool.shared.mig.found is True
        fenced = acts and managed not in {"", "false"}
        if (own := _own_repair(pool, cluster)) is not None and fenced:
            yield _two(pool, *own)
        elif own is not None and cut and (everywhere or pool.declared_at):
            yield _blind(pool, *own)
        keys = {taint.key for taint in pool.taints.found or ()}
        if NOT_ACCEPTED_KEY in keys and pool.labels.get(POOL_LABEL, pool.name) not in tested:
            place = pool.taints_place or "taints"
            finding = _finding("taint-never-removed", place, key=NOT_ACCEPTED_KEY, pool=pool.name)
            yield Broken.of(finding, pool)


def _is_on(program: Program, path: str) -> bool:
    return program.switch(path, False).found is True


def _own_repair(pool: NodePool, cluster: ClusterModel) -> tuple[str, ContractFact] | None:
    """The platform's program that repairs the pool's nodes, and its switch; None: there is none, or
    it is not known."""
    karpenter = cluster.program(KARPENTER)
    who = pool.repairer or _WHO.get(pool.maker, "")
    if pool.repair.found is True and who:
        place = place_of(pool, "health", pool.repair_place)
        return who, ContractFact(f"{who} is on", place)
    if pool.maker is Maker.KARPENTER and karpenter is not None and _is_on(karpenter, GATE):
        return who, ContractFact(f"{who} is on", karpenter.field(GATE))
    return None


def _two(pool: NodePool, who: str, own: ContractFact) -> Broken:
    fix = "write `mode: repair` and `floor: {asPlatform: true}`"
    if not pool.declared_at:
        fix = f'switch it off, or label the nodes {MANAGED_LABEL}: "false"'
    place = place_of(pool, "health.mode", pool.repair_place or "labels")
    quarantines = ContractFact("NVSentinel quarantines nodes", NVSENTINEL.source)
    finding = _finding("health-two-janitors", place, fix=fix, who=who, pool=pool.name)
    return Broken.of(finding, pool, own, quarantines)


def _blind(pool: NodePool, who: str, own: ContractFact) -> Broken:
    place = place_of(pool, "health", pool.repair_place or "labels")
    cut = ContractFact(f"GPUs of {pool.name} are cut into slices", pool.shared.place)
    finding = _finding("node-repair-blind-with-mig", place, who=who, pool=pool.name)
    return Broken.of(finding, pool, own, cut)


def _health_checks(cluster: ClusterModel) -> Iterator[Broken]:
    """Checks of GPU machines without `maxUnhealthy`."""
    names = {p.name for p in cluster.pools if p.maker is Maker.OPENSHIFT and p.is_certainly_gpu}
    for check in cluster.programs(HEALTH_CHECK):
        if _selected(check, _MACHINE_SET) in names and check.value("maxUnhealthy") in (
            None,
            "100%",
        ):
            source = "Red Hat documentation, MachineHealthCheck: the default is 100%"
            yield _without_floor(check, "maxUnhealthy", source, "20%")


def _without_floor(program: Program, path: str, source: str, value: str) -> Broken:
    place, fact = program.field(path), ContractFact("no number of nodes stops it", source)
    finding = _finding("health-without-floor", place, field=path, value=value)
    return Broken.of(finding, program, fact)


def _selected(program: Program, label: str) -> object:
    return mapping(mapping(program.value("selector")).get("matchLabels")).get(label)
