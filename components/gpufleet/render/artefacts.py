"""Every artefact of a fleet as a file: path, purpose, text. Pure; `gpufleet render` writes them."""

from collections.abc import Iterable, Iterator
from typing import Any

from gpufleet.documents.writing import yaml_text
from gpufleet.findings import Finding
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL
from gpufleet.fleet.health import by_nvsentinel, completes
from gpufleet.fleet.image_sources import pinned_chart
from gpufleet.fleet.model import GPU_OPERATOR, NETWORK_OPERATOR, Fleet, Pool
from gpufleet.fleet.nic_cluster_policy import rdma_request
from gpufleet.partition.shares import gib
from gpufleet.partition.vgpu import scheduler_value
from gpufleet.render.acceptance import acceptance_files
from gpufleet.render.artefact import Artefact, files_in
from gpufleet.render.data_files import data_part
from gpufleet.render.dra import claims, compute_domains, device_classes, device_taint_rules
from gpufleet.render.dra_driver_values import CHART as DRA_DRIVER
from gpufleet.render.dra_driver_values import (
    needs_dra_driver,
)
from gpufleet.render.gpu_operator_values import (
    MIG_PARTED_KEY,
    ConfigFiles,
    device_plugin_files,
    exporter_files,
    mig_parted_files,
    plugin_files,
)
from gpufleet.render.idle import idle_files
from gpufleet.render.kueue_queues import kueue_files
from gpufleet.render.kueue_rules import validate_queues
from gpufleet.render.manifests import (
    config_map,
    critical_pods_quota,
    nic_cluster_policy,
    operands_namespace,
    secondary_networks,
)
from gpufleet.render.monitoring_artefacts import monitoring_files, validate_alerts
from gpufleet.render.nvidia_drivers import nvidia_drivers
from gpufleet.render.platform_files import platform_files
from gpufleet.render.pod_request import claiming_pod_spec, pod_annotations, pod_spec
from gpufleet.render.releases import value_files
from gpufleet.spec.base import Ownership
from gpufleet.spec.health import HealthMode

_file = files_in(__file__)


def artefacts(fleet: Fleet) -> tuple[Artefact, ...]:
    """All files of a fleet without errors, in order of path.

    Parts that are `existing` are left out, but their pools count in quotas and can be requested.
    """
    found = [
        *platform_files(fleet.platform).cluster_files(fleet),
        *_network_operator(fleet),
        *_gpu_operator(fleet),
        *_plugin_chart(fleet),
        *value_files(fleet),
        *_dra(fleet),
        *_file("nvidia/vgpu-devices.yaml", vgpu_device_config(fleet)),
        *_file("nvidia/vgpu-scheduler.sh", vgpu_scheduler_file(fleet)),
        *kueue_files(fleet),
        *monitoring_files(fleet),
        *nvsentinel_files(fleet),
        *idle_files(fleet),
        *acceptance_files(fleet),
        *(file for pool in fleet.pools for file in _pool(fleet, pool)),
    ]
    return tuple(sorted(found, key=lambda file: file.path))


def validate_artefacts(fleet: Fleet) -> list[Finding]:
    """Findings about a valid declaration that the targets cannot express."""
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
    if fleet.addons.subscription(GPU_OPERATOR) is None:
        yield from _namespace("GPU Operator", plan.namespace)
    folder, place = "manifests/gpu-operator", plan.namespace
    title = fleet.platform.facts.title
    quota = critical_pods_quota(fleet, "gpu-operator-quota", plan.namespace)
    yield from _file(f"{folder}/quota.yaml", quota, platform=title)
    yield from _file(f"{folder}/nvidia-drivers.yaml", nvidia_drivers(fleet))
    yield from _file(f"{folder}/mig-parted.yaml", config_map(mig, place))
    yield from _file(f"{folder}/device-plugin.yaml", config_map(plugin, place))
    if exporter is not None:
        yield from _file(f"{folder}/dcgm-metrics.yaml", config_map(exporter, place))


def _nvidia(fleet: Fleet, mig: ConfigFiles) -> Iterator[Artefact]:
    """The files themselves, to try them with NVIDIA's own programs."""
    chosen = [
        f"  {pool.name}: {pool.labels[MIG_CONFIG_LABEL]}"
        for pool in fleet.pools
        if pool.partition.mig_enabled and MIG_CONFIG_LABEL in pool.labels
    ]
    head = "\n".join(["Configuration of each pool:", *chosen]) if chosen else ""
    yield from _file("nvidia/mig-parted.yaml", mig.data[MIG_PARTED_KEY], chosen=head)
    for pool in fleet.pools:
        name = pool.labels.get(DEVICE_PLUGIN_CONFIG_LABEL)
        if name is not None and pool.partition.replicas > 1:
            text = device_plugin_files({name: pool.partition})[name]
            yield from _file("nvidia/device-plugin/{pool}.yaml", text, pool=pool.name, name=name)


def _dra(fleet: Fleet) -> Iterator[Artefact]:
    yield from _file("manifests/dra/device-classes.yaml", device_classes(fleet))
    yield from _file("manifests/dra/claims.yaml", claims(fleet))
    yield from _file("manifests/dra/compute-domains.yaml", compute_domains(fleet))
    yield from _file("manifests/dra/device-taints.yaml", device_taint_rules(fleet))
    addon = fleet.spec.addons.dra_driver
    if needs_dra_driver(fleet) and addon.ownership is not Ownership.EXISTING:
        namespace = pinned_chart(fleet, DRA_DRIVER).namespace
        quota = critical_pods_quota(fleet, "dra-driver-quota", namespace)
        yield from _file("manifests/dra/quota.yaml", quota)


def _pool(fleet: Fleet, pool: Pool) -> Iterable[Artefact]:
    if pool.ownership is not Ownership.EXISTING:
        yield from platform_files(pool.platform).pool_files(fleet, pool)
    yield from _file("pods/{pool}.yaml", "---\n".join(_snippets(fleet, pool)), pool=pool.name)


def _snippets(fleet: Fleet, pool: Pool) -> Iterator[str]:
    """Pod templates for each share and each claim."""
    asked = rdma_request(pool, fleet.spec, fleet.addons.network_operator)
    hint = {**pod_annotations(pool, fleet.spec.queues), **asked.annotations}
    head = {"metadata": {"annotations": hint}} if hint else {}
    network, images = asked.resources, fleet.spec.addons.images
    enforced = {"timeSlicing": " if all take an even part", "mps": " enforced"}
    for share in pool.partition.shares:
        if share.resource not in pool.advertised:
            continue  # claimed, not requested by name
        note = enforced.get(pool.partition.mode, "")
        yield yaml_text(
            {**head, "spec": pod_spec(pool, share, network, images)},
            f"{share.resource}: {share.per_node} on each node of {pool.name}, "
            f"{_memory(share.memory_bytes)}{note}",
        )
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
            f"{need.asked.name}: {need.asked.count} of {kinds} on one node; claims {places}",
        )


def _memory(amount: int | None) -> str:
    return "memory not sourced" if amount is None else f"{gib(amount)} each"


def _namespace(program: str, name: str) -> tuple[Artefact, ...]:
    made, folder = operands_namespace(name), program.lower().replace(" ", "-")
    return _file("manifests/{program}/namespace.yaml", made, program=folder, title=program)


def _network_operator(fleet: Fleet) -> Iterator[Artefact]:
    folder = "manifests/network-operator"
    if fleet.addons.network_operator.rendered:
        if fleet.addons.subscription(NETWORK_OPERATOR) is None:
            yield from _namespace("Network Operator", fleet.addons.network_operator.namespace)
        yield from _file(f"{folder}/nic-cluster-policy.yaml", nic_cluster_policy(fleet))
        yield from _file(f"{folder}/networks.yaml", secondary_networks(fleet))


def _plugin_chart(fleet: Fleet) -> tuple[Artefact, ...]:
    """The ConfigMap of the device plugin's own chart."""
    plan = fleet.addons.device_plugin
    made = config_map(plugin_files(fleet), plan.namespace) if plan.rendered else None
    return _file("manifests/nvidia-device-plugin/device-plugin.yaml", made)


# vGPU: what the host's device manager makes. Format: NVIDIA vGPU device manager `version: v1`.


def vgpu_device_config(fleet: Fleet) -> dict[str, Any]:
    """The vGPU device manager's document: for each type of the fleet, every GPU filled with it.

    A configuration has the name of the type in lower case. For hosts that run Kubernetes themselves
    (KubeVirt, OpenShift Virtualization); vCenter makes vGPUs by itself. Types without a number in a
    table are left out. Empty without vGPU pools.
    """
    configs: dict[str, list[dict[str, Any]]] = {}
    for pool in fleet.pools:
        made = pool.partition.vgpu
        if made is None or made.per_gpu is None:
            continue
        configs[made.type.name.lower()] = [
            {"devices": "all", "vgpu-devices": {made.type.name: made.per_gpu}}
        ]
    return {"version": "v1", "vgpu-configs": dict(sorted(configs.items()))} if configs else {}


def vgpu_scheduler_file(fleet: Fleet) -> str:
    """Commands that set the scheduler of the hosts' GPUs; empty where no pool declares one.

    Source: NVIDIA Virtual GPU Software User Guide, Changing the Time-Sliced vGPU Scheduling
    Behavior for All GPUs.
    """
    lines: list[str] = []
    for pool in fleet.pools:
        made = pool.partition.vgpu
        if made is None or made.scheduler is None:
            continue
        key = f"RmPVMRL={scheduler_value(made.scheduler, made.time_slice_ms)}"
        lines += [
            f"# {pool.name}: {made.scheduler.value} on every host with {pool.gpu.key}; restart it",
            f'esxcli system module parameters set -m nvidia -p "NVreg_RegistryDwords={key}"',
            "# hosts with KVM: /etc/modprobe.d/nvidia.conf",
            f'# options nvidia NVreg_RegistryDwords="{key}"',
        ]
    return "\n".join(lines) + "\n" if lines else ""


# Values of NVIDIA's NVSentinel by the modes of the pools: monitor, quarantine, repair
# (`objects/nvsentinel.yaml`).


def nvsentinel_files(fleet: Fleet) -> Iterator[Artefact]:
    """The values, where a pool names NVSentinel."""
    values = nvsentinel_values(fleet)
    if values is None:
        return
    acts = values["global"]["janitor"]["enabled"]
    access = (
        ", with cert-manager, and give it access to the machines (`janitor-provider.csp`)"
        if acts
        else ""
    )
    yield from _file("values/nvsentinel.yaml", values, access=access)


def nvsentinel_values(fleet: Fleet) -> dict[str, Any] | None:
    """Values of the chart; None if no pool names NVSentinel. Its circuit breaker counts GPU nodes
    of the whole cluster: the strictest pool decides."""
    watched = by_nvsentinel(fleet.pools)
    if not watched:
        return None
    acting = [(pool, policy) for pool, policy in watched if policy.acts]
    keys = sorted({taint.key for pool, _ in watched for taint in pool.taints})
    limits = [
        policy.allowed_between(pool.nodes.minimum, pool.nodes.maximum)
        for pool, policy in acting
        if policy.at_once is not None or (policy.floor is not None and not policy.floor.as_platform)
    ]
    return data_part(
        "nvsentinel",
        "values",
        tolerations=[{"key": key, "operator": "Exists"} for key in keys],
        acts=bool(acting),
        repairs=any(policy.mode is HealthMode.REPAIR for _, policy in acting),
        operator=fleet.addons.gpu_operator.namespace,
        percentage=0 if limits else None,
        limit=min(limits, default=None),
        window="24h" if limits else None,
        mode="AllowCompletion" if completes(p for p, _ in acting) else "DeleteAfterTimeout",
        provider=fleet.platform.facts.janitor,
    )
