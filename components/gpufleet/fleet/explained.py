"""The contract of one pool for people: every part, its owner, and the facts behind it."""

from collections.abc import Iterator

from gpufleet.catalogue import load
from gpufleet.contract.advertisers import TITLES, Advertiser
from gpufleet.contract.contract_fact import ContractFact, Term, image_fact
from gpufleet.contract.feature_discovery import DiscoveryOwner, decide_discovery
from gpufleet.contract.operator_values import said_of, value_of
from gpufleet.contract.rdma import RDMA
from gpufleet.contract.tolerations import GPU_KEY, needed
from gpufleet.fleet.acceptance import acceptance_terms
from gpufleet.fleet.addon_plan import network_operator_present, rdma_pools
from gpufleet.fleet.cluster_model import intended, operator_program
from gpufleet.fleet.health import health_terms
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.fleet.nic_cluster_policy import all_networks
from gpufleet.partition.shares import RESOURCES
from gpufleet.spec.pool import Fabric, Provisioner


def contract_of(pool: Pool, fleet: Fleet) -> tuple[Term, ...]:
    """All terms of a pool, in the order in which they apply to a node."""
    return tuple(_terms(pool, fleet))


def _terms(pool: Pool, fleet: Fleet) -> Iterator[Term]:
    if pool.gpu.vendor == "nvidia" and not pool.served_by_platform:
        yield _found_by(fleet)
        yield _tolerated(pool)
    yield _advertised(pool)
    if pool.fabric is not Fabric.NONE:
        yield _reached(pool, fleet)
        yield from _networked(pool, fleet)
    if pool.provisioner is Provisioner.KARPENTER:
        yield _believed(pool)
    yield from health_terms(pool)
    yield from acceptance_terms(pool)


def _found_by(fleet: Fleet) -> Term:
    spec = fleet.spec
    present = network_operator_present(spec, fleet.platform)
    owner, _ = decide_discovery(spec.addons, fleet.platform, present)
    who = {
        DiscoveryOwner.GPU_OPERATOR: "Node Feature Discovery of the GPU Operator",
        DiscoveryOwner.NETWORK_OPERATOR: "Node Feature Discovery of the Network Operator",
        DiscoveryOwner.OWN_OPERATOR: "Red Hat's Node Feature Discovery Operator",
        DiscoveryOwner.CLUSTER: "the cluster's own Node Feature Discovery",
    }[owner]
    reason = (
        ContractFact("the Network Operator is installed first, with it", "addons.networkOperator")
        if owner is DiscoveryOwner.NETWORK_OPERATOR
        else ContractFact("it must run once", "addons.gpuOperator.nodeFeatureDiscovery")
    )
    return Term("found by", who, (reason,))


def _tolerated(pool: Pool) -> Term:
    wanted = needed((one.key, one.effect) for one in pool.taints)
    taints = ", ".join(f"{one.key}:{one.effect}" for one in pool.taints) or "no taint"
    extra = ", ".join(f"{one.key}:{one.effect}" for one in wanted)
    who = f"operands tolerate {GPU_KEY}" + (f" and, because of this pool, {extra}" if extra else "")
    return Term("taints", f"{taints}; {who}", (ContractFact(taints, f"{pool.path}.taints"),))


def _advertised(pool: Pool) -> Term:
    who = intended(pool)
    reason = {
        Advertiser.DRA: ContractFact("sharing is dra", f"{pool.path}.sharing"),
        Advertiser.PLATFORM: _chosen_plugin(pool),
        Advertiser.IMAGE: _image(pool),
        Advertiser.OPERATOR: _image(pool),
        Advertiser.NEURON: ContractFact(f"the pool has {pool.gpu.name}", pool.path),
        Advertiser.PLUGIN_CHART: ContractFact("its chart is on", "addons.devicePlugin.enabled"),
    }[who]
    plugin = pool.platform.facts.plugin if who is Advertiser.PLATFORM else None
    title = TITLES[who] if plugin is None else plugin.title
    return Term("advertised", f"by {title}", (reason,))


def _image(pool: Pool) -> ContractFact:
    if pool.image is None:
        return ContractFact(f"{pool.name} runs on an unknown image", f"{pool.path}.image")
    return image_fact(pool.name, pool.image.key, pool.image.brings)


def _modelled(pool: Pool) -> int:
    """GPUs that Karpenter reads from the cloud's API: 0 for parts of a GPU."""
    rows = [one.instance for one in pool.machines if one.instance is not None]
    counts = [row.accelerator.api_count for row in rows]
    known = [count for count in counts if count is not None]
    return min(known) if known else pool.gpus_per_node


def _chosen_plugin(pool: Pool) -> ContractFact:
    """The setting that makes the platform's own plugin serve the pool."""
    plugin = pool.platform.facts.plugin
    if plugin is None:
        return _image(pool)
    section = plugin.setting.partition(".")[0]
    return ContractFact(f"{plugin.setting} is {plugin.chosen_by}", f"{pool.path}.{section}")


def _reached(pool: Pool, fleet: Fleet) -> Term:
    asked = ContractFact(f"fabric is {pool.fabric.value}", f"{pool.path}.fabric")
    if pool not in rdma_pools(fleet.pools):
        return Term("NIC to GPU", f"by the platform's own {pool.fabric.value}", (asked,))
    catalogue = load(fleet.spec.catalogue)
    operator = operator_program(fleet.spec.addons, fleet.addons, catalogue)
    if value_of(operator, RDMA) is True:
        ofed = fleet.spec.addons.network_operator.ofed.value
        who = f"nvidia-peermem, after DOCA-OFED ({ofed}) is ready"
    else:
        who = "DMA-BUF, with the open kernel module"
    return Term("NIC to GPU", who, (asked, said_of(operator, RDMA)))


def _networked(pool: Pool, fleet: Fleet) -> Iterator[Term]:
    """The owners of Multus, the CNI plugins and the address management of secondary networks."""
    if pool not in rdma_pools(fleet.pools) or not all_networks(fleet.spec.addons.network_operator):
        return
    there = ", ".join(sorted(fleet.addons.network_operator.there))
    who = (
        f"{there}: {fleet.platform.facts.title}'s own"
        if there
        else "Multus and CNI plugins: operator"
    )
    fact = ContractFact("two of them write the same folder", "addons.networkOperator")
    yield Term("networks", who, (fact,))


def _believed(pool: Pool) -> Term:
    believed = _modelled(pool)
    neuron = pool.gpu.vendor == "aws"
    right = neuron or dict(pool.advertised) == {RESOURCES[pool.gpu.vendor]: believed}
    who = f"{believed} {'Neuron devices' if neuron else 'GPUs'} a node" + (
        "" if right else ", corrected by a NodeOverlay"
    )
    fact = ContractFact(
        "Karpenter takes GPU counts from the cloud's API", "karpenter-provider-aws v1.14.1"
    )
    return Term("Karpenter", who, (fact,))
