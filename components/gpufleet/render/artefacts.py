"""Every artefact of a fleet as a file: path, purpose, text. Pure; `gpufleet render` writes them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpufleet.documents.writing import commented, yaml_stream, yaml_text
from gpufleet.findings import Finding
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL
from gpufleet.fleet.image_sources import pinned_chart
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, Fleet, Pool
from gpufleet.fleet.platform_rules import platform_rules
from gpufleet.fleet.rdma_request import rdma_request
from gpufleet.partition.shares import gib
from gpufleet.render.acceptance import acceptance_files
from gpufleet.render.alerts import validate_alerts
from gpufleet.render.artefact import Artefact, ArtefactKind
from gpufleet.render.device_plugin import device_plugin_files
from gpufleet.render.device_plugin_values import plugin_release_values
from gpufleet.render.dra import claims, compute_domains, device_classes, device_taint_rules
from gpufleet.render.dra_driver_values import CHART as DRA_DRIVER
from gpufleet.render.dra_driver_values import (
    dra_release_values,
    needs_dra_driver,
)
from gpufleet.render.gpu_operator_values import (
    MIG_PARTED_KEY,
    ConfigFiles,
    exporter_files,
    mig_parted_files,
    plugin_files,
)
from gpufleet.render.idle import idle_files
from gpufleet.render.kueue_artefacts import kueue_files
from gpufleet.render.kueue_rules import validate_queues
from gpufleet.render.manifests import (
    config_map,
    critical_pods_quota,
    gpu_operator_release_values,
    operator_namespace,
)
from gpufleet.render.monitoring_artefacts import monitoring_files
from gpufleet.render.network_operator import (
    network_namespace,
    network_release_values,
    nic_cluster_policy,
    secondary_networks,
)
from gpufleet.render.neuron_values import CHART, neuron_release_values
from gpufleet.render.nvidia_drivers import nvidia_drivers
from gpufleet.render.nvsentinel import nvsentinel_files
from gpufleet.render.platform_files import platform_files
from gpufleet.render.pod_request import claiming_pod_spec, pod_annotations, pod_spec
from gpufleet.render.vgpu import vgpu_device_file, vgpu_scheduler_file
from gpufleet.spec.base import Ownership
from gpufleet.spec.images import Images


def artefacts(fleet: Fleet) -> tuple[Artefact, ...]:
    """All files of a fleet without errors, in order of path.

    What is `existing` is left out, except that its pools count in quotas and can be asked for.
    """
    found = [
        *platform_files(fleet.platform).cluster_files(fleet),
        *network_operator_files(fleet),
        *_gpu_operator(fleet),
        *plugin_chart_files(fleet),
        *neuron_files(fleet),
        *_dra(fleet),
        *_vgpu(fleet),
        *_vgpu_scheduler(fleet),
        *kueue_files(fleet),
        *monitoring_files(fleet),
        *nvsentinel_files(fleet),
        *idle_files(fleet),
        *acceptance_files(fleet),
        *(file for pool in fleet.pools for file in _pool(fleet, pool)),
    ]
    return tuple(sorted(found, key=lambda file: file.path))


def validate_artefacts(fleet: Fleet) -> list[Finding]:
    """What the targets cannot hold though the declaration is legal."""
    own = platform_files(fleet.platform).validate_files(fleet)
    return [*validate_queues(fleet), *validate_alerts(fleet), *own]


def _gpu_operator(fleet: Fleet) -> Iterator[Artefact]:
    plan = fleet.addons.gpu_operator
    if not plan.enabled:
        return
    mig, plugin = mig_parted_files(fleet), plugin_files(fleet)
    exporter = exporter_files(fleet)
    yield from _nvidia(fleet, mig)
    if plan.ownership is Ownership.EXISTING:
        return
    folder = "manifests/gpu-operator"
    by_chart = fleet.addons.subscription(GPU_OPERATOR) is None
    if by_chart:
        yield _namespace(folder, "GPU Operator", operator_namespace(fleet))
    quota = critical_pods_quota(fleet, "gpu-operator-quota", plan.namespace)
    if quota is not None:
        yield Artefact(
            f"{folder}/quota.yaml",
            ArtefactKind.MANIFEST,
            "leave for the GPU Operator's pods to be critical, which "
            f"{fleet.platform.facts.title} asks for",
            yaml_text(quota),
        )
    if drivers := nvidia_drivers(fleet):
        yield Artefact(
            f"{folder}/nvidia-drivers.yaml",
            ArtefactKind.MANIFEST,
            "an NVIDIADriver for each pool: vGPU guests and whole GPUs need two kinds of driver",
            yaml_stream(drivers),
        )
    yield Artefact(
        f"{folder}/mig-parted.yaml",
        ArtefactKind.MANIFEST,
        "ConfigMap with the MIG layouts of all pools, for mig-manager",
        yaml_text(config_map(fleet, mig)),
    )
    yield Artefact(
        f"{folder}/device-plugin.yaml",
        ArtefactKind.MANIFEST,
        "ConfigMap with the ways of sharing of all pools, for the device plugin",
        yaml_text(config_map(fleet, plugin)),
    )
    if exporter is not None:
        yield Artefact(
            f"{folder}/dcgm-metrics.yaml",
            ArtefactKind.MANIFEST,
            "ConfigMap with everything the DCGM exporter measures",
            yaml_text(config_map(fleet, exporter)),
        )
    if not by_chart:
        return
    yield Artefact(
        "values/gpu-operator.yaml",
        ArtefactKind.VALUES,
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
        ArtefactKind.CONFIG,
        "what nvidia-mig-parted reads: one configuration per layout",
        commented("\n".join(["Configuration of each pool:", *chosen]) if chosen else "")
        + mig.data[MIG_PARTED_KEY],
    )
    for pool in fleet.pools:
        name = pool.labels.get(DEVICE_PLUGIN_CONFIG_LABEL)
        if name is not None and pool.partition.replicas > 1:
            yield Artefact(
                f"nvidia/device-plugin/{pool.name}.yaml",
                ArtefactKind.CONFIG,
                f"what the device plugin reads on nodes of {pool.name}, under the key {name}",
                device_plugin_files({name: pool.partition})[name],
            )


def _dra(fleet: Fleet) -> Iterator[Artefact]:
    objects = {
        "device-classes": (device_classes(fleet), "one DeviceClass per MIG profile that is served"),
        "claims": (claims(fleet), "ResourceClaimTemplates, and claims that pods share"),
        "compute-domains": (compute_domains(fleet), "NVLink domains of jobs over several nodes"),
        "device-taints": (device_taint_rules(fleet), "taints of devices"),
    }
    for name, (documents, purpose) in objects.items():
        if documents:
            path = f"manifests/dra/{name}.yaml"
            yield Artefact(path, ArtefactKind.MANIFEST, purpose, yaml_stream(documents))
    addon = fleet.spec.addons.dra_driver
    if needs_dra_driver(fleet) and addon.ownership is not Ownership.EXISTING:
        namespace = pinned_chart(fleet, DRA_DRIVER).namespace
        quota = critical_pods_quota(fleet, "dra-driver-quota", namespace)
        if quota is not None:
            yield Artefact(
                "manifests/dra/quota.yaml",
                ArtefactKind.MANIFEST,
                "leave for the DRA driver's pods to be critical",
                yaml_text(quota),
            )
        yield Artefact(
            "values/dra-driver.yaml",
            ArtefactKind.VALUES,
            "values of the chart of NVIDIA's DRA driver",
            yaml_text(dra_release_values(fleet)),
        )


def _vgpu(fleet: Fleet) -> Iterator[Artefact]:
    text = vgpu_device_file(fleet)
    if text:
        yield Artefact(
            "nvidia/vgpu-devices.yaml",
            ArtefactKind.CONFIG,
            "what the vGPU device manager reads on hosts that run Kubernetes themselves",
            text,
        )


def _vgpu_scheduler(fleet: Fleet) -> Iterator[Artefact]:
    text = vgpu_scheduler_file(fleet)
    if text:
        yield Artefact(
            "nvidia/vgpu-scheduler.sh",
            ArtefactKind.CONFIG,
            "commands that set the vGPU scheduler of the hosts, before their next restart",
            text,
        )


def _pool(fleet: Fleet, pool: Pool) -> Iterable[Artefact]:
    if pool.ownership is not Ownership.EXISTING:
        yield from platform_files(pool.platform).pool_files(fleet, pool)
    for one in platform_rules(pool.platform).pod_volumes(pool):
        if one.objects:
            yield Artefact(
                f"manifests/storage/{pool.name}-{one.declared.name}.yaml",
                ArtefactKind.MANIFEST,
                f"file system that pods of {pool.name} mount at {one.declared.mount}",
                "---\n".join(yaml_text(document) for document in one.objects),
            )
    asked = rdma_request(pool, fleet.spec, fleet.addons.network_operator)
    hint = {**pod_annotations(pool, fleet.spec.queues), **asked.annotations}
    head = {"metadata": {"annotations": hint}} if hint else {}
    network = asked.resources
    images = fleet.spec.addons.images
    snippets = [
        *_shares(pool, network, head, images),
        *_claims(pool, network, head, images),
    ]
    if snippets:
        yield Artefact(
            f"pods/{pool.name}.yaml",
            ArtefactKind.SNIPPET,
            f"what a pod must say to get a part of {pool.name}; one document per kind",
            "---\n".join(snippets),
        )


def _shares(
    pool: Pool, network: Mapping[str, str], head: Mapping[str, object], images: Images
) -> Iterator[str]:
    enforced = {"timeSlicing": " if all take an even part", "mps": " enforced"}
    for share in pool.partition.shares:
        if share.resource not in pool.advertised:
            continue  # claimed, not asked for by name
        note = enforced.get(pool.partition.mode, "")
        yield yaml_text(
            {**head, "spec": pod_spec(pool, share, network, images)},
            f"{share.resource}: {share.per_node} on each node of {pool.name}, "
            f"{_memory(share.memory_bytes)}{note}",
        )


def _claims(
    pool: Pool, network: Mapping[str, str], head: Mapping[str, object], images: Images
) -> Iterator[str]:
    made = pool.partition.dra
    if made is None:
        return
    places = "made in " + ", ".join(made.namespaces) if made.namespaces else "still to be made"
    for offer in made.offers:
        yield yaml_text(
            {**head, "spec": claiming_pod_spec(pool, offer, network, images)},
            f"{offer.device_class}: {offer.per_node} on each node of {pool.name}, "
            f"{_memory(offer.memory_bytes)}; claims {places}",
        )
    for need in made.needs:
        kinds = ", ".join(offer.profile or pool.gpu.key for offer in need.offers)
        yield yaml_text(
            {**head, "spec": claiming_pod_spec(pool, need, network, images)},
            f"{need.name}: {need.count} of {kinds} on one node; claims {places}",
        )


def _memory(amount: int | None) -> str:
    return "memory not sourced" if amount is None else f"{gib(amount)} each"


def _namespace(folder: str, program: str, manifest: Mapping[str, Any]) -> Artefact:
    title = f"namespace of the {program}, which admits privileged pods"
    path = f"{folder}/namespace.yaml"
    return Artefact(path, ArtefactKind.MANIFEST, title, yaml_text(manifest))


# Files of the add-ons next to the GPU Operator, for sites that apply them by another tool.


def network_operator_files(fleet: Fleet) -> Iterator[Artefact]:
    """Namespace, policy, networks and chart values of the Network Operator."""
    plan = fleet.addons.network_operator
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    folder = "manifests/network-operator"
    by_chart = fleet.addons.subscription(NETWORK_OPERATOR) is None
    if by_chart:
        yield _namespace(folder, "Network Operator", network_namespace(fleet))
    policy, networks = nic_cluster_policy(fleet), secondary_networks(fleet)
    if policy is not None:
        yield Artefact(
            f"{folder}/nic-cluster-policy.yaml",
            ArtefactKind.MANIFEST,
            "NicClusterPolicy: NIC driver, RDMA and SR-IOV resources, what networks need",
            yaml_text(policy, "Apply when the operator runs, and before any network."),
        )
    if networks:
        yield Artefact(
            f"{folder}/networks.yaml",
            ArtefactKind.MANIFEST,
            "secondary networks for pods; apply when the NicClusterPolicy is ready",
            yaml_stream(networks),
        )
    if not by_chart:
        return
    yield Artefact(
        "values/network-operator.yaml",
        ArtefactKind.VALUES,
        f"values of the chart network-operator {plan.version}, namespace {plan.namespace}",
        yaml_text(
            network_release_values(fleet),
            f"Chart network-operator {plan.version}, namespace {plan.namespace}.\n"
            "Install it before the GPU Operator.",
        ),
    )


def neuron_files(fleet: Fleet) -> Iterator[Artefact]:
    """Values of Neuron's chart."""
    plan = fleet.addons.neuron
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    yield Artefact(
        "values/neuron.yaml",
        ArtefactKind.VALUES,
        f"values of the chart {CHART} {plan.version}, namespace {plan.namespace}",
        yaml_text(neuron_release_values(fleet)),
    )


def plugin_chart_files(fleet: Fleet) -> Iterator[Artefact]:
    """ConfigMap and values of the device plugin's own chart."""
    plan = fleet.addons.device_plugin
    if not plan.enabled or plan.ownership is Ownership.EXISTING:
        return
    files = plugin_files(fleet)
    manifest = config_map(fleet, files)
    manifest["metadata"]["namespace"] = plan.namespace
    yield Artefact(
        "manifests/nvidia-device-plugin/device-plugin.yaml",
        ArtefactKind.MANIFEST,
        "ConfigMap with the ways of sharing of all pools, for the device plugin's own chart",
        yaml_text(manifest),
    )
    yield Artefact(
        "values/nvidia-device-plugin.yaml",
        ArtefactKind.VALUES,
        f"values of the chart nvidia-device-plugin {plan.version}, namespace {plan.namespace}",
        yaml_text(
            plugin_release_values(fleet, files.name),
            f"Chart nvidia-device-plugin {plan.version}, namespace {plan.namespace}, which must "
            "admit privileged pods.\nApply manifests/nvidia-device-plugin first: the values name "
            "its ConfigMap.",
        ),
    )
