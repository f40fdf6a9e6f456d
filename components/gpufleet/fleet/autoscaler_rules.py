"""Findings about autoscalers that a platform cannot use, and groups they would not understand."""

from collections.abc import Iterable

from gpufleet.contract.platform import PlatformValue
from gpufleet.findings import Finding, error, warning
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.pool import Intent, Provisioner

WHOLE_GPU = "nvidia.com/gpu"
"""The one resource by which Cluster Autoscaler on AWS sees that a new GPU node is complete
(`processors/customresources/gpu_processor.go`, `utils/gpu`, 1.36)."""

UNNEEDED = {
    Intent.TRAINING: "1h0m0s",
    Intent.BATCH: "10m0s",
    Intent.INFERENCE: "10m0s",
    Intent.INTERACTIVE: "30m0s",
}
"""How long a node must be idle before it goes, by what the pool is for."""


def validate_autoscalers(
    spec: FleetSpec, platform: PlatformValue, pools: Iterable[Pool]
) -> list[Finding]:
    """What is switched on where it would do nothing."""
    return list(_validate(spec, platform, pools))


def _validate(spec: FleetSpec, platform: PlatformValue, pools: Iterable[Pool]) -> Iterable[Finding]:
    for pool in pools:
        if pool.spec.karpenter is not None and not pool.provisioner.by_node_pool:
            yield error(
                "options-of-other-provisioner",
                f"{pool.path}.karpenter",
                f"`karpenter` settings have no meaning with provisioner {pool.provisioner.value}",
                "remove them, or write `provisioner: karpenter`",
                found=pool.provisioner.value,
            )
    offered = platform.facts.provisioners
    if spec.addons.karpenter.enabled and Provisioner.KARPENTER not in offered:
        yield error(
            "karpenter-not-on-eks",
            "addons.karpenter.enabled",
            f"Karpenter's production provider is AWS's, and the fleet is for {spec.platform.value}",
            "remove it",
            found=spec.platform.value,
        )


def has_whole_gpus(pool: Pool) -> bool:
    """Whether nodes of the pool advertise `WHOLE_GPU`, as wholes or as shares of that name.

    A node whose label makes Cluster Autoscaler wait for a GPU, and that never advertises one, stays
    unready: it is never removed, and many of them stop the autoscaler.
    """
    return pool.advertised.get(WHOLE_GPU, 0) > 0


def validate_scaled_group(pool: Pool) -> list[Finding]:
    """What Cluster Autoscaler would get wrong about a group; nothing for other provisioners."""
    if pool.provisioner is not Provisioner.CLUSTER_AUTOSCALER:
        return []
    return [*_mixed_types(pool), *_claims(pool), *_startup(pool)]


def _claims(pool: Pool) -> Iterable[Finding]:
    """The AWS provider's picture of an empty group has no devices to claim."""
    if pool.spec.sharing.dra is None or pool.nodes.minimum > 0:
        return
    yield error(
        "dra-scale-from-zero",
        f"{pool.path}.nodes.min",
        f"{pool.name} may be empty, and of an empty group on AWS Cluster Autoscaler knows no "
        "devices: pods with claims would never get a node. It learns them from a node that runs",
        "write `nodes: {min: 1}`, or `provisioner: managed` and scale by hand",
        found=0,
        limit=1,
    )


def _startup(pool: Pool) -> Iterable[Finding]:
    """Nodes it cannot wait for look ready before their device plugin is."""
    if has_whole_gpus(pool) or pool.gpu.vendor != "nvidia" or pool.spec.sharing.dra is not None:
        return
    offered = ", ".join(pool.advertised)
    yield warning(
        "autoscaler-does-not-wait",
        f"{pool.path}.sharing",
        f"nodes of {pool.name} advertise {offered} and no {WHOLE_GPU}, the only sign by which "
        "Cluster Autoscaler sees that a new GPU node is complete: until its operands have run, it "
        f"may start further nodes for the same pods, up to {pool.nodes.maximum}",
        "write `rename: false` (shares) or `strategy: single` (slices), or `provisioner: "
        "karpenter`, which waits for what an overlay declares",
        advertised=dict(pool.advertised),
        limit=pool.nodes.maximum,
    )


def _mixed_types(pool: Pool) -> Iterable[Finding]:
    """Cluster Autoscaler takes every machine of a group to be like the first type."""
    first, *others = pool.machines
    smaller = [
        machine.name
        for machine in others
        if (machine.vcpu or 0) < (first.vcpu or 0)
        or (machine.memory_bytes or 0) < (first.memory_bytes or 0)
    ]
    if smaller:
        yield error(
            "autoscaler-first-type-larger",
            f"{pool.path}.instanceTypes",
            f"Cluster Autoscaler takes every node to be like {first.name}, the first type, and "
            f"{', '.join(smaller)} {'is' if len(smaller) == 1 else 'are'} smaller: pods would get "
            "nodes they do not fit on",
            f"put {smaller[0]} first, or keep types of one size",
            found=first.name,
            smaller=smaller,
        )
