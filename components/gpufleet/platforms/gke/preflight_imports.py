# pyright: standard
"""Whether node pools that are to be taken over exist, and are what the fleet says they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gpufleet.findings import Finding, findings_in
from gpufleet.fleet.model import Pool
from gpufleet.platforms.gke.names import imported_place
from gpufleet.platforms.gke.node_pool_arguments import node_pools

_finding = findings_in(__file__)


def validate_imports(pools: Sequence[Pool], found: Iterable[Any]) -> Iterator[Finding]:
    """Compare each declaration with the node pool of that name.

    A node pool that is taken over keeps its machine, its GPUs and how they are shared: what the
    fleet promises of them must be what they are.

    Args:
        pools: the fleet's pools.
        found: the cluster's node pools, as the container API has them.
    """
    there = {str(one.name): one for one in found}
    for pool in pools:
        place = None if pool.spec.import_id is None else imported_place(pool.spec.import_id)
        if place is None:
            continue
        name = place["name"]
        if name not in there:
            fix = f"one of {', '.join(sorted(there))}" if there else "remove importId"
            yield _finding("import-not-found", pool.path, fix=fix, found=name)
            continue
        (arguments,) = node_pools(pool, "", {}).values()
        declared, real = _said(arguments["nodeConfig"]), _is(there[name].config)
        for what, value in declared.items():
            if value != (actual := real[what]):
                yield _finding(
                    "import-differs", pool.path, name=name, what=what, found=actual, declared=value
                )


def _said(config: Mapping[str, Any]) -> dict[str, str]:
    (gpu,) = config.get("guestAccelerators") or [{}]
    sharing = gpu.get("gpuSharingConfig") or {}
    return {
        "machine type": str(config["machineType"]),
        "GPUs": f"{gpu.get('count', 0)} {gpu.get('type', '')}".strip(),
        "partition size": gpu.get("gpuPartitionSize") or "none",
        "clients": _clients(
            sharing.get("gpuSharingStrategy", ""), sharing.get("maxSharedClientsPerGpu", 0)
        ),
        "spot": str(bool(config.get("spot"))).lower(),
    }


def _is(config: Any) -> dict[str, str]:
    gpus = list(config.accelerators)
    gpu = gpus[0] if gpus else None
    sharing = None if gpu is None else gpu.gpu_sharing_config
    shared = sharing is not None and sharing.max_shared_clients_per_gpu > 0
    return {
        "machine type": str(config.machine_type),
        "GPUs": "0" if gpu is None else f"{gpu.accelerator_count} {gpu.accelerator_type}",
        "partition size": (gpu.gpu_partition_size if gpu is not None else "") or "none",
        "clients": _clients(sharing.gpu_sharing_strategy.name, sharing.max_shared_clients_per_gpu)
        if sharing is not None and shared
        else "1",
        "spot": str(bool(config.spot)).lower(),
    }


def _clients(strategy: str, clients: int) -> str:
    return f"{clients} by {strategy}" if clients > 1 else "1"
