"""Findings about autoscalers that a platform cannot use, and groups they cannot scale correctly."""

from collections.abc import Iterable

from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Intent, Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

WHOLE_GPU = "nvidia.com/gpu"
"""The only resource by which Cluster Autoscaler on AWS detects that a new GPU node is complete
(`processors/customresources/gpu_processor.go`, `utils/gpu`, 1.36)."""

UNNEEDED = {
    Intent.TRAINING: "1h0m0s",
    Intent.BATCH: "10m0s",
    Intent.INFERENCE: "10m0s",
    Intent.INTERACTIVE: "30m0s",
}
"""Idle time before a node is removed, by the intent of the pool."""


def validate_autoscalers(
    spec: FleetSpec, platform: PlatformValue, pools: Iterable[Pool]
) -> list[Finding]:
    """Autoscalers that are switched on where they have no effect."""
    return [
        *(found for pool in pools for found in _rules("compiled", pool.path, pool=pool)),
        *_rules("autoscalers", spec=spec, facts=platform.facts),
    ]


def has_whole_gpus(pool: Pool) -> bool:
    """Whether nodes of the pool advertise `WHOLE_GPU`, as whole GPUs or as shares of that name.

    A node whose label makes Cluster Autoscaler wait for a GPU, and that never advertises one, stays
    unready: it is never removed, and many such nodes stop the autoscaler.
    """
    return pool.advertised.get(WHOLE_GPU, 0) > 0


def validate_scaled_group(pool: Pool) -> list[Finding]:
    """Errors of Cluster Autoscaler about a group; empty for other provisioners."""
    if pool.provisioner is not Provisioner.CLUSTER_AUTOSCALER:
        return []
    return [*_mixed_types(pool), *_rules("scaled", pool.path, pool=pool), *_startup(pool)]


def _startup(pool: Pool) -> Iterable[Finding]:
    """Nodes for which it does not wait look ready before their device plugin is ready."""
    if has_whole_gpus(pool) or pool.gpu.vendor != "nvidia" or pool.spec.sharing.dra is not None:
        return
    offered = ", ".join(pool.advertised)
    yield _finding(
        "autoscaler-does-not-wait",
        pool.path,
        pool=pool.name,
        offered=offered,
        whole_gpu=WHOLE_GPU,
        limit=pool.nodes.maximum,
        advertised=dict(pool.advertised),
    )


def _mixed_types(pool: Pool) -> Iterable[Finding]:
    """Cluster Autoscaler assumes that every machine of a group equals the first type."""
    first, *others = pool.machines
    smaller = [
        machine.name
        for machine in others
        if (machine.vcpu or 0) < (first.vcpu or 0)
        or (machine.memory_bytes or 0) < (first.memory_bytes or 0)
    ]
    if smaller:
        yield _finding(
            "autoscaler-first-type-larger",
            pool.path,
            found=first.name,
            smaller=smaller,
            first=smaller[0],
            are="is" if len(smaller) == 1 else "are",
        )
