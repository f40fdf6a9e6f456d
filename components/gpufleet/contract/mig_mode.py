"""Switching MIG mode: what the GPU needs for it, and what the machine's owner allows.

Ampere switches mode by a GPU reset. mig-manager tries that first and reboots only where
WITH_REBOOT is set. Inside a virtual machine the hypervisor may forbid the reset.
"""

from gpufleet.catalogue import Gpu
from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool, chain
from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, warning


def with_reboot(cluster: ClusterFacts) -> bool:
    """Whether mig-manager may reboot a node whose GPUs cannot be reset."""
    return reboots(cluster.spec.addons.gpu_operator.mig_manager.env)


def reboots(env: dict[str, str]) -> bool:
    """The same from mig-manager's environment."""
    return env.get("WITH_REBOOT", "").lower() == "true"


def validate_mig_mode(cluster: ClusterFacts) -> list[Finding]:
    """Findings about Ampere pools that may never get into MIG mode."""
    if with_reboot(cluster):
        return []
    return [_stuck(pool) for pool in cluster.operated if _needs_reset(pool)]


def _needs_reset(pool: ContractPool) -> bool:
    return pool.partition.mig_enabled and mode_may_need_reboot(pool.gpu, pool.platform)


def mode_may_need_reboot(gpu: Gpu, platform: PlatformValue) -> bool:
    """Whether GPUs of a platform switch MIG mode by a reset that its hypervisor may forbid."""
    reset = gpu.mig is not None and gpu.mig.reset_needed
    return reset and platform.facts.reset_may_be_forbidden


def _stuck(pool: ContractPool) -> Finding:
    return warning(
        "mig-mode-may-need-reboot",
        "addons.gpuOperator.migManager.env",
        f"GPUs of {pool.name} switch MIG mode by a reset, which {pool.platform.name} may forbid: "
        "the node would end in mig.config.state=failed and offer no slices",
        'write `migManager: {env: {WITH_REBOOT: "true"}}`',
        pool=pool.name,
        facts=chain(
            ContractFact(
                f"{pool.gpu.key} needs a GPU reset to switch MIG mode",
                f"catalogue GPU {pool.gpu.key}",
            ),
            ContractFact(
                "a GPU in a virtual machine is reset only if the hypervisor permits it",
                "NVIDIA/gpu-operator#668",
            ),
            ContractFact("WITH_REBOOT is not set", "addons.gpuOperator.migManager.env"),
        ),
    )
