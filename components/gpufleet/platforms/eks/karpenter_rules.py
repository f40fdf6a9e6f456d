"""Findings about pools that Karpenter provisions."""

import re
from collections.abc import Iterable, Sequence
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
from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.fleet.raw_arguments import validate_raw_arguments
from gpufleet.platforms.eks.efa import HUGE_PAGES, node_huge_pages
from gpufleet.platforms.eks.karpenter_objects import has_buffer, is_static
from gpufleet.platforms.eks.karpenter_values import karpenter_pools
from gpufleet.spec.base import Ownership
from gpufleet.spec.cluster import minor_of
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.karpenter import KarpenterPoolOptions, KarpenterRequirement
from gpufleet.spec.pool import Provisioner

_finding = findings_in(__file__)

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
CLAIMS_SINCE = (1, 15)
"""First release that creates nodes for claims (Amazon EKS user guide, Using DRA with Karpenter)."""
BUFFERS_SINCE = (1, 14)
"""First release with CapacityBuffer (`features.jsonl`)."""
CLAIM_FACTS = [
    {
        "fact": "a pod with claims is an error of the scheduling simulation",
        "source": "kubernetes-sigs/karpenter v1.14.1 pkg/operator/options/options.go, "
        "pkg/controllers/provisioning/scheduling/scheduler.go",
    },
    {
        "fact": "no instance type has devices for claims; 1.15 brings them for GPUs, "
        "alpha and off (settings.awsFeatureGates.draNVIDIAGPU)",
        "source": "aws/karpenter-provider-aws v1.14.1 pkg/providers/instancetype, "
        "v1.15.2 pkg/providers/nvidiadra",
    },
]
KARPENTER = "karpenter.sh/"
"""Prefix of labels that only Karpenter may set."""
_KEY = re.compile(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
)
"""Keys of labels and taints (karpenter.sh/v1 NodePool)."""


def validate_karpenter(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """All findings about Karpenter's pools."""
    return [
        *(finding for pool in pools for finding in _validate(pool)),
        *_overlays(spec, pools),
        *_gates(spec, pools),
        *_claims(spec, pools),
        *_definitions(spec, pools),
    ]


def _definitions(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Helm installs the folder `crds` of a chart once, and never changes it."""
    addon = spec.addons.karpenter
    installed = addon.ours
    decided = "upgrade_definitions" in addon.model_fields_set
    if installed and addon.version is not None and not decided and karpenter_pools(pools):
        yield _finding("karpenter-definitions-not-upgraded", found=addon.version)


def _overlays(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Karpenter reads huge pages and other prices only from a NodeOverlay, whose gate is off by
    default."""
    addon = spec.addons.karpenter
    if addon.node_overlay or (
        addon.node_overlay is None and addon.ownership is not Ownership.EXISTING
    ):
        return
    for pool in karpenter_pools(pools):
        if pool.spec.karpenter is not None and pool.spec.karpenter.price_adjustment is not None:
            yield _finding("karpenter-price-without-overlay", pool=pool.name)
        if node_huge_pages(pool):
            yield _finding(
                "karpenter-does-not-know-huge-pages", pool=pool.name, huge_pages=HUGE_PAGES
            )


def _gates(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """The gates are off by default; gpufleet switches them on if it installs Karpenter."""
    ours = karpenter_pools(pools)
    release = _release(spec)
    if version_parts(release) < BUFFERS_SINCE:
        for pool in filter(has_buffer, ours):
            yield _finding("karpenter-buffer-of-nothing/release", pool.path, release=release)
    if spec.addons.karpenter.ownership is not Ownership.EXISTING:
        return
    if static := [pool for pool in ours if is_static(pool)]:
        names = [pool.name for pool in static]
        yield _finding("karpenter-static-gate", static[0].path, pools=names)
    if buffered := [pool for pool in ours if has_buffer(pool)]:
        names = [pool.name for pool in buffered]
        yield _finding("karpenter-buffer-gate", buffered[0].path, pools=names)


def _release(spec: FleetSpec) -> str:
    """The release in use: the declared one, else the pin."""
    pinned = load(spec.catalogue, overlay=spec.catalogue_overlay).chart("karpenter").version
    return spec.addons.karpenter.version or pinned


def _claims(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """From 1.15 on Karpenter knows the whole GPUs of a new node. For static nodes it does not need
    to know them."""
    addon = spec.addons.karpenter
    release, kubernetes = _release(spec), spec.cluster.kubernetes_version
    for pool in karpenter_pools(pools):
        dra = pool.spec.sharing.dra
        if dra is None or is_static(pool):
            continue
        known = version_parts(release) >= CLAIMS_SINCE
        if not known:
            yield _finding("dra-with-karpenter", pool.path, release=release, facts=CLAIM_FACTS)
        elif minor_of(kubernetes) < (1, 34):
            yield _finding("dra-with-karpenter/kubernetes", pool.path, found=kubernetes)
        elif addon.values.get("settings", {}).get("enableDRA"):
            yield _finding("dra-with-karpenter/values")
        elif dra.devices != "gpu" or dra.compute_domain:
            yield _finding("dra-with-karpenter/parts", pool.path, release=release)
        elif addon.ownership is Ownership.EXISTING:
            yield _finding("karpenter-claims-gate", pool.path)


def _validate(pool: Pool) -> Iterable[Finding]:
    options = pool.spec.karpenter
    made = pool.provisioner.by_node_pool and pool.ownership is not Ownership.EXISTING
    if not made or options is None:
        return
    yield from _static(pool, options)
    yield from validate_raw_fields(pool, options)
    place = f"{pool.path}.karpenter"
    for index, requirement in enumerate(options.requirements):
        yield from _requirement(pool, requirement, f"{place}.requirements[{index}]")
    keys = {
        **{f"requirements[{i}]": one.key for i, one in enumerate(options.requirements)},
        **{f"startupTaints[{i}]": one.key for i, one in enumerate(options.startup_taints)},
    }
    for path, key in keys.items():
        if not _KEY.match(key):
            yield _finding("karpenter-key-invalid", f"{place}.{path}", found=key)


def _static(pool: Pool, options: KarpenterPoolOptions) -> Iterable[Finding]:
    """Settings without effect for static nodes, and too few nodes."""
    if not options.static:
        return
    written = options.disruption.model_fields_set & {"consolidation_policy", "consolidate_after"}
    if written:
        place = f"{pool.path}.karpenter"
        yield _finding("karpenter-static-consolidation", place, found=sorted(written))
    if pool.nodes.maximum == pool.nodes.minimum:
        yield _finding(
            "karpenter-static-without-room",
            pool.path,
            found=pool.nodes.maximum,
            maximum=pool.nodes.maximum + 1,
        )


def _requirement(pool: Pool, one: KarpenterRequirement, path: str) -> Iterable[Finding]:
    auto = pool.provisioner is Provisioner.AUTO_MODE
    prefix, known = (AUTO_MODE, AUTO_MODE_LABELS) if auto else (PREFIX, WELL_KNOWN)
    short = one.key.removeprefix(prefix)
    if one.key in OWN:
        yield _finding("karpenter-requirement-own", path, found=one.key)
    elif one.key.startswith(KARPENTER):
        yield _finding("karpenter-label-reserved", path, found=one.key)
    elif auto and one.key.startswith(PREFIX):
        yield _finding(
            "auto-mode-label",
            path,
            found=one.key,
            auto_mode=AUTO_MODE,
            one=one.key.removeprefix(PREFIX),
        )
    elif one.key.startswith(prefix) and short not in known:
        yield _finding(
            "karpenter-label-reserved/unknown", path, found=one.key, known=known, prefix=prefix
        )
    elif short == "instance-gpu-count" and _drops_parts(pool, one):
        yield from _gpu_count(pool, one, path)
    elif _excludes_all(pool, one):
        yield _finding(
            "karpenter-matches-nothing",
            path,
            one=one.key,
            operator=one.operator,
            values=one.values,
            pool=pool.name,
            found=[machine.name for machine in pool.machines],
        )


def _gpu_count(pool: Pool, one: KarpenterRequirement, path: str) -> Iterable[Finding]:
    """EC2 reports a GPU count of 0 for fractional types, which this silently excludes."""
    lost = _drops_parts(pool, one)
    yield _finding(
        "karpenter-gpu-count-drops-fractions",
        path,
        one=one.key,
        operator=one.operator,
        values=one.values,
        found=lost,
        prefix=PREFIX,
    )


def _drops_parts(pool: Pool, one: KarpenterRequirement) -> list[str]:
    return [
        machine.name
        for machine in pool.machines
        if machine.fraction != 1
        and machine.instance is not None
        and not admits(machine.instance, _read(one))
    ]


def _excludes_all(pool: Pool, one: KarpenterRequirement) -> bool:
    """Whether no machine is left. Labels that the catalogue does not have exclude none, and labels
    of Neuron devices are not modelled."""
    rows = [machine.instance for machine in pool.machines if machine.instance is not None]
    if pool.gpu.vendor != "nvidia":
        return False
    return bool(rows) and not any(admits(row, _read(one)) for row in rows)


def _read(one: KarpenterRequirement) -> NodeRequirement:
    return NodeRequirement(0, one.key, one.operator, one.values)


def validate_raw_fields(pool: Pool, options: KarpenterPoolOptions) -> Iterable[Finding]:
    """Raw fields of Karpenter's objects. Their schemas check the other fields."""
    rows = Path(__file__).parent
    yield from validate_raw_arguments(pool, rows, "karpenter.nodePool", options.node_pool)
    yield from validate_raw_arguments(pool, rows, "karpenter.nodeClass", options.node_class)
