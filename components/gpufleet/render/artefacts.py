"""Every artefact of a fleet as a file: path, purpose, text. Pure; `gpufleet render` writes them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from gpufleet.findings import Finding
from gpufleet.fleet.config_names import (
    DEVICE_PLUGIN_CONFIG_LABEL,
    MIG_CONFIG_LABEL,
    device_plugin_config_name,
    mig_config_name,
)
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.partition.shares import gib
from gpufleet.render.autoscaler_tags import (
    autoscaler_tags,
    judge_autoscaler_tags,
    node_group_labels,
)
from gpufleet.render.device_plugin import device_plugin_files
from gpufleet.render.gke import gke_accelerator, node_pool_arguments
from gpufleet.render.gpu_operator_values import MIG_PARTED_KEY, mig_parted_files, plugin_files
from gpufleet.render.karpenter_overlay import node_overlay
from gpufleet.render.kueue_resources import (
    cluster_queues,
    judge_queues,
    local_queues,
    quota_pools,
    resource_flavor,
)
from gpufleet.render.manifests import (
    config_map,
    gpu_operator_release_values,
    operator_namespace,
)
from gpufleet.render.pod_request import pod_spec
from gpufleet.render.yaml_text import yaml_stream, yaml_text
from gpufleet.spec.base import Ownership


class Kind(StrEnum):
    """What is done with a file."""

    MANIFEST = "manifest"
    """Applied to the cluster."""
    VALUES = "values"
    """Given to a Helm chart."""
    CONFIG = "config"
    """Configuration of an NVIDIA program, as the program reads it; a manifest holds it too."""
    ARGUMENTS = "arguments"
    """Arguments of a cloud resource."""
    SNIPPET = "snippet"
    """For the user to paste into a pod template."""


@dataclass(frozen=True, slots=True)
class Artefact:
    """One file."""

    path: str
    """Relative, with `/`; made of the pool's name and nothing that changes with a layout."""
    kind: Kind
    purpose: str
    """What it is for, in one line."""
    text: str


def artefacts(fleet: Fleet) -> tuple[Artefact, ...]:
    """All files of a fleet without errors, in order of path.

    What is `existing` is left out, except that its pools count in quotas and can be asked for.
    """
    found = [
        *_gpu_operator(fleet),
        *_nvidia(fleet),
        *_kueue(fleet),
        *(file for pool in fleet.pools for file in _pool(pool)),
    ]
    return tuple(sorted(found, key=lambda file: file.path))


def judge_artefacts(fleet: Fleet) -> list[Finding]:
    """What the targets cannot hold though the declaration is legal."""
    judged = [finding for pool in fleet.pools for finding in judge_autoscaler_tags(pool)]
    return [*judge_queues(fleet), *judged]


def _gpu_operator(fleet: Fleet) -> Iterator[Artefact]:
    plan = fleet.addons.gpu_operator
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    folder = "manifests/gpu-operator"
    yield Artefact(
        f"{folder}/namespace.yaml",
        Kind.MANIFEST,
        "namespace of the GPU Operator, which admits privileged pods",
        yaml_text(operator_namespace(fleet)),
    )
    yield Artefact(
        f"{folder}/mig-parted.yaml",
        Kind.MANIFEST,
        "ConfigMap with the MIG layouts of all pools, for mig-manager",
        yaml_text(config_map(fleet, mig_parted_files(fleet))),
    )
    yield Artefact(
        f"{folder}/device-plugin.yaml",
        Kind.MANIFEST,
        "ConfigMap with the ways of sharing of all pools, for the device plugin",
        yaml_text(config_map(fleet, plugin_files(fleet))),
    )
    yield Artefact(
        "values/gpu-operator.yaml",
        Kind.VALUES,
        f"values of the chart gpu-operator {plan.version}, namespace {plan.namespace}",
        yaml_text(
            gpu_operator_release_values(fleet),
            f"Chart gpu-operator {plan.version}, namespace {plan.namespace}.\n"
            "Apply manifests/gpu-operator first: the values name its ConfigMaps.",
        ),
    )


def _nvidia(fleet: Fleet) -> Iterator[Artefact]:
    """The files themselves, to try them with NVIDIA's own programs."""
    if not fleet.addons.gpu_operator.enabled:
        return
    chosen = [
        f"{pool.name}: {mig_config_name(pool.name, pool.partition)}"
        for pool in fleet.pools
        if pool.partition.mig_enabled and MIG_CONFIG_LABEL in pool.labels
    ]
    yield Artefact(
        "nvidia/mig-parted.yaml",
        Kind.CONFIG,
        "what nvidia-mig-parted reads: one configuration per layout",
        _commented("Configuration of each pool:", chosen)
        + mig_parted_files(fleet).data[MIG_PARTED_KEY],
    )
    for pool in fleet.pools:
        if pool.partition.replicas > 1 and DEVICE_PLUGIN_CONFIG_LABEL in pool.labels:
            name = device_plugin_config_name(pool.name, pool.partition)
            yield Artefact(
                f"nvidia/device-plugin/{pool.name}.yaml",
                Kind.CONFIG,
                f"what the device plugin reads on nodes of {pool.name}, under the key {name}",
                device_plugin_files({name: pool.partition})[name],
            )


def _kueue(fleet: Fleet) -> Iterator[Artefact]:
    if fleet.spec.queues is None:
        return
    objects = {
        "resource-flavors": (
            [resource_flavor(pool) for pool in quota_pools(fleet)],
            "one ResourceFlavor per pool",
        ),
        "cluster-queues": (
            cluster_queues(fleet),
            "each team's ClusterQueue with its quota, in the units nodes advertise",
        ),
        "local-queues": (local_queues(fleet), "each team's LocalQueues, one per namespace"),
    }
    for name, (documents, purpose) in objects.items():
        if documents:
            path = f"manifests/kueue/{name}.yaml"
            yield Artefact(path, Kind.MANIFEST, purpose, yaml_stream(documents))


def _pool(pool: Pool) -> Iterable[Artefact]:
    if pool.ownership is not Ownership.EXISTING:
        yield from _capacity(pool)
    if pool.partition.shares:
        yield Artefact(
            f"pods/{pool.name}.yaml",
            Kind.SNIPPET,
            f"what a pod must say to get a share of {pool.name}; one document per resource",
            "---\n".join(_snippet(pool, index) for index in range(len(pool.partition.shares))),
        )


def _capacity(pool: Pool) -> Iterator[Artefact]:
    """What an autoscaler or a cloud is told about nodes that do not exist yet."""
    overlay = node_overlay(pool)
    if overlay is not None:
        yield Artefact(
            f"manifests/karpenter/node-overlay-{pool.name}.yaml",
            Kind.MANIFEST,
            f"what Karpenter must expect of a new node of {pool.name} (gate NodeOverlay)",
            yaml_text(overlay),
        )
    tags = autoscaler_tags(pool)
    if tags is not None:
        yield Artefact(
            f"clouds/aws/{pool.name}.yaml",
            Kind.ARGUMENTS,
            f"labels of the node group {pool.name}, and tags for Cluster Autoscaler",
            yaml_text({"labels": node_group_labels(pool), "tags": tags}),
        )
    accelerator = gke_accelerator(pool)
    if accelerator is not None:
        yield Artefact(
            f"clouds/gke/{pool.name}.yaml",
            Kind.ARGUMENTS,
            f"GPUs, labels and taints of the GKE node pool {pool.name}",
            yaml_text(node_pool_arguments(pool, accelerator)),
        )


def _snippet(pool: Pool, index: int) -> str:
    share = pool.partition.shares[index]
    amount = "memory not sourced" if share.memory_bytes is None else gib(share.memory_bytes)
    enforced = {"timeSlicing": " if all take an even part", "mps": " enforced"}
    note = enforced.get(pool.partition.mode, "")
    return yaml_text(
        {"spec": pod_spec(pool, share)},
        f"{share.resource}: {share.per_node} on each node of {pool.name}, {amount} each{note}",
    )


def _commented(head: str, lines: list[str]) -> str:
    return "".join(f"# {line}\n" for line in [head, *(f"  {line}" for line in lines)] if lines)
