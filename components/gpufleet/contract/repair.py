"""Who repairs nodes: each node by one program, above a floor, and with eyes for its GPUs."""

from collections.abc import Iterator

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.pool import ACCEPTANCE_LABEL, NOT_ACCEPTED_KEY, POOL_LABEL, Maker, NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.health import MANAGED_LABEL, NVSENTINEL
from gpufleet.contract.relation import (
    HEALTH_CHECK,
    KARPENTER,
    NODE_TESTS,
    NVSENTINEL_CHART,
    Broken,
    place_of,
)
from gpufleet.documents.shapes import mapping

GATE = "settings.featureGates.nodeRepair"
_BREAKER = "fault-quarantine.circuitBreaker.enabled"
_MACHINE_SET = "machine.openshift.io/cluster-api-machineset"
_WITH_AGENT = {Maker.EKS: "EKS node auto repair", Maker.KARPENTER: "Karpenter's node repair"}
"""Makers whose repair hears of GPUs by the node monitoring agent."""
_WHO = {**_WITH_AGENT, Maker.GKE: "GKE node auto-repair"}


def validate_repair(cluster: ClusterModel) -> Iterator[Broken]:
    """Nodes that two programs repair, that one repairs without a limit or without seeing a broken
    GPU, and nodes that no work will ever get."""
    sentinel = cluster.program(NVSENTINEL_CHART)
    acts = sentinel is not None and _is_on(sentinel, "global.faultQuarantine.enabled")
    if sentinel is not None and acts and sentinel.switch(_BREAKER, True).found is False:
        yield _without_floor(
            sentinel, _BREAKER, NVSENTINEL.source, "`circuitBreaker.enabled: true`"
        )
    yield from _health_checks(cluster)
    tested = {_tested_pool(one) for one in cluster.programs(NODE_TESTS)}
    for pool in cluster.pools:
        if not pool.is_certainly_gpu or pool.existing:
            continue
        fenced = acts and pool.labels.get(MANAGED_LABEL) != "false"
        if (own := _own_repair(pool, cluster)) is not None and fenced:
            yield _two(pool, own)
        elif own is not None and pool.maker in _WITH_AGENT and pool.shared.mig.found is True:
            yield _blind(pool, own)
        keys = {taint.key for taint in pool.taints.found or ()}
        if NOT_ACCEPTED_KEY in keys and pool.labels.get(POOL_LABEL, pool.name) not in tested:
            yield _never_removed(pool)


def _is_on(program: Program, path: str) -> bool:
    return program.switch(path, False).found is True


def _own_repair(pool: NodePool, cluster: ClusterModel) -> ContractFact | None:
    """By which switch the maker's own program repairs the pool's nodes; None: it does not, or it is
    not known."""
    karpenter = cluster.program(KARPENTER)
    who = pool.repairer or _WHO.get(pool.maker, "")
    if pool.repair.found is True and who:
        return ContractFact(f"{who} is on", place_of(pool, "health", pool.repair_place))
    if pool.maker is Maker.KARPENTER and karpenter is not None and _is_on(karpenter, GATE):
        return ContractFact(f"{who} is on", karpenter.field(GATE))
    return None


def _two(pool: NodePool, own: ContractFact) -> Broken:
    who = own.fact.removesuffix(" is on")
    declared = "write `mode: repair` and `floor: {asPlatform: true}`"
    return Broken(
        code="health-two-janitors",
        at=pool,
        place=place_of(pool, "health.mode", pool.repair_place or "labels"),
        message=f"{who} repairs nodes of {pool.name}, and NVSentinel would act on the same nodes",
        fix=declared
        if pool.declared_at
        else f'switch it off, or label the nodes {MANAGED_LABEL}: "false"',
        evidence={"pool": pool.name},
        facts=(
            own,
            ContractFact("NVSentinel quarantines nodes", NVSENTINEL.source),
            ContractFact(
                "two programs that repair one node undo each other's work",
                "nebius/nebius-solutions-library#1025; openshift/openshift-docs#41724",
            ),
        ),
    )


def _blind(pool: NodePool, own: ContractFact) -> Broken:
    who = own.fact.removesuffix(" is on")
    return Broken(
        code="node-repair-blind-with-mig",
        at=pool,
        place=place_of(pool, "health", pool.repair_place or "labels"),
        message=f"{who} of {pool.name} acts on a silent kubelet, and on no error of a GPU, kernel, "
        "network or disk: the monitoring agent must stay off nodes with MIG, because its DCGM holds "
        "GPUs that the MIG manager reconfigures",
        fix="write `by: nvsentinel`, or `mode: observe` with alerts (`monitoring`)"
        if pool.declared_at
        else "let NVSentinel repair these nodes, or alert on errors of their GPUs",
        evidence={"pool": pool.name},
        facts=(
            own,
            ContractFact(f"GPUs of {pool.name} are cut into slices", pool.shared.place),
            ContractFact(
                "a change of the MIG mode waits until no program holds the GPU",
                "aws/eks-node-monitoring-agent 5313543 monitors/nvidia/dcgm/dcgm_reconcile.go",
            ),
        ),
    )


def _health_checks(cluster: ClusterModel) -> Iterator[Broken]:
    """Checks of GPU machines without `maxUnhealthy`."""
    names = {p.name for p in cluster.pools if p.maker is Maker.OPENSHIFT and p.is_certainly_gpu}
    for check in cluster.programs(HEALTH_CHECK):
        chosen = mapping(mapping(check.value("selector")).get("matchLabels")).get(_MACHINE_SET)
        if chosen in names and check.value("maxUnhealthy") in (None, "100%"):
            source = "Red Hat documentation, MachineHealthCheck: the default is 100%"
            yield _without_floor(check, "maxUnhealthy", source, "`maxUnhealthy: 20%`")


def _without_floor(program: Program, path: str, source: str, fix: str) -> Broken:
    return Broken(
        code="health-without-floor",
        at=program,
        place=program.field(path),
        message="nothing says how many nodes a repair must leave: a fault that is reported wrongly "
        "takes all of them",
        fix=f"write {fix}",
        facts=(
            ContractFact("no number of nodes stops it", source),
            ContractFact(
                "a wrong health check takes healthy nodes",
                "NVIDIA documentation, NVSentinel, Circuit Breaker",
            ),
        ),
    )


def _tested_pool(tests: Program) -> object:
    return mapping(mapping(tests.value("selector")).get("matchLabels")).get(ACCEPTANCE_LABEL)


def _never_removed(pool: NodePool) -> Broken:
    return Broken(
        code="taint-never-removed",
        at=pool,
        place=pool.taints_place or "taints",
        message=f"nothing here removes the taint {NOT_ACCEPTED_KEY} from nodes of {pool.name}",
        fix="add the tests of its nodes (`acceptance: {}`, manifests/acceptance), or remove the "
        "taint",
        certain=False,
        evidence={"pool": pool.name},
        facts=(
            ContractFact(
                "nodes keep a taint that nothing removes, and run no work",
                "kubernetes-sigs/aws-efs-csi-driver#1613; kubernetes-sigs/karpenter#1479",
            ),
        ),
    )
