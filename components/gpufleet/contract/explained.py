"""The contract of one pool for people: every part, who sees to it, and the facts behind it."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpufleet.contract.advertisers import Advertiser, advertiser_title, intended
from gpufleet.contract.facts import ClusterFacts, ContractFact, ContractPool
from gpufleet.contract.feature_discovery import DiscoveryOwner, decide_discovery
from gpufleet.contract.operator_values import operator_value, said
from gpufleet.contract.provisioner_model import modelled
from gpufleet.contract.rdma import RDMA, network_operator_present, rdma_pools
from gpufleet.contract.tolerations import GPU_KEY, needed
from gpufleet.partition.shares import RESOURCES
from gpufleet.spec.pool import Fabric, Provisioner


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the contract."""

    part: str
    """What it is about: `advertised`, `found by`, ..."""
    who: str
    facts: tuple[ContractFact, ...]


def contract_of(pool: ContractPool, cluster: ClusterFacts) -> tuple[Term, ...]:
    """All terms of a pool, in the order in which a node meets them."""
    return tuple(_terms(pool, cluster))


def _terms(pool: ContractPool, cluster: ClusterFacts) -> Iterator[Term]:
    if pool.operated:
        yield _found_by(cluster)
        yield _tolerated(pool)
    yield _advertised(pool)
    if pool.fabric is not Fabric.NONE:
        yield _reached(pool, cluster)
    if pool.provisioner is Provisioner.KARPENTER:
        yield _believed(pool)


def _found_by(cluster: ClusterFacts) -> Term:
    spec = cluster.spec
    present = network_operator_present(spec, cluster.platform)
    owner, _ = decide_discovery(spec.addons, cluster.platform, present)
    who = {
        DiscoveryOwner.GPU_OPERATOR: "Node Feature Discovery of the GPU Operator",
        DiscoveryOwner.NETWORK_OPERATOR: "Node Feature Discovery of the Network Operator",
        DiscoveryOwner.OWN_OPERATOR: "Red Hat's Node Feature Discovery Operator",
        DiscoveryOwner.SOMEBODY_ELSE: "the cluster's own Node Feature Discovery",
    }[owner]
    reason = (
        ContractFact("the Network Operator comes first and brings it", "addons.networkOperator")
        if owner is DiscoveryOwner.NETWORK_OPERATOR
        else ContractFact("it must run once", "addons.gpuOperator.nodeFeatureDiscovery")
    )
    return Term("found by", who, (reason,))


def _tolerated(pool: ContractPool) -> Term:
    wanted = needed(pool.taints)
    taints = ", ".join(f"{key}:{effect}" for key, _, effect in pool.taints) or "no taint"
    extra = ", ".join(f"{one.key}:{one.effect}" for one in wanted)
    who = f"operands tolerate {GPU_KEY}" + (f" and, because of this pool, {extra}" if extra else "")
    return Term("taints", f"{taints}; {who}", (ContractFact(taints, f"{pool.path}.taints"),))


def _advertised(pool: ContractPool) -> Term:
    who = intended(pool)
    reason = {
        Advertiser.DRA: ContractFact("sharing is dra", f"{pool.path}.sharing"),
        Advertiser.PLATFORM: _chosen_plugin(pool),
        Advertiser.IMAGE: pool.image_fact,
        Advertiser.OPERATOR: pool.image_fact,
        Advertiser.NEURON: ContractFact(f"the pool has {pool.gpu.name}", pool.path),
        Advertiser.PLUGIN_CHART: ContractFact("its chart is on", "addons.devicePlugin.enabled"),
    }[who]
    return Term("advertised", f"by {advertiser_title(pool)}", (reason,))


def _chosen_plugin(pool: ContractPool) -> ContractFact:
    """The setting by which the platform's own plugin serves the pool."""
    plugin = pool.platform.facts.plugin
    if plugin is None:
        return pool.image_fact
    section = plugin.setting.partition(".")[0]
    return ContractFact(f"{plugin.setting} is {plugin.chosen_by}", f"{pool.path}.{section}")


def _reached(pool: ContractPool, cluster: ClusterFacts) -> Term:
    asked = ContractFact(f"fabric is {pool.fabric.value}", f"{pool.path}.fabric")
    if pool not in rdma_pools(cluster):
        return Term("NIC to GPU", f"by the platform's own {pool.fabric.value}", (asked,))
    operator = cluster.spec.addons.gpu_operator
    if operator_value(operator, RDMA) is True:
        ofed = cluster.spec.addons.network_operator.ofed.value
        who = f"nvidia-peermem, after DOCA-OFED ({ofed}) is ready"
    else:
        who = "DMA-BUF, with the open kernel module"
    return Term("NIC to GPU", who, (asked, said(operator, RDMA)))


def _believed(pool: ContractPool) -> Term:
    believed = modelled(pool)
    neuron = pool.gpu.vendor == "aws"
    right = neuron or dict(pool.advertised) == {RESOURCES[pool.gpu.vendor]: believed}
    who = f"{believed} {'Neuron devices' if neuron else 'GPUs'} a node" + (
        "" if right else ", corrected by a NodeOverlay"
    )
    fact = ContractFact(
        "Karpenter takes GPU counts from the cloud's API", "karpenter-provider-aws v1.14.1"
    )
    return Term("Karpenter", who, (fact,))
