"""Findings about pools that Karpenter provisions."""

import re
from collections.abc import Iterable, Sequence

from gpufleet.catalogue import load
from gpufleet.contract.driver_ranges import version_parts
from gpufleet.contract.programs.karpenter_keys import (
    AUTO_MODE,
    AUTO_MODE_LABELS,
    WELL_KNOWN,
)
from gpufleet.contract.programs.karpenter_keys import AWS as PREFIX
from gpufleet.contract.programs.karpenter_machines import NodeRequirement, admits
from gpufleet.findings import Finding, error, info, warning
from gpufleet.fleet.model import Pool
from gpufleet.platforms.eks.efa_pages import HUGE_PAGES, node_huge_pages
from gpufleet.platforms.eks.karpenter_buffer import has_buffer
from gpufleet.platforms.eks.karpenter_node_pool_manifest import is_static
from gpufleet.platforms.eks.karpenter_values import karpenter_pools
from gpufleet.platforms.eks.raw_rules import validate_raw_fields
from gpufleet.spec.base import Ownership
from gpufleet.spec.fleet_spec import FleetSpec
from gpufleet.spec.karpenter import KarpenterPoolOptions, KarpenterRequirement
from gpufleet.spec.pool import Provisioner

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
"""First release that makes nodes for claims (Amazon EKS user guide, Using DRA with Karpenter)."""
KARPENTER = "karpenter.sh/"
"""Prefix of labels that are Karpenter's alone."""
_KEY = re.compile(
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
)
"""Keys of labels and taints (karpenter.sh/v1 NodePool)."""


def validate_karpenter(spec: FleetSpec, pools: Sequence[Pool]) -> list[Finding]:
    """Everything of this kind."""
    return [
        *(finding for pool in pools for finding in _validate(pool)),
        *_overlays(spec, pools),
        *_gates(spec, pools),
        *_claims(spec, pools),
        *_definitions(spec, pools),
    ]


def _definitions(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Helm installs what a chart's folder `crds` holds once, and never changes it."""
    addon = spec.addons.karpenter
    installed = addon.enabled is not False and addon.ownership is Ownership.MANAGED
    decided = "upgrade_definitions" in addon.model_fields_set
    if installed and addon.version is not None and not decided and karpenter_pools(pools):
        yield warning(
            "karpenter-definitions-not-upgraded",
            "addons.karpenter.version",
            f"the release becomes {addon.version}, and the definitions stay those of the version "
            "that was installed first: fields that only newer ones know are dropped",
            "write `upgradeDefinitions: true` (docs/karpenter.md says what an existing cluster "
            "needs before), or false where you apply chart karpenter-crd yourself",
            found=addon.version,
            source="aws/karpenter-provider-aws website upgrading/upgrade-guide.md",
        )


def _overlays(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """Karpenter learns of huge pages and other prices by a NodeOverlay alone, whose gate is off by
    default."""
    addon = spec.addons.karpenter
    if addon.node_overlay or (
        addon.node_overlay is None and addon.ownership is not Ownership.EXISTING
    ):
        return
    for pool in karpenter_pools(pools):
        if pool.spec.karpenter is not None and pool.spec.karpenter.price_adjustment is not None:
            yield error(
                "karpenter-price-without-overlay",
                "addons.karpenter.nodeOverlay",
                f"Karpenter compares {pool.name} at another price by a NodeOverlay alone",
                "switch the feature gate NodeOverlay on and write `nodeOverlay: true`, or remove "
                "priceAdjustment",
                pool=pool.name,
                source="kubernetes-sigs/karpenter v1.14.1 designs/node-overlay.md",
            )
        if node_huge_pages(pool):
            yield error(
                "karpenter-does-not-know-huge-pages",
                "addons.karpenter.nodeOverlay",
                f"pods with EFA on {pool.name} ask for {HUGE_PAGES}, of which Karpenter knows by a "
                "NodeOverlay alone: they would never get a node",
                "switch the feature gate NodeOverlay on and write `nodeOverlay: true`, or write "
                "`provisioner: managed` on the pool",
                pool=pool.name,
                source="aws/karpenter-provider-aws#3315",
            )


def _gates(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """The gates are off by default; a Karpenter that gpufleet installs has them on."""
    for option, asks, gate in (
        ("static", is_static, "staticCapacity"),
        ("buffer", has_buffer, "capacityBuffer"),
    ):
        asking = [pool for pool in karpenter_pools(pools) if asks(pool)]
        if asking and spec.addons.karpenter.ownership is Ownership.EXISTING:
            yield warning(
                f"karpenter-{option}-gate",
                f"{asking[0].path}.karpenter.{option}",
                f"a Karpenter that exists does this only with its feature gate {gate[0].upper()}"
                f"{gate[1:]}, which is off by default",
                f"switch it on: `settings.featureGates.{gate}: true`",
                pools=[pool.name for pool in asking],
                source="aws/karpenter-provider-aws v1.14 reference/settings, feature gates",
            )


def _claims(spec: FleetSpec, pools: Sequence[Pool]) -> Iterable[Finding]:
    """From 1.15 on Karpenter knows the whole GPUs of a node that it has not started. Of nodes that
    it keeps anyway it needs to know nothing."""
    addon = spec.addons.karpenter
    pinned = load(spec.catalogue, overlay=spec.catalogue_overlay).chart("karpenter").version
    release = addon.version or pinned
    for pool in karpenter_pools(pools):
        dra = pool.spec.sharing.dra
        if dra is None or is_static(pool):
            continue
        known = version_parts(release) >= CLAIMS_SINCE
        if known and dra.devices == "gpu" and not dra.compute_domain:
            if addon.ownership is Ownership.EXISTING:
                yield warning(
                    "karpenter-claims-gate",
                    f"{pool.path}.sharing.dra",
                    "a Karpenter that exists makes nodes for pods with claims only with its "
                    "feature gate draNVIDIAGPU, which is off by default",
                    "switch it on: `settings.awsFeatureGates.draNVIDIAGPU: true`",
                    source="aws/karpenter-provider-aws v1.15.2 charts/karpenter/values.yaml",
                )
            continue
        yield error(
            "dra-with-karpenter",
            f"{pool.path}.sharing.dra",
            f"Karpenter {release} makes nodes for claims of whole GPUs alone: their metadata has "
            "no MIG devices and no channels"
            if known
            else f"Karpenter {release} ignores pods with resource claims (`--ignore-dra-requests` "
            "is on by default, and its AWS provider publishes no device templates)",
            "write `provisioner: managed`, or `karpenter: {static: true}`"
            if known
            else "write `addons: {karpenter: {version: 1.15.2, upgradeDefinitions: true}}` "
            "(alpha), `karpenter: {static: true}`, or `provisioner: managed`",
            facts=[
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
            ],
        )


def _fips_image(pool: Pool) -> Iterable[Finding]:
    """`bottlerocket@...` is the variant without FIPS mode (CEL rule of `alias` in EC2NodeClass)."""
    if pool.image is not None and pool.image.fips:
        yield error(
            "karpenter-image-without-alias",
            f"{pool.path}.image",
            f"Karpenter has no alias for {pool.image.key}: its nodes would not be in FIPS mode",
            "name the AMI, `eks: {amiId: ami-...}`, or write `provisioner: managed`",
            found=pool.image.key,
            source="aws/karpenter-provider-aws#8198",
        )


def _validate(pool: Pool) -> Iterable[Finding]:
    options = pool.spec.karpenter
    if not pool.provisioner.by_node_pool or pool.ownership is Ownership.EXISTING:
        return
    if pool.spec.import_id is not None:
        yield error(
            "import-with-karpenter",
            f"{pool.path}.importId",
            "Karpenter's nodes are in no node group that could be imported",
            "remove importId, or write `provisioner: managed`",
        )
    yield from _fips_image(pool)
    if has_buffer(pool) and (pool.nodes.minimum == 0 or not pool.advertised):
        zero = pool.nodes.minimum == 0
        yield error(
            "karpenter-buffer-of-nothing",
            f"{pool.path}.{'nodes.min' if zero else 'karpenter.buffer'}",
            "`buffer` keeps `nodes.min` nodes free, and min is 0"
            if zero
            else "a buffer is of resources that nodes advertise, and these GPUs are claimed",
            "write how many nodes stay free, or remove buffer" if zero else "remove buffer",
            source="sigs.k8s.io/karpenter v1.14.1 pkg/apis/autoscaling/v1beta1",
        )
    if pool.nodes.minimum > 0 and not (is_static(pool) or has_buffer(pool)):
        yield warning(
            "karpenter-keeps-no-minimum",
            f"{pool.path}.nodes.min",
            f"min is {pool.nodes.minimum}, but Karpenter removes nodes that run no pods",
            "write 0, or `karpenter: {static: true}`, which keeps that many, or `{buffer: true}`, "
            "which keeps that many free",
            found=pool.nodes.minimum,
        )
    if options is None:
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
            yield error(
                "karpenter-key-invalid",
                f"{place}.{path}.key",
                f"{key!r} is not a key of a label or taint",
                "write it as `example.com/name`: letters, digits, `-`, `_` and `.`",
                found=key,
            )


def _static(pool: Pool, options: KarpenterPoolOptions) -> Iterable[Finding]:
    """CEL rules of NodePool (karpenter.sh/v1, v1.14.1), and what a static pool has no use for."""
    if not options.static:
        return
    place = f"{pool.path}.karpenter"
    if options.weight is not None:
        yield error(
            "karpenter-static-weight",
            f"{place}.weight",
            "a static NodePool takes no weight: its nodes do not come for pods",
            "remove weight",
            found=options.weight,
        )
    written = options.disruption.model_fields_set & {"consolidation_policy", "consolidate_after"}
    if written:
        yield error(
            "karpenter-static-consolidation",
            f"{place}.disruption",
            "nodes of a static NodePool are not consolidated: the settings have no effect",
            "remove consolidationPolicy and consolidateAfter",
            found=sorted(written),
        )
    if pool.nodes.maximum == pool.nodes.minimum:
        yield info(
            "karpenter-static-without-room",
            f"{pool.path}.nodes.max",
            f"max is {pool.nodes.maximum}, as min: a node that is replaced ends before its "
            "successor begins",
            f"write {pool.nodes.maximum + 1} where a further machine can be had",
            found=pool.nodes.maximum,
        )


def _requirement(pool: Pool, one: KarpenterRequirement, path: str) -> Iterable[Finding]:
    auto = pool.provisioner is Provisioner.AUTO_MODE
    prefix, known = (AUTO_MODE, AUTO_MODE_LABELS) if auto else (PREFIX, WELL_KNOWN)
    short = one.key.removeprefix(prefix)
    if one.key in OWN:
        yield error(
            "karpenter-requirement-own",
            f"{path}.key",
            f"{one.key} follows from the pool's instance types, zones and capacity",
            "remove it and change the instance types, the zones or the capacity",
            found=one.key,
        )
    elif one.key.startswith(KARPENTER):
        yield error(
            "karpenter-label-reserved",
            f"{path}.key",
            f"{one.key} is kept for Karpenter itself",
            "remove it",
            found=one.key,
        )
    elif auto and one.key.startswith(PREFIX):
        yield error(
            "auto-mode-label",
            f"{path}.key",
            f"{one.key} is a label of a Karpenter of one's own, which no node of EKS Auto Mode has",
            f"write {AUTO_MODE}{one.key.removeprefix(PREFIX)}, where Auto Mode has it",
            found=one.key,
        )
    elif one.key.startswith(prefix) and short not in known:
        yield error(
            "karpenter-label-reserved",
            f"{path}.key",
            f"{one.key} is none of the labels Karpenter lets a pool select by",
            f"one of {', '.join(known)}, under {prefix}",
            found=one.key,
        )
    elif short == "instance-gpu-count" and _drops_parts(pool, one):
        yield from _gpu_count(pool, one, path)
    elif _excludes_all(pool, one):
        yield error(
            "karpenter-matches-nothing",
            path,
            f"{one.key} {one.operator} {', '.join(one.values)} excludes every machine of "
            f"{pool.name}: {', '.join(machine.name for machine in pool.machines)}",
            "remove it: instanceTypes and gpu choose the machines",
            found=[machine.name for machine in pool.machines],
        )


def _gpu_count(pool: Pool, one: KarpenterRequirement, path: str) -> Iterable[Finding]:
    """Fractional types have the GPU count 0 in EC2's answer, and drop out unseen."""
    lost = _drops_parts(pool, one)
    yield error(
        "karpenter-gpu-count-drops-fractions",
        path,
        f"{one.key} {one.operator} {', '.join(one.values)} excludes {', '.join(lost)}: EC2 counts "
        "0 GPUs on machines with a part of one",
        f"remove it, or select by {PREFIX}instance-gpu-name",
        found=lost,
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
    """Whether no machine is left. Labels that the catalogue does not answer exclude none, and
    those of Neuron devices are not modelled."""
    rows = [machine.instance for machine in pool.machines if machine.instance is not None]
    if pool.gpu.vendor != "nvidia":
        return False
    return bool(rows) and not any(admits(row, _read(one)) for row in rows)


def _read(one: KarpenterRequirement) -> NodeRequirement:
    return NodeRequirement(0, one.key, one.operator, one.values)
