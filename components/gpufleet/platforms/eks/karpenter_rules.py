"""Findings about pools that Karpenter provisions."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gpufleet.catalogue import load
from gpufleet.contract.driver_ranges import version_parts
from gpufleet.contract.programs.karpenter_keys import (
    AUTO_MODE,
    AUTO_MODE_LABELS,
    WELL_KNOWN,
)
from gpufleet.contract.programs.karpenter_keys import AWS as PREFIX
from gpufleet.contract.programs.karpenter_machines import NodeRequirement, admits
from gpufleet.findings import Finding, rules_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.eks.efa import node_huge_pages
from gpufleet.platforms.eks.karpenter_values import karpenter_pools
from gpufleet.spec.base import Ownership
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.karpenter import KarpenterPoolOptions
from gpufleet.spec.pool import Provisioner

_rules = rules_in(__file__)

OWN = (
    "node.kubernetes.io/instance-type",
    "karpenter.sh/capacity-type",
    "karpenter.sh/nodepool",
    "karpenter.k8s.aws/ec2nodeclass",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
)
"""Labels whose requirement follows from the pool, or that Karpenter reserves."""


def validate_karpenter(spec: FleetSpec, pools: Sequence[Pool]) -> Iterator[Finding]:
    """All findings about Karpenter's pools. Helm installs the folder `crds` of a chart once, and
    never changes it. Huge pages and other prices are only in a NodeOverlay. Gates are off by
    default; gpufleet switches them on if it installs Karpenter."""
    for pool in pools:
        if pool.provisioner.by_node_pool and pool.ownership is not Ownership.EXISTING:
            yield from _validate(pool, pool.spec.karpenter or KarpenterPoolOptions())
    addon, ours = spec.addons.karpenter, karpenter_pools(pools)
    pinned = load(spec.catalogue, overlay=spec.catalogue_overlay).chart("karpenter").version
    release, overlay = addon.version or pinned, addon.node_overlay
    yield from _rules(
        "karpenter",
        spec=spec,
        addon=addon,
        ours=ours,
        release=release,
        version=version_parts(release),
        minor=minor_of(spec.cluster.kubernetes_version),
        overlay=addon.ownership is not Ownership.EXISTING if overlay is None else overlay,
        paged=[pool.name for pool in ours if node_huge_pages(pool)],
    )


def _validate(pool: Pool, options: KarpenterPoolOptions) -> Iterator[Finding]:
    rows = Path(__file__).parent
    yield from validate_raw_arguments(pool, rows, "karpenter.nodePool", options.node_pool)
    yield from validate_raw_arguments(pool, rows, "karpenter.nodeClass", options.node_class)
    auto = pool.provisioner is Provisioner.AUTO_MODE
    prefix, labels = (AUTO_MODE, AUTO_MODE_LABELS) if auto else (PREFIX, WELL_KNOWN)
    machines = [one.instance for one in pool.machines if one.instance is not None]
    for index, wanted in enumerate(options.requirements):
        read = NodeRequirement(0, wanted.key, wanted.operator, wanted.values)
        left = {one.name for one in machines if admits(one, read)}
        yield from _rules(
            "requirement",
            f"{pool.path}.karpenter.requirements[{index}]",
            pool=pool,
            wanted=wanted,
            own=OWN,
            auto=auto,
            prefixes=[prefix],
            labels=labels,
            short=wanted.key.removeprefix(prefix),
            plain=wanted.key.removeprefix(PREFIX),
            # EC2 reports 0 GPUs for machines with a part of one.
            lost=[one.name for one in pool.machines if one.fraction != 1 and one.name not in left],
            # The catalogue does not have labels of Neuron devices.
            some=bool(left) or not machines or pool.gpu.vendor != "nvidia",
        )
