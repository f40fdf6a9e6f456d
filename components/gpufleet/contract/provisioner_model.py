"""Resources that Karpenter expects of a node before it exists, and those that it will advertise."""

from collections.abc import Iterator

from gpufleet.cluster.cluster import ClusterModel
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.contract.contract_fact import ContractFact
from gpufleet.contract.relation import KARPENTER, Broken, place_of
from gpufleet.findings import findings_in
from gpufleet.partition.shares import RESOURCES

_finding = findings_in(__file__)

GATE = "settings.featureGates.nodeOverlay"


def modelled(pool: NodePool, cluster: ClusterModel) -> frozenset[int]:
    """GPUs a node that Karpenter reads from the cloud's API for the machine types of a pool: 0 for
    parts of a GPU. Empty: not known."""
    rows = [cluster.catalogue.instances.get(name) for name in pool.instance_types.found or ()]
    counts = [row.accelerator.api_count for row in rows if row is not None]
    known = frozenset(count for count in counts if count is not None)
    return known or frozenset(n for n in [pool.gpus_per_node.found] if n is not None)


def validate_provisioner(cluster: ClusterModel) -> Iterator[Broken]:
    """Pools that Karpenter cannot scale, because it does not know their resources.

    A NodeOverlay declares them; the feature gate is off by default (v1.14.1). gpufleet switches the
    gate on if it installs Karpenter; for an existing Karpenter it must be declared.
    """
    for pool in cluster.pools:
        if pool.maker is Maker.KARPENTER and not pool.existing:
            yield from _validate(pool, cluster)


def _validate(pool: NodePool, cluster: ClusterModel) -> Iterator[Broken]:
    gpu = cluster.catalogue.gpus.get(pool.gpu.found or "")
    read = modelled(pool, cluster)
    if gpu is None or gpu.vendor == "aws" or not read or not pool.advertised.is_known:
        return  # it counts Neuron devices and cores itself, and accepts no overlay for them
    believed, resource = min(read), RESOURCES[gpu.vendor]
    karpenter = cluster.program(KARPENTER)
    if karpenter is None or dict(pool.advertised.value) in [{resource: n} for n in read]:
        return
    gate = karpenter.switch(GATE, False)
    if gate.found is True or (gate.is_unknown and not cluster.complete):
        return
    path = karpenter.field(GATE)
    offers = ", ".join(f"{n} {name}" for name, n in pool.advertised.value.items())
    machine = next(iter(pool.instance_types.found or ()), gpu.key)
    finding = _finding(
        "karpenter-does-not-know-the-gpus",
        path,
        pool=pool.name,
        believed=believed,
        offers=offers,
        advertised=pool.advertised.value,
    )
    off = (
        "it is not declared whether the existing Karpenter has the gate NodeOverlay"
        if gate.is_unknown
        else "NodeOverlay is switched off"
    )
    counts = f"the cloud's API counts {believed} GPUs on {machine}"
    place = place_of(pool, "sharing", pool.name)
    yield Broken.of(
        finding,
        karpenter,
        ContractFact(counts, "catalogue instance types"),
        ContractFact(f"a node of {pool.name} advertises {offers}", place),
        ContractFact(off, path),
    )
