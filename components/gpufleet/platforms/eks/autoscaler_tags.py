"""Tags of an AWS node group that describe the nodes of an empty group to Cluster Autoscaler.

Format: kubernetes/autoscaler 1.36 `cluster-autoscaler/cloudprovider/aws`. The group's Auto Scaling
group has them, and the EKS node group too: for a group that never had a node Cluster Autoscaler
reads EKS.

Autoscalers know the GPUs of an instance type but not slices, shares or clients. Resources that they
assume and the node will not have are set to 0: otherwise they would start nodes for pods that can
never run there.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from gpufleet.catalogue.edition import read_rows
from gpufleet.findings import Finding, findings_in, rules_in
from gpufleet.fleet.autoscaler_rules import UNNEEDED, has_whole_gpus
from gpufleet.fleet.model import GIB, Pool
from gpufleet.fleet.neuron import is_neuron
from gpufleet.partition.shares import RESOURCES
from gpufleet.platforms.eks.efa import node_huge_pages
from gpufleet.platforms.eks.user_data import joins_disks
from gpufleet.spec.base import Platform
from gpufleet.spec.platforms.eks import EksOptions, LocalStorage
from gpufleet.spec.pool import Fabric, Provisioner

_finding, _rules = findings_in(__file__), rules_in(__file__)

TEMPLATE = "k8s.io/cluster-autoscaler/node-template/"
OPTIONS = f"{TEMPLATE}autoscaling-options/"
NOTHING_RUNS = "0.001"
"""Share of CPU and memory that every node with a pod exceeds; 0 would be below none."""
ACCELERATOR_LABEL = "k8s.amazonaws.com/accelerator"
"""Label that makes Cluster Autoscaler wait for the device plugin of a new node instead of starting
another node. Nodes must have it from their first registration."""
EFA = "vpc.amazonaws.com/efa"

MAX_KEY = 128
"""Longest tag key, characters (Amazon EC2 Auto Scaling quotas)."""

USABLE_PERCENT = 88
"""Share of a disk that the kubelet offers: 10 % is its eviction threshold (`nodefs.available`), the
rest the file system and 1 GiB of reserve. A larger value would start nodes that are too small."""

_ACCELERATORS: Mapping[str, str] = {
    row["gpu"]: row["label"] for row in read_rows(Path(__file__).parent, "accelerator_labels")
}
"""Names that Cluster Autoscaler's metrics know; others work and are counted as `not-listed`."""


def accelerator_label(pool: Pool) -> str:
    """Value of `ACCELERATOR_LABEL` on the pool's nodes."""
    return _ACCELERATORS.get(pool.gpu.key, f"nvidia-{pool.gpu.key.lower()}")


def node_group_labels(pool: Pool) -> dict[str, str]:
    """Labels of a node group that Cluster Autoscaler scales: the pool's, and the accelerator.

    Nodes that never advertise a whole GPU (partitioned GPUs, renamed shares, claims, Neuron) do not
    get the accelerator label: with it, Cluster Autoscaler would always count them as unready.
    """
    if not has_whole_gpus(pool):
        return dict(sorted(pool.labels.items()))
    return dict(sorted({**pool.labels, ACCELERATOR_LABEL: accelerator_label(pool)}.items()))


def autoscaler_tags(pool: Pool) -> dict[str, str] | None:
    """The tags of a pool on EKS that Cluster Autoscaler provisions; None for other pools.

    Resources: those of the partition, 0 for whole GPUs if all are partitioned, the EFA interfaces
    and huge pages of a pool with that fabric, and the disk for ephemeral storage.
    """
    if (
        pool.platform.name is not Platform.EKS
        or pool.provisioner is not Provisioner.CLUSTER_AUTOSCALER
    ):
        return None
    resources = {name: str(amount) for name, amount in template_resources(pool).items()}
    if pool.fabric is Fabric.EFA:
        # Machines of one pool may differ here: use the values that all of them have.
        resources[EFA] = str(min(machine.efa_interfaces for machine in pool.machines))
    resources |= node_huge_pages(pool)
    resources["ephemeral-storage"] = f"{ephemeral_gib(pool)}Gi"
    labels = node_group_labels(pool)
    return {
        **{f"{TEMPLATE}label/{key}": value for key, value in labels.items()},
        **{f"{TEMPLATE}resources/{name}": resources[name] for name in sorted(resources)},
        **{f"{TEMPLATE}taint/{key}": value for key, value in _taints(pool).items()},
        **{f"{OPTIONS}{name}": value for name, value in _options(pool).items()},
    }


def short_tag(key: str) -> str:
    """The last words of a tag, which distinguish the names of its resources."""
    return key.removeprefix("k8s.io/cluster-autoscaler/").replace("/", "-")


def _options(pool: Pool) -> dict[str, str]:
    """When a node may be removed. On nodes without a whole GPU only CPU and memory would count,
    which does not show free slices or shares: such nodes are removed when nothing runs there."""
    idle = {"scaledownunneededtime": UNNEEDED[pool.intent]}
    if has_whole_gpus(pool):
        return idle
    return {
        "ignoredaemonsetsutilization": "true",
        **idle,
        "scaledownutilizationthreshold": NOTHING_RUNS,
    }


def ephemeral_gib(pool: Pool) -> int:
    """Ephemeral storage for a pod on a node, GiB: of the local disks if they are joined to one
    volume, else of the root disk, less file system, kubelet's reserve and eviction threshold.
    """
    options = pool.spec.eks or EksOptions()
    local = min((machine.local_nvme_bytes or 0) for machine in pool.machines) // GIB
    joined = local > 0 and options.local_storage is LocalStorage.RAID0 and joins_disks(pool)
    return (local if joined else pool.spec.disk.size_gib) * USABLE_PERCENT // 100


def _taints(pool: Pool) -> dict[str, str]:
    return {taint.key: f"{taint.value}:{taint.effect}" for taint in pool.work_taints}


def validate_autoscaler_tags(pool: Pool) -> Iterator[Finding]:
    """Properties of the pool that do not fit into tags; empty for pools without tags."""
    tags = autoscaler_tags(pool)
    if tags is None:
        return
    yield from _rules("autoscaler-tags", pool.path, pool=pool, tags=tags)
    for key in tags:
        if len(key) > MAX_KEY:
            yield from _rules("autoscaler-tag", pool.path, pool=pool, key=key, length=len(key))
    taken: set[str] = set()
    for taint in pool.taints:
        if taint.key in taken:
            yield _finding("autoscaler-taint-twice", pool.path, pool=pool.name, found=taint.key)
        taken.add(taint.key)


def template_resources(pool: Pool) -> dict[str, int]:
    """Resource -> amount: the resources that the node will advertise, and 0 for missing whole GPUs.

    Sorted by name. The amounts are those of the partition; a zero does not change their sum.
    """
    if is_neuron(pool.gpu):
        # Autoscalers do not assume them, and nodes have both whole devices and single cores.
        return dict(pool.advertised)
    whole = RESOURCES[pool.gpu.vendor]
    return dict(sorted({whole: 0, **pool.advertised}.items()))


def modelled_gpus(pool: Pool) -> int:
    """Whole GPUs that an autoscaler assumes: those in the cloud's API.

    0 for parts of a GPU, which EC2 does not count as GPUs (g6f, gr6f).
    """
    row = pool.machines[0].instance
    counted = None if row is None else row.accelerator.api_count
    return pool.gpus_per_node if counted is None else counted
