"""Switching MIG mode: requirements of the GPU, and permissions of the hypervisor.

Ampere switches mode by a GPU reset. mig-manager tries that first and reboots only if WITH_REBOOT is
set. Inside a virtual machine the hypervisor may forbid the reset.
"""

from collections.abc import Iterator, Mapping

from gpufleet.catalogue import Gpu
from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.pool import NodePool
from gpufleet.cluster.program import Program
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.relation import GPU_OPERATOR, Broken
from gpufleet.documents.shapes import items, mapping
from gpufleet.findings import findings_in

_finding = findings_in(__file__)

ENV = "migManager.env"


def reboots(env: Mapping[str, object]) -> bool:
    """Whether mig-manager, with this environment, may reboot a node whose GPUs cannot be reset."""
    return str(env.get("WITH_REBOOT", "")).lower() == "true"


def validate_mig_mode(cluster: ClusterModel) -> Iterator[Broken]:
    """Ampere pools whose MIG mode may never be switched on."""
    for program in cluster.programs(GPU_OPERATOR):
        if not program.complete and program.value(ENV) is None and not cluster.complete:
            continue
        if program.hides(ENV):
            continue
        entries = map(mapping, items(program.value(ENV)))
        env = {str(one.get("name")): one.get("value") for one in entries}
        if not reboots(env):
            yield from (_stuck(pool, program) for pool in cluster.operated if _stays(pool, cluster))


def _stays(pool: NodePool, cluster: ClusterModel) -> bool:
    gpu = cluster.catalogue.gpus.get(pool.gpu.found or "")
    forbidden = pool.reset_may_be_forbidden.found is True
    return gpu is not None and pool.shared.mig.found is True and needs_reset(gpu) and forbidden


def needs_reset(gpu: Gpu) -> bool:
    """Whether a GPU switches MIG mode by a reset, which its node's hypervisor may forbid."""
    return gpu.mig is not None and gpu.mig.reset_needed


def _stuck(pool: NodePool, program: Program) -> Broken:
    place, gpu = program.field(ENV), pool.gpu.found
    reset = ContractFact(f"{gpu} needs a GPU reset to switch MIG mode", f"catalogue GPU {gpu}")
    finding = _finding("mig-mode-may-need-reboot", place, pool=pool.name, maker=pool.maker.value)
    return Broken.of(finding, program, reset)
