"""What Karpenter believes a node will offer before it exists, against what it will advertise."""

from collections.abc import Iterable, Iterator

from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool, chain
from gpufleet.documents.paths import value_at
from gpufleet.findings import Finding, error
from gpufleet.partition.shares import RESOURCES
from gpufleet.spec.base import Ownership
from gpufleet.spec.pool import Provisioner

GATE = "settings.featureGates.nodeOverlay"


def modelled(pool: ContractPool) -> int:
    """GPUs that Karpenter takes from the cloud's API: 0 for parts of a GPU."""
    counts = [row.accelerator.api_count for row in pool.instances]
    known = [count for count in counts if count is not None]
    return min(known) if known else pool.gpus_per_node


def validate_provisioner(cluster: ClusterFacts) -> Iterator[Finding]:
    """Findings about pools that Karpenter cannot scale, because it does not know what they offer.

    A NodeOverlay tells it; the feature gate is off by default (v1.14.1). A Karpenter that gpufleet
    installs gets the gate; of another one it must be said.
    """
    for pool in cluster.pools:
        if pool.provisioner is Provisioner.KARPENTER and not pool.existing:
            yield from _validate(pool, cluster)


def _validate(pool: ContractPool, cluster: ClusterFacts) -> Iterable[Finding]:
    if pool.gpu.vendor == "aws":
        return  # it counts Neuron devices and their cores by itself, and takes no overlay for them
    karpenter = cluster.spec.addons.karpenter
    believed = modelled(pool)
    if dict(pool.advertised) == {RESOURCES[pool.gpu.vendor]: believed}:
        return
    written = value_at(karpenter.values, GATE)
    declared = written if isinstance(written, bool) else karpenter.node_overlay
    path = f"addons.karpenter.{f'values.{GATE}' if isinstance(written, bool) else 'nodeOverlay'}"
    if declared or (declared is None and karpenter.ownership is not Ownership.EXISTING):
        return
    offers = ", ".join(f"{n} {name}" for name, n in pool.advertised.items())
    yield error(
        "karpenter-does-not-know-the-gpus",
        path,
        f"Karpenter counts {believed} GPUs on a node of {pool.name}, which will offer {offers}: "
        "pods that ask for it would never get a node",
        "switch the feature gate NodeOverlay on and say `nodeOverlay: true`, or write "
        "`provisioner: managed` on the pool",
        pool=pool.name,
        believed=believed,
        advertised=dict(pool.advertised),
        facts=chain(
            ContractFact(
                f"the cloud's API counts {believed} GPUs on "
                + (pool.instances[0].name if pool.instances else pool.gpu.key),
                "catalogue instance types",
            ),
            ContractFact(f"a node of {pool.name} advertises {offers}", f"{pool.path}.sharing"),
            ContractFact(
                "Karpenter trusts the API: no node for pods that ask for GPUs, and GPU machines "
                "for pods that ask for none",
                "aws/karpenter-provider-aws#8368",
            ),
            ContractFact(
                "NodeOverlay is switched off"
                if declared is False
                else "it is not declared whether the existing Karpenter has the gate NodeOverlay",
                path,
            ),
        ),
    )
