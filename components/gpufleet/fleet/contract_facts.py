"""From compiled pools to the facts the contract check works on."""

from collections.abc import Sequence

from gpufleet.catalogue import Catalogue
from gpufleet.contract.facts import ClusterFacts, ContractPool
from gpufleet.contract.platform import PlatformValue
from gpufleet.fleet.model import Pool
from gpufleet.spec.fleet_spec import FleetSpec


def pool_facts(pool: Pool) -> ContractPool:
    """One pool."""
    return ContractPool(
        name=pool.name,
        path=pool.path,
        spec=pool.spec,
        platform=pool.platform,
        provisioner=pool.provisioner,
        gpu=pool.gpu,
        gpus_per_node=pool.gpus_per_node,
        instances=tuple(m.instance for m in pool.machines if m.instance is not None),
        partition=pool.partition,
        image=pool.image,
        taints=tuple((t.key, t.value, t.effect) for t in pool.taints),
        served_by_platform=pool.served_by_platform,
        plugin_chart=pool.owners.device_plugin.value == "devicePlugin",
    )


def cluster_facts(
    spec: FleetSpec, platform: PlatformValue, pools: Sequence[Pool], catalogue: Catalogue
) -> ClusterFacts:
    """All pools, and the charts of the cluster's operators."""
    return ClusterFacts(
        spec=spec,
        platform=platform,
        pools=tuple(pool_facts(pool) for pool in pools),
        operator_chart=catalogue.chart("gpu-operator"),
        network_chart=catalogue.chart("network-operator"),
        catalogue=catalogue,
    )
