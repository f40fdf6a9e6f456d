"""The Fleet as plain data: the JSON of commands, and the input of policies from GpuFleet.

Keys are camelCase, money is in micro-dollars an hour, memory in bytes. A bound that does not exist
is null, and `unbounded` gives the reason.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, cast

from pydantic.alias_generators import to_camel

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
                **_fields(operator, *_ADDON, "driver", "toolkit", "device_plugin", "mig_manager"),
                **_fields(operator, "mig_strategy", "dcgm_exporter", "node_feature_discovery"),
            },
            "networkOperator": {
                **_fields(network, *_ADDON),
                "rdma": [one.name for one in network.rdma],
                **_fields(network, "wait", "node_feature_discovery"),
            },
            "devicePlugin": _fields(plugin, *_ADDON, "pools", "node_feature_discovery"),
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
        **_fields(pool, "name", "path", "provisioner", "ownership", "intent"),
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
        "owners": _fields(pool.owners, "driver", "toolkit", "device_plugin"),
        "sharing": pool.spec.sharing.mode,
        "partition": partition_as_dict(pool.partition),
        **_fields(pool, "advertised", "labels"),
        "taints": [_fields(taint, "key", "value", "effect") for taint in pool.taints],
        "hourlyMicroUsd": pool.hourly_micro_usd,
        "priceRegion": price_region(pool),
        "spend": spend_as_dict(pool.spend),
    }


def _machine(machine: Machine) -> dict[str, Any]:
    size = ("vcpu", "memory_bytes", "local_nvme_bytes", "efa_interfaces", "gpus")
    return {
        **_fields(machine, "name", "architecture", *size),
        "fraction": str(machine.fraction),
    }


_ADDON = ("enabled", "ownership", "version", "namespace")


def _fields(of: object, *names: str) -> dict[str, Any]:
    """Fields by their names in camelCase; enumerations as their value."""
    return {to_camel(name): _plain(getattr(of, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


def spend_as_dict(spend: SpendBounds) -> dict[str, Any]:
    """Bounds in micro-dollars an hour; null if unbounded, with the causes in a separate field."""
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
    """Partition of each GPU of a node, with the proof, and the unused rest."""
    return {
        **_fields(partition, "mode", "strategy", "replicas"),
        "gpus": [
            {
                "index": gpu.index,
                "devices": dict(gpu.devices),
                "placements": []
                if gpu.placement is None
                else [_fields(one, "profile", "start", "size") for one in gpu.placement.instances],
            }
            for gpu in partition.gpus
        ],
        "shares": [
            {
                **_fields(share, "resource", "per_node", "profile", "replicas", "memory_bytes"),
                "memoryEnforced": share.is_enforced,
                **_fields(share, "device_bytes", "device_class"),
            }
            for share in partition.shares
        ],
        **_fields(partition, "free", "stranded_compute", "stranded_memory", "evidence"),
    }
