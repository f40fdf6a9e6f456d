"""Every artefact of a fleet as a file: path, purpose, text. Pure; `gpufleet render` writes them."""

from collections.abc import Iterable, Iterator

from gpufleet.findings import Finding
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL
from gpufleet.fleet.model import Fleet, Pool
from gpufleet.partition.shares import gib
from gpufleet.render.addon_artefacts import network_operator_files, plugin_chart_files
from gpufleet.render.artefact import Artefact, Kind
from gpufleet.render.autoscaler_tags import (
    autoscaler_tags,
    judge_autoscaler_tags,
    node_group_labels,
)
from gpufleet.render.device_plugin import device_plugin_files
from gpufleet.render.dra import claims, device_classes
from gpufleet.render.dra_driver_values import (
    dra_driver_values,
    fleet_dra_driver_settings,
    needs_dra_driver,
)
from gpufleet.render.gke import gke_accelerator, node_pool_arguments
from gpufleet.render.gpu_operator_values import (
    MIG_PARTED_KEY,
    ConfigFiles,
    merged,
    mig_parted_files,
    plugin_files,
)
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
from gpufleet.render.pod_request import claiming_pod_spec, pod_spec
from gpufleet.render.vgpu import vgpu_device_file
from gpufleet.render.yaml_text import commented, yaml_stream, yaml_text
from gpufleet.spec.base import Ownership


def artefacts(fleet: Fleet) -> tuple[Artefact, ...]:
    """All files of a fleet without errors, in order of path.

    What is `existing` is left out, except that its pools count in quotas and can be asked for.
    """
    found = [
        *network_operator_files(fleet),
        *_gpu_operator(fleet),
        *plugin_chart_files(fleet),
        *_dra(fleet),
        *_vgpu(fleet),
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
    if not plan.enabled:
        return
    mig, plugin = mig_parted_files(fleet), plugin_files(fleet)
    yield from _nvidia(fleet, mig)
    if plan.ownership is Ownership.EXISTING:
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
        yaml_text(config_map(fleet, mig)),
    )
    yield Artefact(
        f"{folder}/device-plugin.yaml",
        Kind.MANIFEST,
        "ConfigMap with the ways of sharing of all pools, for the device plugin",
        yaml_text(config_map(fleet, plugin)),
    )
    yield Artefact(
        "values/gpu-operator.yaml",
        Kind.VALUES,
        f"values of the chart gpu-operator {plan.version}, namespace {plan.namespace}",
        yaml_text(
            gpu_operator_release_values(fleet, mig, plugin),
            f"Chart gpu-operator {plan.version}, namespace {plan.namespace}.\n"
            "Apply manifests/gpu-operator first: the values name its ConfigMaps.",
        ),
    )


def _nvidia(fleet: Fleet, mig: ConfigFiles) -> Iterator[Artefact]:
    """The files themselves, to try them with NVIDIA's own programs."""
    chosen = [
        f"  {pool.name}: {pool.labels[MIG_CONFIG_LABEL]}"
        for pool in fleet.pools
        if pool.partition.mig_enabled and MIG_CONFIG_LABEL in pool.labels
    ]
    yield Artefact(
        "nvidia/mig-parted.yaml",
        Kind.CONFIG,
        "what nvidia-mig-parted reads: one configuration per layout",
        commented("\n".join(["Configuration of each pool:", *chosen]) if chosen else "")
        + mig.data[MIG_PARTED_KEY],
    )
    for pool in fleet.pools:
        name = pool.labels.get(DEVICE_PLUGIN_CONFIG_LABEL)
        if name is not None and pool.partition.replicas > 1:
            yield Artefact(
                f"nvidia/device-plugin/{pool.name}.yaml",
                Kind.CONFIG,
                f"what the device plugin reads on nodes of {pool.name}, under the key {name}",
                device_plugin_files({name: pool.partition})[name],
            )


def _dra(fleet: Fleet) -> Iterator[Artefact]:
    objects = {
        "device-classes": (device_classes(fleet), "one DeviceClass per MIG profile that is served"),
        "claims": (claims(fleet), "ResourceClaimTemplates, and claims that pods share"),
    }
    for name, (documents, purpose) in objects.items():
        if documents:
            path = f"manifests/dra/{name}.yaml"
            yield Artefact(path, Kind.MANIFEST, purpose, yaml_stream(documents))
    addon = fleet.spec.addons.dra_driver
    if needs_dra_driver(fleet) and addon.ownership is not Ownership.EXISTING:
        values = merged(dra_driver_values(fleet_dra_driver_settings(fleet)), addon.values)
        yield Artefact(
            "values/dra-driver.yaml",
            Kind.VALUES,
            "values of the chart of NVIDIA's DRA driver",
            yaml_text(values),
        )


def _vgpu(fleet: Fleet) -> Iterator[Artefact]:
    text = vgpu_device_file(fleet)
    if text:
        yield Artefact(
            "nvidia/vgpu-devices.yaml",
            Kind.CONFIG,
            "what the vGPU device manager reads on hosts that run Kubernetes themselves",
            text,
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
    snippets = [*_shares(pool), *_claims(pool)]
    if snippets:
        yield Artefact(
            f"pods/{pool.name}.yaml",
            Kind.SNIPPET,
            f"what a pod must say to get a part of {pool.name}; one document per kind",
            "---\n".join(snippets),
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


def _shares(pool: Pool) -> Iterator[str]:
    enforced = {"timeSlicing": " if all take an even part", "mps": " enforced"}
    for share in pool.partition.shares:
        if share.resource not in pool.advertised:
            continue  # claimed, not asked for by name
        note = enforced.get(pool.partition.mode, "")
        yield yaml_text(
            {"spec": pod_spec(pool, share)},
            f"{share.resource}: {share.per_node} on each node of {pool.name}, "
            f"{_memory(share.memory_bytes)} each{note}",
        )


def _claims(pool: Pool) -> Iterator[str]:
    made = pool.partition.dra
    if made is None:
        return
    places = "made in " + ", ".join(made.namespaces) if made.namespaces else "still to be made"
    for offer in made.offers:
        yield yaml_text(
            {"spec": claiming_pod_spec(pool, offer)},
            f"{offer.device_class}: {offer.per_node} on each node of {pool.name}, "
            f"{_memory(offer.memory_bytes)} each; claims {places}",
        )


def _memory(amount: int | None) -> str:
    return "memory not sourced" if amount is None else gib(amount)
