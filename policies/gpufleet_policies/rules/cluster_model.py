"""The model of a cluster, built from everything that is declared together: input of the
relations."""

from dataclasses import replace

from gpufleet.catalogue import Catalogue
from gpufleet.cluster.claims import DeviceClaim, DeviceClass
from gpufleet.cluster.cluster import ClusterModel, DeclaredNamespace
from gpufleet.cluster.fact import NOTHING, Fact, known, unknown
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.cluster.program import Program
from gpufleet.cluster.site import Site
from gpufleet.contract.machine_images import named_image
from gpufleet.contract.owners import DEPLOY_LABELS, NO_OPERANDS
from gpufleet.contract.relation import NIC_POLICY
from gpufleet.documents.shapes import is_mapping
from gpufleet.rules.context import RuleContext, once
from gpufleet_policies.rules.checked import MIG_LABEL, kubernetes_minor
from gpufleet_policies.rules.pools import completed
from gpufleet_policies.rules.published import published

_OWN_TEMPLATES = (Maker.VSPHERE, Maker.CLUSTER_API)
"""Sources whose nodes are copies of the user's template, which may have a driver."""
_MACHINES = (Maker.EKS, Maker.AWS, Maker.GKE, Maker.KARPENTER, Maker.VSPHERE)
"""Makers whose nodes are virtual machines on a hypervisor that may forbid to reset a GPU (NVIDIA
GPU Operator documentation, MIG: `WITH_REBOOT` on clouds; NVIDIA/gpu-operator#668)."""
_WITHOUT_GKE_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
"""Node label that keeps GKE's device plugin away (Google, GPU Operator on GKE)."""


@once
def cluster_of(context: RuleContext) -> ClusterModel:
    """Pools and programs that are declared here; of what is missing nothing is known."""
    pools = (pool for pool in context.declared(NodePool) if pool.compiled is None)
    programs = context.declared(Program)
    return ClusterModel(
        site=Site(
            kubernetes=kubernetes_minor(context), programs=programs, catalogue=context.catalogue
        ),
        pools=tuple(_pool(context, completed(pool, context.surroundings)) for pool in pools),
        claims=context.declared(DeviceClaim),
        classes=context.declared(DeviceClass),
        namespaces=context.declared(DeclaredNamespace),
        ofed=_ofed(programs),
    )


def _ofed(programs: tuple[Program, ...]) -> Fact[str]:
    for one in programs:
        if one.name == NIC_POLICY and is_mapping(one.value("ofedDriver")):
            return known("operator", place=one.field("ofedDriver"))
    return unknown("ofedDriver")


def _pool(context: RuleContext, pool: NodePool) -> NodePool:
    brings, driver = _image(pool, context.catalogue)
    layout = pool.labels.get(MIG_LABEL)
    offered = published(context, pool) if pool.maker is Maker.KARPENTER else None
    mig = NOTHING if layout is None else known(layout != "all-disabled", place=MIG_LABEL)
    return replace(
        pool,
        brings=brings,
        driver=driver,
        advertiser=_advertiser(pool, brings, context.catalogue),
        advertised=NOTHING if offered is None else known(offered.resources),
        shared=replace(pool.shared, mig=mig, place=pool.shared.place or "labels"),
        reset_may_be_forbidden=known(True) if pool.maker in _MACHINES else NOTHING,
    )


def _image(pool: NodePool, catalogue: Catalogue) -> tuple[Fact[frozenset[str]], Fact[str]]:
    """Parts of the GPU stack on nodes, and their driver. Absent: nothing is known."""
    off = frozenset(part for part, key in DEPLOY_LABELS.items() if pool.labels.get(key) == "false")
    row = named_image(pool.image.value, catalogue) if pool.image.is_known else None
    if row is not None:
        # Of Karpenter's nodes the release of the image counts, which its node class names.
        newest = row.driver and pool.maker is not Maker.KARPENTER
        branch = row.branch_for(pool.gpu.found or "") if newest else None
        fact = NOTHING if branch is None else known(branch, place=pool.image.place)
        return known(row.brings | off, place=pool.image.place), fact
    if pool.maker is Maker.OPENSHIFT or "driver" in off:
        return known(off), NOTHING
    own = pool.maker in _OWN_TEMPLATES or (pool.maker is Maker.EKS and pool.image.is_known)
    return unknown("image") if own else NOTHING, NOTHING


def _advertiser(pool: NodePool, brings: Fact[frozenset[str]], catalogue: Catalogue) -> Fact[str]:
    """Advertiser of its GPUs, where an operator is installed."""
    gpu = catalogue.gpus.get(pool.gpu.found or "")
    if not pool.is_certainly_gpu or (gpu is not None and gpu.vendor != "nvidia"):
        return NOTHING
    if any(pool.labels.get(key) == value for key, value in NO_OPERANDS.items()):
        return NOTHING
    if pool.maker is Maker.GKE and pool.labels.get(_WITHOUT_GKE_PLUGIN) != "true":
        return known("platform")
    return known("image" if "device_plugin" in (brings.found or ()) else "operator")
