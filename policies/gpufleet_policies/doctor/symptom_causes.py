"""What is wrong with a node of which no cause above says why: GPUs lost, none at all, no labels.

Source: kubernetes/kubernetes `pkg/kubelet/cm/devicemanager/manager.go` GetCapacity (capacity counts
unhealthy devices, allocatable does not); NVIDIA/k8s-device-plugin `internal/lm` (labels).
"""

import re
from collections.abc import Iterator

from gpufleet.change.live_node import UNDER_WAY
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, each, found_at
from gpufleet_policies.doctor.observed import PRESENT, PRODUCT, SeenNode, text
from gpufleet_policies.doctor.operands import Part, operands, sets

_LOST = re.compile(r"(?:nvml: )?GPU is lost")
_GPU = "nvidia.com/gpu"
_DISCOVERY = "nvidia.com/gpu.deploy.gpu-feature-discovery"


def expected(patient: Patient, node: SeenNode) -> dict[str, int]:
    """What a node must offer: by its pool of the declaration, else by what discovery counted."""
    pool = patient.pool(node)
    if pool is not None:
        return dict(pool.advertised)
    counted = node.labels.get("nvidia.com/gpu.count", "")
    offered = [name for name in (_GPU, f"{_GPU}.shared") if name in node.capacity]
    if counted.isdecimal() and len(offered) == 1:
        replicas = node.labels.get("nvidia.com/gpu.replicas", "1")
        times = int(replicas) if replicas.isdecimal() and int(replicas) else 1
        return {offered[0]: int(counted) * times}
    return {}


def _is_resting(node: SeenNode) -> bool:
    return node.live.state not in UNDER_WAY and not node.live.is_upgrading


_resting = each(lambda patient: filter(_is_resting, patient.nodes))
"""Causes of nodes on which no layout and no driver changes."""


def _empty(patient: Patient, node: SeenNode) -> bool:
    """Whether a node offers no accelerator, by resources or by claims."""
    return not any(node.devices.values()) and node.name not in patient.cluster.dra_nodes


@cause("gpu-lost")
def _lost(patient: Patient) -> Iterator[Sighting]:
    for pod in patient.cluster.pods:
        node = patient.cluster.nodes.get(pod.node)
        found = _LOST.search(text(pod.status.get("message")))
        if found is not None and node is not None and node.ref not in patient.explained:
            yield found_at(node, Sign(pod.ref, "status.message", found[0]), explains=(pod.ref,))


@_resting("node-gpus-lost")
def _fewer(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted = expected(patient, node)
    for name in sorted({*wanted, *(n for n in node.devices if n.startswith("nvidia.com/"))}):
        offered = node.devices.get(name, 0)
        registered = int(node.capacity.get(name, offered))
        whole = max(wanted.get(name, 0), registered)
        if not 0 < offered < whole:
            continue
        unhealthy = registered >= whole
        return found_at(
            node,
            Sign(node.ref, f"status.allocatable[{name}]", str(offered)),
            Sign(node.ref, f"status.capacity[{name}]", str(registered)),
            gpus=whole - offered,
            offered=offered,
            whole=whole,
            name=name,
            why="the device plugin marks the others unhealthy"
            if unhealthy
            else f"the device plugin registered {registered}: the driver does not see the others",
            help="the log of its device plugin names the XID; then drain the node and reset or "
            "replace the GPU"
            if unhealthy
            else "drain it, and compare `nvidia-smi -L` in its driver pod with the machine; a GPU "
            "that fell off the bus needs a reboot, else another machine",
        )
    return None


@_resting("dra-slices-missing")
def _no_slices(patient: Patient, node: SeenNode) -> Sighting | None:
    cluster = patient.cluster
    served = cluster.dra_nodes or sets(cluster, Part.DRA)
    drawn = node.labels.get("nvidia.com/gpu.deploy.device-plugin") == "false"
    if not served or not _empty(patient, node) or (sets(cluster, Part.PLUGIN) and not drawn):
        return None
    return found_at(
        node,
        Sign("ResourceSlice", "spec.nodeName", f"none is {node.name}"),
        Sign(node.ref, "status.allocatable", "no GPU"),
        gpus=node.has_gpus or 1,
    )


@_resting("plugin-missing")
def _no_plugin(patient: Patient, node: SeenNode) -> Sighting | None:
    serving = (part in {Part.PLUGIN, Part.DRA} for part, _ in operands(patient.cluster, node.name))
    # A dump of nodes alone says nothing about operands.
    if not patient.cluster.has("Pod") or not _empty(patient, node) or any(serving):
        return None
    there = ", ".join(f"{one.namespace}/{one.name}" for one in sets(patient.cluster, Part.PLUGIN))
    return found_at(
        node,
        Sign(node.ref, "status.allocatable", "no GPU"),
        Sign("Pod", "spec.nodeName", f"no device plugin has {node.name}"),
        gpus=node.has_gpus or 1,
        help=f"compare the node's labels with the node selector of {there}"
        if there
        else "install the GPU Operator or the device plugin",
    )


@_resting("node-black-hole")
def _nothing(patient: Patient, node: SeenNode) -> Sighting | None:
    meant = node.devices or node.labels.get(PRESENT) == "true" or expected(patient, node)
    if not meant or not _empty(patient, node):
        return None
    evidence = Sign(node.ref, "status.allocatable", "every GPU resource is 0 or missing")
    return found_at(node, evidence, gpus=node.has_gpus or 1)


@_resting("node-product-label-missing")
def _no_product(patient: Patient, node: SeenNode) -> Sighting | None:
    labelled = node.labels.get(PRESENT) != "true" or PRODUCT in node.labels
    if labelled or not any(node.devices.values()):
        return None
    off = node.labels.get(_DISCOVERY) == "false"
    return found_at(
        node,
        Sign(node.ref, f"metadata.labels[{PRODUCT}]", "not there"),
        off=": GPU Feature Discovery is kept off" if off else "",
        help=f"kubectl label node {node.name} {_DISCOVERY}=true --overwrite"
        if off
        else "kubectl get pods -A -l app=gpu-feature-discovery --field-selector "
        f"spec.nodeName={node.name}, and its log; without a driver pod that is Ready it does not "
        "start",
    )


CAUSES = (_lost, _fewer, _no_slices, _no_plugin, _nothing, _no_product)
