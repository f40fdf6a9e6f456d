"""One entry of a workloads file: its market, its need, its choices."""

from dataclasses import replace

from gpufleet.catalogue import Catalogue
from gpufleet.environment import strict_prices
from gpufleet.findings import Finding, error, has_errors
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet_planner.planning.choice import ServingChoice, choose, choose_notebooks
from gpufleet_planner.planning.need import Allowed, WorkloadNeed, resolve
from gpufleet_planner.planning.offers import Market, OwnedHardware, check_gpus
from gpufleet_planner.planning.target import Assurance
from gpufleet_planner.planning.workloads import OWN, ModelWorkload, Notebooks, OwnHardware, PlanHead
from gpufleet_planner.sizing.sized import context_rules


def market_of(head: PlanHead, catalogue: Catalogue) -> tuple[Market, tuple[Finding, ...]]:
    """Where the workloads of a file may run, and an error for every unknown GPU."""
    keys, findings = check_gpus(head.gpus, catalogue)
    owned: list[OwnedHardware] = []
    usable = OWN in PLATFORMS[head.platform].facts.capacity
    for index, row in enumerate(head.hardware if usable else ()):
        key, found = check_gpus((row.gpu,), catalogue, f"hardware[{index}].gpu")
        findings = (*findings, *found)
        owned += [_owned(row, name, index, head.platform) for name in key]
    region = head.cluster.get("region")
    market = Market(
        (head.platform.value,),
        region if isinstance(region, str) else None,
        tuple(owned),
        keys,
        head.fractional,
        head.arm,
        strict_prices(head.environment, head.spec.get("prices")),
    )
    return market, findings


def _owned(row: OwnHardware, key: str, index: int, platform: Platform) -> OwnedHardware:
    shape = row.shape(platform) or {}
    return OwnedHardware(
        key,
        row.gpus_per_node,
        row.nodes,
        row.usd_per_gpu_hour,
        row.network_gbps,
        row.rdma,
        shape.get("cpus"),
        shape.get("memoryGib"),
        index,
    )


def choose_entry(
    entry: ModelWorkload | Notebooks,
    path: str,
    market: Market,
    catalogue: Catalogue,
    confidence: Assurance = Assurance.EXPECTED,
) -> tuple[WorkloadNeed | None, ServingChoice | None, tuple[Finding, ...]]:
    """What could run an entry, cheapest first; None with the errors that say why."""
    names = entry.gpus
    if isinstance(entry, ModelWorkload) and entry.gpu is not None:
        names = (*names, entry.gpu)
    keys, findings = check_gpus(names, catalogue, f"{path}.gpus")
    if findings:
        return None, None, (*findings, *_other_problems(entry, path, catalogue))
    if keys:
        kept = tuple(key for key in keys if not market.gpus or key in market.gpus)
        if not kept:
            text = f"{', '.join(keys)} is none of the plan's gpus {', '.join(market.gpus)}"
            return None, None, (error("gpu-excluded", f"{path}.gpus", text, "name one of them"),)
        market = replace(market, gpus=kept)
    if isinstance(entry, Notebooks):
        choice = choose_notebooks(
            entry.name,
            entry.count,
            entry.memory_gib,
            entry.isolation,
            entry.interruptible,
            market,
            catalogue,
            path,
        )
        return None, choice, choice.findings
    need, findings = _resolved(entry, path, catalogue, confidence)
    if need is None or has_errors(findings):
        return None, None, findings
    choice = choose(need, market, catalogue, path, thorough=False)
    return need, choice, (*findings, *choice.findings)


def _resolved(
    entry: ModelWorkload,
    path: str,
    catalogue: Catalogue,
    confidence: Assurance = Assurance.EXPECTED,
) -> tuple[WorkloadNeed | None, tuple[Finding, ...]]:
    allowed = Allowed(
        entry.precisions,
        entry.isolation,
        entry.interruptible,
        entry.replicas,
        entry.most_gpus,
        entry.global_batch,
        entry.goodput,
        confidence,
    )
    need, findings = resolve(entry, entry.target, allowed, catalogue, entry.name)
    if need is not None:
        findings += context_rules(need.model, entry, need.workload)
    return need, tuple(replace(f, path=f"{path}.{f.path}" if f.path else path) for f in findings)


def _other_problems(
    entry: ModelWorkload | Notebooks, path: str, catalogue: Catalogue
) -> tuple[Finding, ...]:
    """What else is wrong with an entry whose GPU is unknown."""
    if isinstance(entry, Notebooks):
        return ()
    return tuple(f for f in _resolved(entry, path, catalogue)[1] if f.severity.value == "error")


def intent_of(entry: ModelWorkload | Notebooks, need: WorkloadNeed | None) -> str:
    """The pool's intent: it sets disruption, spot and packing defaults."""
    if need is None:
        return "interactive"
    if not need.trains:
        return "inference"
    return "batch" if entry.interruptible else "training"
