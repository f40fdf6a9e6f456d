"""compile_fleet: FleetSpec + catalogue -> Fleet. Pure: the same input gives the same result.

The work is an ordered tuple of passes, `PASSES`. A pass reads results of earlier passes, adds its
own to the `Compilation`, and returns its findings. Findings are in the order of the passes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time

from gpufleet.catalogue import Catalogue
from gpufleet.catalogue.regions import check_region
from gpufleet.contract import owners
from gpufleet.contract.dra import validate_dra
from gpufleet.contract.feature_discovery import DiscoveryOwner, decide_discovery
from gpufleet.contract.owners import operator_installed
from gpufleet.contract.platform import Platforms, PlatformValue
from gpufleet.contract.programs.validation import allows_mps
from gpufleet.contract.validate import broken
from gpufleet.contract.vgpu import validate_vgpu
from gpufleet.findings import Finding, Severity, findings_in, ordered
from gpufleet.fleet import pool_rules, spend
from gpufleet.fleet.acceptance import validate_acceptance
from gpufleet.fleet.addon_plan import AddonPlanner, network_operator_present
from gpufleet.fleet.addon_rules import validate_addons, validate_branches
from gpufleet.fleet.autoscaler_rules import validate_autoscalers
from gpufleet.fleet.balance import validate_balance
from gpufleet.fleet.capacity_rules import validate_windows
from gpufleet.fleet.cluster_model import cluster_of
from gpufleet.fleet.cut_over import validate_cut_overs
from gpufleet.fleet.device_plugin_rules import validate_raw_values
from gpufleet.fleet.draft import PoolDraft, compiled_pool, draft_pool
from gpufleet.fleet.health import validate_health
from gpufleet.fleet.invariants import validate_nothing
from gpufleet.fleet.kubelet import validate_kubelet
from gpufleet.fleet.model import AddonPlan, Fleet, Pool, SpendBounds
from gpufleet.fleet.neuron import is_neuron
from gpufleet.fleet.platform_rules import PlatformRules, platform_rules
from gpufleet.fleet.price_rules import regional_catalogue, validate_prices
from gpufleet.fleet.queue_rules import validate_queue_declaration
from gpufleet.fleet.scaling_rules import validate_idle
from gpufleet.spec.fleet_spec import FleetSpec

_finding = findings_in(__file__)


@dataclass(slots=True)
class Compilation:
    """A fleet during compilation. Each field below the input is set by one of `PASSES`; before
    that, reading it raises AttributeError."""

    spec: FleetSpec
    platforms: Platforms
    """All platforms: some findings name the platforms that support a setting."""
    catalogue: Catalogue
    """Its prices are those of the cluster's region."""
    paths: tuple[str, ...]
    """Path of each pool in the file."""
    as_of: date | None
    """The day for the age of prices; None: the day of the edition."""
    at: datetime | None
    """The time at which windows are evaluated; None: all are open."""
    findings: list[Finding] = field(default_factory=list[Finding])
    """Findings of the passes that ran."""
    drafts: tuple[PoolDraft, ...] = field(init=False)
    """Pools whose own declaration is valid."""
    parts: owners.OwnedParts = field(init=False)
    """The parts that the GPU Operator installs in the whole cluster."""
    mig_strategy: str = field(init=False)
    pools: tuple[Pool, ...] = field(init=False)
    discovery: DiscoveryOwner = field(init=False)
    """The owner of Node Feature Discovery."""
    spend: SpendBounds = field(init=False)
    addons: AddonPlan = field(init=False)

    @property
    def platform(self) -> PlatformValue:
        """The platform that the declaration names."""
        return self.platforms[self.spec.platform]

    @property
    def rules(self) -> PlatformRules:
        """The rules of that platform."""
        return platform_rules(self.platform)


def compile_fleet(
    spec: FleetSpec,
    catalogue: Catalogue,
    platforms: Platforms,
    *,
    pool_index: Sequence[int] | None = None,
    as_of: date | None = None,
    at: datetime | None = None,
) -> Fleet:
    """Everything that follows from a declaration, with every finding about it.

    `pool_index` gives each pool's index in the file when some pools could not be read; findings
    then still name the original line. `as_of` is the day for the age of prices (default: the day of
    the edition). `at` is the time for spend, quotas and limits, at which no window of capacity may
    have ended (default: `as_of`, a day from its beginning in UTC; with neither, every window is
    open). Pools with an error are left out of the result. An invalid declaration never raises an
    exception."""
    index = range(len(spec.pools)) if pool_index is None else pool_index
    made = Compilation(
        spec,
        platforms,
        regional_catalogue(spec, platforms[spec.platform], catalogue),
        tuple(f"pools[{i}]" for i in index),
        as_of,
        _moment(as_of) if at is None else at,
    )
    for one in PASSES:
        made.findings += one(made)
    return Fleet(spec, made.platform, made.pools, made.addons, ordered(made.findings), made.spend)


def _day(as_of: date | None) -> date | None:
    return as_of.date() if isinstance(as_of, datetime) else as_of


def _moment(as_of: date | None) -> datetime | None:
    if as_of is None or isinstance(as_of, datetime):
        return as_of
    return datetime.combine(as_of, time(), UTC)


def _validate_declaration(made: Compilation) -> Iterable[Finding]:
    """Names, teams and region, before machines are chosen."""
    spec, facts = made.spec, made.platform.facts
    clouds = () if facts.cloud is None else (facts.cloud,)
    return [
        *pool_rules.validate_fleet(spec, made.paths, made.platforms),
        *check_region(spec.cluster.region, clouds, made.catalogue, "cluster.region"),
    ]


def _draft_pools(made: Compilation) -> Iterable[Finding]:
    """Machines, image and partition of each pool, independent of the others."""
    findings: list[Finding] = []
    drafts: list[PoolDraft] = []
    for pool, path in zip(made.spec.pools, made.paths, strict=True):
        draft, found = draft_pool(pool, path, made.spec, made.platform, made.catalogue)
        findings += found
        if draft is not None:
            drafts.append(draft)
    made.drafts = tuple(drafts)
    return findings


def _decide_owners(made: Compilation) -> Iterable[Finding]:
    """The owners of driver, toolkit and device plugin."""
    addons = made.spec.addons
    made.parts, findings = owners.decide(
        [(d.spec.name, d.path, d.image) for d in made.drafts if not is_neuron(d.gpu)],
        addons.gpu_operator,
        plugin_chart=addons.device_plugin.enabled is True,
    )
    return findings


def _decide_mig_strategy(made: Compilation) -> Iterable[Finding]:
    """One strategy for the cluster: the operator's setting overrides any per-node setting. The
    device plugin refuses MPS under the strategy mixed, with or without MIG on the node."""
    operated = [draft for draft in made.drafts if draft.operated]
    by_strategy: dict[str, list[str]] = {}
    for draft in operated:
        for strategy in dict.fromkeys(partition.strategy for partition in draft.partitions):
            if strategy != "none":
                by_strategy.setdefault(strategy, []).append(draft.spec.name)
    if len(by_strategy) > 1:
        single, made.mig_strategy = by_strategy["single"], "mixed"
        path = next(d.path for d in made.drafts if d.spec.name == single[0])
        yield _finding("mig-strategy-conflict", path, single=single, mixed=by_strategy["mixed"])
        return
    made.mig_strategy = next(iter(by_strategy), "none")
    if not allows_mps(made.mig_strategy):
        for draft in operated:
            if any(p.mode == "mps" for p in draft.partitions):
                yield _finding("mps-beside-mixed-mig", draft.path, mixed=by_strategy["mixed"])


def _validate_sharing_together(made: Compilation) -> Iterable[Finding]:
    """Claims and vGPUs: settings in which all pools that use them must agree."""
    members = [(d.spec, d.path, d.partition, d.image) for d in made.drafts]
    claimed = [(d.spec, d.path, d.claimed or d.partition, d.image) for d in made.drafts]
    return [
        *validate_dra(claimed, made.spec, made.platform, made.catalogue),
        *validate_vgpu(members, made.spec, made.platforms),
    ]


def _compile_pools(made: Compilation) -> Iterable[Finding]:
    """Labels, taints, owners and spend of each pool, and windows of capacity that are not open."""
    served = [cut for draft in made.drafts if draft.operated for cut in draft.partitions]
    operator = operator_installed(made.spec.addons.gpu_operator, made.parts, served)
    made.pools = tuple(
        compiled_pool(draft, made.spec, made.platform, made.parts, made.at, operator=operator)
        for draft in made.drafts
    )
    day = _day(made.as_of) or made.catalogue.about.date
    return [
        *validate_prices(made.spec, made.platform, made.pools, made.catalogue, day),
        *validate_windows(made.pools, made.at),
        *validate_cut_overs(made.pools),
        *pool_rules.validate_nvlink(made.pools),
        *validate_balance(made.pools),
    ]


def _validate_contract(made: Compilation) -> Iterable[Finding]:
    """Taints, tolerations, advertisers and versions across layers."""
    return [
        *made.rules.validate_contract(made.spec, made.pools),
        *validate_raw_values(made.spec, made.catalogue),
    ]


def _validate_relations(made: Compilation) -> Iterable[Finding]:
    """Requirements of pools and programs on each other: the rules that also check files."""
    cluster = cluster_of(made.spec, made.pools, made.addons, made.catalogue)
    return [one.finding for one in broken(cluster)]


def _validate_on_platform(made: Compilation) -> Iterable[Finding]:
    """Settings that only the platform refuses, and autoscalers that it cannot use."""
    spec, pools = made.spec, made.pools
    return [
        *made.rules.validate_pools(spec, pools),
        *(found for pool in pools for found in validate_kubelet(pool, made.rules)),
        *validate_autoscalers(spec, made.platform, pools),
        *validate_health(spec, pools),
        *validate_acceptance(pools),
        *validate_idle(spec, pools),
    ]


def _decide_discovery(made: Compilation) -> Iterable[Finding]:
    spec = made.spec
    present = network_operator_present(spec, made.platform)
    made.discovery, findings = decide_discovery(spec.addons, made.platform, present)
    return findings


def _add_up_spend(made: Compilation) -> Iterable[Finding]:
    made.spend = spend.total(pool.spend for pool in made.pools)
    return spend.validate_budget(made.spec, made.pools, made.spend)


def _plan_addons(made: Compilation) -> Iterable[Finding]:
    """The cluster-wide add-ons."""
    spec, pools = made.spec, made.pools
    made.addons = AddonPlanner(
        spec, made.platform, pools, made.parts, made.mig_strategy, made.discovery, made.catalogue
    ).plan()
    day = _day(made.as_of) or made.catalogue.about.date
    return [
        *validate_addons(spec, made.platform, pools, made.addons, made.catalogue),
        *validate_branches(spec, pools, made.catalogue, day),
        *made.rules.validate_addons(spec, pools, made.addons),
    ]


def _validate_arguments(made: Compilation) -> Iterable[Finding]:
    """Arguments that the provider refuses, in the form in which components register them."""
    rules = made.rules
    wrong = [one.path for one in made.findings if one.severity is Severity.ERROR]
    return rules.validate_arguments(made.spec, [p for p in made.pools if _renders(p, wrong, rules)])


def _renders(pool: Pool, wrong: Sequence[str], rules: PlatformRules) -> bool:
    """Whether the pool has no errors except in raw arguments."""
    raw = tuple(f"{pool.path}.{place}" for place in rules.raw_places)
    return all(
        not _within(path, pool.path) or any(_within(path, place) for place in raw) for path in wrong
    )


def _within(path: str, place: str) -> bool:
    return path == place or path.startswith((f"{place}.", f"{place}["))


def _validate_use(made: Compilation) -> Iterable[Finding]:
    """Queues, and declared nodes, promises and quotas that yield nothing."""
    return [
        *validate_queue_declaration(made.spec, made.platforms, made.pools),
        *validate_nothing(made.spec, made),
    ]


PASSES: tuple[Callable[[Compilation], Iterable[Finding]], ...] = (
    _validate_declaration,
    _draft_pools,
    _decide_owners,
    _decide_mig_strategy,
    _validate_sharing_together,
    _compile_pools,
    _validate_contract,
    _validate_on_platform,
    _decide_discovery,
    _add_up_spend,
    _plan_addons,
    _validate_relations,
    _validate_arguments,
    _validate_use,
)
"""All passes of the compilation, in order."""
