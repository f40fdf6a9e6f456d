"""Machines of the Cluster API as facts: sets, deployments, pools, templates."""

from collections.abc import Iterator
from typing import Any

from gpufleet.catalogue import load
from gpufleet.cluster.capacity import LaunchTemplate, PoolAutoscaler
from gpufleet.cluster.fact import UNKNOWN, Fact, absent, known, unknown
from gpufleet.cluster.pool import Maker, NodePool, PoolTaint, Size
from gpufleet.documents.paths import text_at
from gpufleet.documents.shapes import items, known_texts, mapping
from gpufleet.findings.locator import Locator
from gpufleet_policies.readers.blocks import all_known, inside, number, texts, word
from gpufleet_policies.readers.eks import hardware, is_committed, one_type, taints
from gpufleet_policies.readers.machines import Machines, gpu_by_name
from gpufleet_policies.readers.raw_pods import natural
from gpufleet_policies.readers.reading import fact, whole

_MINIMUM = "cluster-api-autoscaler-node-group-min-size"
_MAXIMUM = "cluster-api-autoscaler-node-group-max-size"
_GPU_COUNT = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
_GPU_TYPE = "capacity.cluster-autoscaler.kubernetes.io/gpu-type"
_LABELS = "capacity.cluster-autoscaler.kubernetes.io/labels"
_TAINTS = "capacity.cluster-autoscaler.kubernetes.io/taints"
"""Annotations of the cluster autoscaler's Cluster API provider (cloudprovider/clusterapi)."""

_NVIDIA_VENDOR = ("4318", "0x10de", "10de")


def machine_set(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """cluster.x-k8s.io MachineDeployment, MachineSet, MachinePool."""
    annotations = inside(document, "metadata.annotations")
    own = known_texts(annotations)
    labels = inside(document, "spec.template.metadata.labels")
    found = _hinted(own)
    hinted_labels = dict(
        pair.split("=", 1) for pair in own.get(_LABELS, "").split(",") if "=" in pair
    )
    merged = {**known_texts(inside(document, "metadata.labels")), **own}
    yield NodePool(
        locator=locator,
        annotations=merged,
        name=locator.name,
        maker=Maker.CLUSTER_API,
        cluster=word(document, "spec.clusterName"),
        instance_types=absent("spec.template.spec.infrastructureRef"),
        instance_types_place="spec.template.spec.infrastructureRef",
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        is_gpu_pool=found.carries_gpus,
        size=bounded_size(document, "cluster.x-k8s.io/"),
        capacity=absent("spec.template.spec.infrastructureRef"),
        commitment=is_committed(merged),
        taints=_hinted_taints(own, document),
        taints_place="spec.template.spec.taints",
        labels={**hinted_labels, **known_texts(labels)},
        labels_known=False,
        tags=merged,
        tags_known=all_known(annotations),
        tags_place="metadata.labels",
        zones=_domains(document),
        launch_template=text_at(document, "spec.template.spec.infrastructureRef.name") or "?",
    )


def _domains(document: dict[str, Any]) -> Fact[tuple[str, ...]]:
    one = word(document, "spec.template.spec.failureDomain")
    if one.is_known:
        return known((one.value,), place=one.place)
    return texts(document, "spec.failureDomains")


def _hinted(annotations: dict[str, str]) -> Machines:
    """Resources in the annotations for scaling from zero."""
    count = natural(annotations.get(_GPU_COUNT))
    if count is None:
        return Machines(unknown(_GPU_TYPE), unknown(_GPU_COUNT), unknown(_GPU_COUNT))
    if count == 0:
        return Machines(absent(_GPU_TYPE), absent(_GPU_COUNT), known(False, place=_GPU_COUNT))
    kind = annotations.get(_GPU_TYPE, "")
    nvidia = kind.startswith("nvidia.com/") or "nvidia" in kind
    gpu = gpu_by_name([kind.removeprefix("nvidia.com/")]) if kind else unknown(_GPU_TYPE)
    carries: Fact[bool] = known(True) if nvidia else unknown(_GPU_TYPE)
    return Machines(gpu, known(count, place=_GPU_COUNT), carries)


def _hinted_taints(
    annotations: dict[str, str], document: dict[str, Any]
) -> Fact[tuple[PoolTaint, ...]]:
    written = inside(document, "spec.template.spec.taints")
    if written is not None:
        return taints(written, "spec.template.spec.taints")
    hint = annotations.get(_TAINTS)
    if hint is None:
        return unknown("spec.template.spec.bootstrap")
    found = [one.rpartition(":") for one in hint.split(",") if ":" in one]
    written = [(taint.partition("="), effect) for taint, _, effect in found]
    return known(tuple(PoolTaint(key, effect, value) for (key, _, value), effect in written))


def bounded_size(document: dict[str, Any], group: str) -> Size:
    """Bounds that the annotations of an autoscaler give; without them, the number of replicas.

    `group`: prefix of the annotations, `cluster.x-k8s.io/` or `machine.openshift.io/`, which a
    MachineAutoscaler writes (openshift/cluster-autoscaler-operator, machineautoscaler controller).
    """
    annotations = inside(document, "metadata.annotations")
    if annotations is UNKNOWN:
        hidden: Fact[int] = unknown("metadata.annotations")
        return Size(hidden, hidden, hidden, "metadata.annotations", "metadata.annotations")
    written = mapping(annotations)
    least, most = f"{group}{_MINIMUM}", f"{group}{_MAXIMUM}"
    low, high = written.get(least), written.get(most)
    replicas = number(document, "spec.replicas")
    if low is None and high is None:
        count = replicas.or_default(1)
        return Size(count, count, count, "spec.replicas", "spec.replicas", fixed=True)
    return Size(
        fact(low, whole, least),
        fact(high, whole, most),
        replicas,
        f"metadata.annotations[{least}]",
        f"metadata.annotations[{most}]",
    )


def aws_template(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """infrastructure.cluster.x-k8s.io AWSMachineTemplate, AWSMachinePool, AWSManagedMachinePool.

    The last is an EKS node group: it states the fields that its launch template does not.
    """
    spec = inside(document, "spec.template.spec")
    if spec is None:
        spec = inside(document, "spec.awsLaunchTemplate")
    if locator.kind == "AWSManagedMachinePool":
        yield from _managed_size(document, locator)
        if inside(spec, "instanceType") is None:
            spec = inside(document, "spec")
    kind = word(spec, "instanceType")
    found = hardware(one_type(kind))
    spot = inside(spec, "spotMarketOptions")
    reserved = inside(spec, "capacityReservationId")
    capacity: Fact[frozenset[str]] = unknown("spotMarketOptions")
    if spot is not UNKNOWN:
        capacity = known(frozenset({"spot" if spot is not None else "onDemand"}))
    bought = word(document, "spec.capacityType")
    if not bought.is_absent:  # AWSManagedMachinePool
        certain = bought.is_known and bought.value in ("onDemand", "spot")
        capacity = known(frozenset({bought.value})) if certain else unknown(bought.place)
    yield LaunchTemplate(
        locator=locator,
        names=(locator.name,),
        instance_type=kind,
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        carries_gpus=found.carries_gpus,
        capacity=capacity,
        reservations=(reserved if isinstance(reserved, str) else "?",) if reserved else (),
        placement_group=word(spec, "placementGroupName"),
        image=word(document, "spec.amiType"),
    )


def _managed_size(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """Bounds of a managed node group, for the MachinePool of its name."""
    if inside(document, "spec.scaling") is not None:
        yield PoolAutoscaler(
            locator=locator,
            target=known(locator.name),
            minimum=number(document, "spec.scaling.minSize"),
            maximum=number(document, "spec.scaling.maxSize"),
        )


def vsphere_template(document: dict[str, Any], locator: Locator) -> Iterator[Any]:
    """infrastructure.cluster.x-k8s.io VSphereMachineTemplate: its PCI devices and vGPUs."""
    devices = items(inside(document, "spec.template.spec.pciDevices"))
    found = pci_hardware(devices)
    yield LaunchTemplate(
        locator=locator,
        names=(locator.name,),
        gpu=found.gpu,
        gpus_per_node=found.gpus_per_node,
        carries_gpus=found.carries_gpus,
        capacity=known(frozenset({"onPrem"})),
        vgpu_profile=_profile(devices),
    )


def pci_hardware(devices: list[Any]) -> Machines:
    """The GPUs among PCI devices of a virtual machine."""
    place = "pciDevices"
    profile = _profile(devices)
    if profile.is_known:
        return Machines(
            vgpu_board(profile.value),
            known(len(devices), place=place),
            known(True, place=place),
        )
    vendors = [str(inside(one, "vendorId")).lower() for one in devices]
    gpus = [one for one, vendor in zip(devices, vendors, strict=True) if vendor in _NVIDIA_VENDOR]
    if not gpus:
        return Machines(absent(place), absent(place), known(False, place=place))
    return Machines(unknown(place), known(len(gpus), place=place), known(True, place=place))


def _profile(devices: list[Any]) -> Fact[str]:
    for one in devices:
        found = inside(one, "vGPUProfile") or inside(one, "vgpuProfile")
        if found is not None:
            return known(found) if isinstance(found, str) else unknown("vGPUProfile")
    return absent("pciDevices")


def vgpu_board(profile: str) -> Fact[str]:
    """The GPU of a vGPU type; unknown for names that the catalogue does not list."""
    from gpufleet.partition.vgpu import boards_of

    found = boards_of(load().gpus.values(), profile)
    return known(found[0][0].key) if len(found) == 1 else unknown("vgpuProfile")
