"""The Fleet as plain data: what commands print as JSON and GpuFleet shows to the policies.

Keys are camelCase, money is in micro-dollars an hour, memory in bytes. A bound that does not exist
is null, and `unbounded` says why.
"""

from collections.abc import Mapping
from typing import Any

from gpufleet.fleet.model import Fleet, Machine, Money, Pool, SpendBounds, Unbounded
from gpufleet.fleet.price_rules import price_region
from gpufleet.partition.partition import Partition


def fleet_as_dict(fleet: Fleet) -> dict[str, Any]:
    """The whole compiled fleet, findings left out."""
    spec = fleet.spec
    operator, network = fleet.addons.gpu_operator, fleet.addons.network_operator
    plugin = fleet.addons.device_plugin
    return {
        "catalogue": spec.catalogue,
        "platform": spec.platform.value,
        "environment": spec.environment,
        "cluster": spec.cluster.model_dump(mode="json", by_alias=True, exclude_none=True),
        "pools": [pool_as_dict(pool) for pool in fleet.pools],
        "addons": {
            "gpuOperator": {
                "enabled": operator.enabled,
                "ownership": operator.ownership.value,
                "version": operator.version,
                "namespace": operator.namespace,
                "driver": operator.driver,
                "toolkit": operator.toolkit,
                "devicePlugin": operator.device_plugin,
                "migManager": operator.mig_manager,
                "migStrategy": operator.mig_strategy,
                "dcgmExporter": operator.dcgm_exporter,
                "nodeFeatureDiscovery": operator.node_feature_discovery,
            },
            "networkOperator": {
                "enabled": network.enabled,
                "ownership": network.ownership.value,
                "version": network.version,
                "namespace": network.namespace,
                "rdma": [one.name for one in network.rdma],
                "wait": network.wait,
                "nodeFeatureDiscovery": network.node_feature_discovery,
            },
            "devicePlugin": {
                "enabled": plugin.enabled,
                "ownership": plugin.ownership.value,
                "version": plugin.version,
                "namespace": plugin.namespace,
                "pools": list(plugin.pools),
                "nodeFeatureDiscovery": plugin.node_feature_discovery,
            },
        },
        "queues": None
        if spec.queues is None
        else spec.queues.model_dump(mode="json", by_alias=True),
        "monitoring": None
        if spec.monitoring is None
        else {"backend": spec.monitoring.backend.value},
        "budgetUsdPerHour": None if spec.budget is None else str(spec.budget.usd_per_hour),
        "spend": spend_as_dict(fleet.spend),
    }


def pool_as_dict(pool: Pool) -> dict[str, Any]:
    """One compiled pool."""
    return {
        "name": pool.name,
        "path": pool.path,
        "provisioner": pool.provisioner.value,
        "ownership": pool.ownership.value,
        "intent": pool.intent.value,
        "team": pool.spec.team,
        "fabric": pool.fabric.value,
        "gpu": pool.gpu.key,
        "gpuMemoryBytes": pool.gpu.memory_bytes,
        "gpusPerNode": pool.gpus_per_node,
        "machines": [_machine(machine) for machine in pool.machines],
        "nodes": {
            "min": pool.nodes.minimum,
            "expected": pool.nodes.expected,
            "max": pool.nodes.maximum,
        },
        "capacity": [entry.mode for entry in pool.capacity],
        "image": None if pool.image is None else pool.image.key,
        "owners": {
            "driver": pool.owners.driver.value,
            "toolkit": pool.owners.toolkit.value,
            "devicePlugin": pool.owners.device_plugin.value,
        },
        "sharing": pool.spec.sharing.mode,
        "partition": partition_as_dict(pool.partition),
        "advertised": dict(pool.advertised),
        "labels": dict(pool.labels),
        "taints": [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for taint in pool.taints
        ],
        "hourlyMicroUsd": pool.hourly_micro_usd,
        "priceRegion": price_region(pool),
        "spend": spend_as_dict(pool.spend),
    }


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "architecture": machine.architecture,
        "vcpu": machine.vcpu,
        "memoryBytes": machine.memory_bytes,
        "localNvmeBytes": machine.local_nvme_bytes,
        "efaInterfaces": machine.efa_interfaces,
        "gpus": machine.gpus,
        "fraction": str(machine.fraction),
    }


def spend_as_dict(spend: SpendBounds) -> dict[str, Any]:
    """Bounds in micro-dollars an hour; null where unbounded, with the causes next to it."""
    bounds: Mapping[str, Money] = {
        "minimumMicroUsd": spend.minimum,
        "expectedMicroUsd": spend.expected,
        "maximumMicroUsd": spend.maximum,
    }
    causes = [c for b in bounds.values() if isinstance(b, Unbounded) for c in b.causes]
    return {
        **{key: None if isinstance(b, Unbounded) else b for key, b in bounds.items()},
        "unbounded": list(dict.fromkeys(causes)),
    }


def partition_as_dict(partition: Partition) -> dict[str, Any]:
    """What each GPU of a node is cut into, with the proof, and what is left."""
    return {
        "mode": partition.mode,
        "strategy": partition.strategy,
        "replicas": partition.replicas,
        "gpus": [
            {
                "index": gpu.index,
                "devices": dict(gpu.devices),
                "placements": []
                if gpu.placement is None
                else [
                    {"profile": i.profile, "start": i.start, "size": i.size}
                    for i in gpu.placement.instances
                ],
            }
            for gpu in partition.gpus
        ],
        "shares": [
            {
                "resource": share.resource,
                "perNode": share.per_node,
                "profile": share.profile,
                "replicas": share.replicas,
                "memoryBytes": share.memory_bytes,
                "memoryEnforced": share.is_enforced,
                "deviceBytes": share.device_bytes,
                "deviceClass": share.device_class,
            }
            for share in partition.shares
        ],
        "free": dict(partition.free),
        "strandedCompute": partition.stranded_compute,
        "strandedMemory": partition.stranded_memory,
        "evidence": partition.evidence.value,
    }
