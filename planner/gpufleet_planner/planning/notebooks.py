"""Shares for people at notebooks: one each, of a size that its author states."""

from collections.abc import Iterator, Sequence

from gpufleet.catalogue import Catalogue
from gpufleet.findings import Finding, error
from gpufleet.models.inference import CUDA_CONTEXT
from gpufleet.models.ledger import Basis
from gpufleet.models.parallel import Parallelism
from gpufleet_planner.planning.attempts import bought
from gpufleet_planner.planning.choice import ServingChoice
from gpufleet_planner.planning.need import Isolation
from gpufleet_planner.planning.offers import Market, OfferedMachine, machines
from gpufleet_planner.planning.option import Miss, Option, Reached, Rejected, pareto, rank
from gpufleet_planner.planning.shares import ISOLATED, shares
from gpufleet_planner.planning.workloads import Notebooks
from gpufleet_planner.sizing.device import DeviceShare

_GIB = 1 << 30
NOTEBOOK_KINDS = {
    **ISOLATED,
    Isolation.NONE: (DeviceShare.WHOLE, DeviceShare.MIG, DeviceShare.TIME_SLICE),
}
"""Where nothing must be isolated notebooks take turns: one person at a time has the whole GPU, and
all of them need not run as one user, as the clients of an MPS server must."""


def choose_notebooks(
    entry: Notebooks, market: Market, catalogue: Catalogue, path: str = ""
) -> ServingChoice:
    """Shares that hold one notebook each: its stated peak and a CUDA context. Where time-slicing is
    allowed each gets an even part of the memory, so that the sum of all peaks fits."""
    need = int(entry.memory_gib * _GIB) + CUDA_CONTEXT
    offered = machines(market, catalogue, interruptible=entry.interruptible, job=False)
    by_gpu: dict[str, list[OfferedMachine]] = {}
    for machine in offered:
        if machine.fraction == 1:
            by_gpu.setdefault(machine.gpu.key, []).append(machine)
    options: list[Option] = []
    rejected: list[Rejected] = []
    for group in by_gpu.values():
        found = list(_try(entry, need, group))
        options += found
        if not found:
            text = f"{need / _GIB:.1f} GiB are needed, and {group[0].gpu.key} has less"
            key = group[0].gpu.key
            rejected.append(Rejected(key, key, Miss("memory", text)))
    kept = sorted(dict.fromkeys(options), key=rank)
    findings: tuple[Finding, ...] = ()
    if not kept:
        text = f"no GPU on the market holds {need / _GIB:.1f} GiB for one notebook of {entry.name}"
        findings = (error("nothing-fits", path, text, "lower memoryGib"),)
    return ServingChoice(tuple(kept), pareto(kept), tuple(rejected), findings)


def _try(entry: Notebooks, need: int, group: Sequence[OfferedMachine]) -> Iterator[Option]:
    for share in shares(group[0].gpu, NOTEBOOK_KINDS[entry.isolation], need):
        if share.usable_bytes < need:
            continue
        reached = Reached(
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
        yield from bought(reached, share, group)
