"""One entry of a workloads file: its market, its need, its choices; shares for notebooks."""

from dataclasses import replace
from operator import attrgetter

from gpufleet.catalogue import Catalogue, Gpu
from gpufleet.environment import strict_prices
from gpufleet.findings import Finding, Severity, findings_in, has_errors
from gpufleet.models.inference import CUDA_CONTEXT
from gpufleet.models.ledger import GIB, Basis
from gpufleet.models.parallel import Parallelism
from gpufleet.platforms.registry import PLATFORMS
from gpufleet.spec.base import Platform
from gpufleet_planner.planning.attempts import bought
from gpufleet_planner.planning.choice import ServingChoice, choose
from gpufleet_planner.planning.need import ISOLATED, Assurance, Isolation, WorkloadNeed, resolve
from gpufleet_planner.planning.offers import Market, OfferedMachine, check_gpus, machines
from gpufleet_planner.planning.option import Miss, Option, Reached, Rejected
from gpufleet_planner.planning.provisioning import validate_gpu
from gpufleet_planner.planning.workloads import (
    OWN,
    ChosenWorkload,
    ModelWorkload,
    Notebooks,
    OwnHardware,
    PlanHead,
)
from gpufleet_planner.sizing.device import Device, DeviceShare, shares
from gpufleet_planner.sizing.sized import context_rules

_finding = findings_in(__file__)
NOTEBOOK_KINDS = {
    **ISOLATED,
    Isolation.NONE: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.TIME_SLICE),
}
"""Without required isolation notebooks use time-slicing: one user at a time has the whole GPU, and
the notebooks need not run as one user, as the clients of an MPS server must."""


def choose_notebooks(
    entry: Notebooks, market: Market, catalogue: Catalogue, path: str = ""
) -> ServingChoice:
    """Shares that hold one notebook each: its stated peak and a CUDA context. With time-slicing
    each gets an even part of the memory, so that the sum of all peaks fits."""
    need = int(entry.memory_gib * GIB) + CUDA_CONTEXT
    offered = machines(market, catalogue, interruptible=entry.interruptible, job=False)
    by_gpu: dict[str, list[OfferedMachine]] = {}
    for machine in offered:
        if machine.fraction == 1:
            by_gpu.setdefault(machine.gpu.key, []).append(machine)
    options: list[Option] = []
    rejected: list[Rejected] = []
    for group in by_gpu.values():
        kinds = NOTEBOOK_KINDS[entry.isolation]
        held = [s for s in shares(group[0].gpu, kinds, need) if s.usable_bytes >= need]
        found = [one for s in held for one in bought(_reached(entry, need, s), s, group)]
        options += found
        if not found:
            text = f"{need / GIB:.1f} GiB are needed, and {group[0].gpu.key} has less"
            key = group[0].gpu.key
            rejected.append(Rejected(key, key, Miss("memory", text)))
    kept = sorted(dict.fromkeys(options), key=attrgetter("rank"))
    findings: tuple[Finding, ...] = ()
    if not kept:
        gib = f"{need / GIB:.1f}"
        findings = (_finding("nothing-fits/notebooks", path, gib=gib, workload=entry.name),)
    return ServingChoice(tuple(kept), tuple(rejected), findings)


def _reached(entry: Notebooks, need: int, share: Device) -> Reached:
    return Reached(
        copies=entry.count,
        gpus_each=1,
        parallel=Parallelism(),
        precision="any",
        need_bytes=need,
        usable_bytes=share.usable_bytes,
        batch=1,
        binding="memory",
        basis=Basis.ASSUMED,
    )


def market_of(head: PlanHead, catalogue: Catalogue) -> tuple[Market, tuple[Finding, ...]]:
    """The market of the workloads of a file, and an error for every unknown GPU."""
    keys, findings = check_gpus(head.gpus, catalogue)
    owned: list[OfferedMachine] = []
    usable = OWN in PLATFORMS[head.platform].facts.capacity
    for index, row in enumerate(head.hardware if usable else ()):
        found, unknown = check_gpus((row.gpu,), catalogue, f"hardware[{index}].gpu")
        findings = (*findings, *unknown)
        owned += [own_machine(row, catalogue.gpu(key), index, head.platform) for key in found]
    region = head.cluster.get("region")
    market = Market(
        (head.platform.value,),
        region if isinstance(region, str) else None,
        keys,
        head.fractional,
        head.arm,
        strict_prices(head.environment, head.spec.get("prices")),
        tuple(owned),
    )
    return market, findings


def own_machine(row: OwnHardware, gpu: Gpu, index: int, platform: Platform) -> OfferedMachine:
    """A row of the file's hardware, of that index, as a machine that is there."""
    shape, price = row.shape(platform) or {}, row.usd_per_gpu_hour
    memory = shape.get("memoryGib")
    return OfferedMachine(
        name=f"{row.gpus_per_node} x {gpu.key}",
        platform=platform.value,
        gpu=gpu,
        gpus=row.gpus_per_node,
        buy=OWN,
        micro_usd=None if price is None else int(price * 1_000_000) * row.gpus_per_node,
        price_source="stated",
        vcpu=shape.get("cpus"),
        memory_bytes=None if memory is None else memory << 30,
        network_gbps=row.network_gbps,
        fabric="rdma" if row.rdma else "none",
        most_nodes=row.nodes,
        row=index,
    )


def choose_entry(
    entry: ModelWorkload | Notebooks,
    path: str,
    market: Market,
    catalogue: Catalogue,
    confidence: Assurance = Assurance.EXPECTED,
) -> tuple[ChosenWorkload | None, tuple[Finding, ...]]:
    """Possible hardware of an entry, cheapest first; None with the errors that explain it."""
    names = entry.gpus
    if isinstance(entry, ModelWorkload) and entry.gpu is not None:
        names = (*names, entry.gpu)
    keys, findings = check_gpus(names, catalogue, f"{path}.gpus")
    if findings:
        found = () if isinstance(entry, Notebooks) else _resolved(entry, path, catalogue)[1]
        return None, (*findings, *(f for f in found if f.severity.value == "error"))
    if keys:
        kept = tuple(key for key in keys if not market.gpus or key in market.gpus)
        if not kept:
            return None, (_finding("gpu-excluded", path, keys=keys, gpus=market.gpus),)
        market = replace(market, gpus=kept)
    need: WorkloadNeed | None = None
    if isinstance(entry, Notebooks):
        choice = choose_notebooks(entry, market, catalogue, path)
    else:
        need, findings = _resolved(entry, path, catalogue, confidence)
        if need is None or has_errors(findings):
            return None, findings
        choice = choose(need, market, catalogue, path, thorough=False)
        if market.gpus:
            every = choose(need, replace(market, gpus=()), catalogue, thorough=False)
            named = validate_gpu(choice, every, ", ".join(market.gpus), f"{path}.gpus")
            findings += tuple(replace(one, severity=Severity.INFO) for one in named)
    found = ChosenWorkload(path, entry, need, choice) if choice.options else None
    return found, (*findings, *choice.findings)


def _resolved(
    entry: ModelWorkload,
    path: str,
    catalogue: Catalogue,
    confidence: Assurance = Assurance.EXPECTED,
) -> tuple[WorkloadNeed | None, tuple[Finding, ...]]:
    need, findings = resolve(entry, entry.target, entry, catalogue, entry.name, confidence)
    if need is not None:
        findings = (*findings, *context_rules(need.model, entry, need.workload))
    return need, tuple(replace(f, path=f"{path}.{f.path}" if f.path else path) for f in findings)
