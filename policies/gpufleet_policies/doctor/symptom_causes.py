"""What is wrong with a node of which no cause above says why: GPUs lost, none at all, no labels.

Source: kubernetes/kubernetes `pkg/kubelet/cm/devicemanager/manager.go` GetCapacity (capacity counts
unhealthy devices, allocatable does not); NVIDIA/k8s-device-plugin `internal/lm` (labels).
"""

import re
from collections.abc import Iterator

from gpufleet.change.live_node import UNDER_WAY
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.node_causes import promised
from gpufleet_policies.doctor.observed import PRESENT, PRODUCT, Node, Pod
from gpufleet_policies.doctor.operands import Part, operands, sets

_MANAGER = "kubernetes/kubernetes pkg/kubelet/cm/devicemanager/manager.go"
_OPERATOR = "NVIDIA/gpu-operator 04751ec controllers/state_manager.go"
_PLUGIN_ISSUES = "https://github.com/NVIDIA/k8s-device-plugin/issues/"
_LOST = re.compile(r"(?:nvml: )?GPU is lost")
_GPU = "nvidia.com/gpu"


def expected(patient: Patient, node: Node) -> dict[str, int]:
    """What a node must offer: by its pool of the declaration, else by what discovery counted."""
    if patient.fleet is not None:
        for pool in patient.fleet.pools:
            if pool.name == node.labels.get(POOL_LABEL):
                return dict(pool.advertised)
    counted = node.labels.get("nvidia.com/gpu.count", "")
    offered = [name for name in (_GPU, f"{_GPU}.shared") if name in node.capacity]
    if counted.isdecimal() and len(offered) == 1:
        replicas = node.labels.get("nvidia.com/gpu.replicas", "1")
        times = int(replicas) if replicas.isdecimal() and int(replicas) else 1
        return {offered[0]: int(counted) * times}
    return {}


def _is_at_rest(patient: Patient, node: Node) -> bool:
    busy = node.live.state in UNDER_WAY or node.live.is_upgrading
    return not busy and node.ref not in patient.explained


@cause("gpu-lost")
def lost_gpu(patient: Patient) -> Iterator[Found]:
    said: set[str] = set()
    for pod in patient.cluster.pods:
        message = str(pod.status.get("message", ""))
        node = patient.cluster.nodes.get(pod.node)
        found = _LOST.search(message)
        if found is None or node is None or node.name in said or node.ref in patient.explained:
            continue
        said.add(node.name)
        yield found_at(node, Evidence(pod.ref, "status.message", found[0]), explains=(pod.ref,))


@cause("node-gpus-lost")
def fewer(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if not _is_at_rest(patient, node):
            continue
        wanted = expected(patient, node)
        names = {*wanted, *(name for name in node.devices if name.startswith("nvidia.com/"))}
        for name in sorted(names):
            offered = node.devices.get(name, 0)
            registered = int(node.capacity.get(name, offered))
            whole = max(wanted.get(name, 0), registered)
            if not 0 < offered < whole:
                continue
            unhealthy = registered >= whole
            why = (
                "the device plugin marks the others unhealthy"
                if unhealthy
                else f"the device plugin registered {registered}: the driver does not see the "
                "others"
            )
            fix = (
                f"kubectl cordon {node.name}; the log of its device plugin names the XID; then "
                "drain the node and reset or replace the GPU"
                if unhealthy
                else f"kubectl cordon {node.name}, drain it, and compare `nvidia-smi -L` in its "
                "driver pod with the machine; a GPU that fell off the bus needs a reboot, else "
                "another machine"
            )
            yield found_at(
                node,
                Evidence(node.ref, f"status.allocatable[{name}]", str(offered)),
                Evidence(node.ref, f"status.capacity[{name}]", str(registered)),
                gpus=whole - offered,
                fix=fix,
                offered=offered,
                whole=whole,
                name=name,
                why=why,
            )
            break


def _serves(patient: Patient, node: Node) -> list[Pod]:
    return [
        pod
        for part, pod in operands(patient.cluster)
        if part in {Part.PLUGIN, Part.DRA} and pod.node == node.name
    ]


@cause("dra-slices-missing")
def no_slices(patient: Patient) -> Iterator[Found]:
    cluster = patient.cluster
    if not cluster.dra_nodes and not sets(cluster, Part.DRA):
        return
    for node in cluster.nodes.values():
        if node.name in cluster.dra_nodes or any(node.devices.values()) or not node.has_nvidia:
            continue
        if not _is_at_rest(patient, node) or (sets(cluster, Part.PLUGIN) and not _is_drawn(node)):
            continue
        yield found_at(
            node,
            Evidence("ResourceSlice", "spec.nodeName", f"none is {node.name}"),
            Evidence(node.ref, "status.allocatable", "no GPU"),
            gpus=promised(patient, node) or 1,
        )


def _is_drawn(node: Node) -> bool:
    return node.labels.get("nvidia.com/gpu.deploy.device-plugin") == "false"


@cause("plugin-missing")
def no_plugin(patient: Patient) -> Iterator[Found]:
    # A dump of nodes alone says nothing about operands.
    if not patient.cluster.has("Pod"):
        return
    for node in patient.cluster.nodes.values():
        if any(node.devices.values()) or not node.has_nvidia or not _is_at_rest(patient, node):
            continue
        if _serves(patient, node) or node.name in patient.cluster.dra_nodes:
            continue
        there = sets(patient.cluster, Part.PLUGIN)
        yield found_at(
            node,
            Evidence(node.ref, "status.allocatable", "no GPU"),
            Evidence("Pod", "spec.nodeName", f"no device plugin has {node.name}"),
            gpus=promised(patient, node) or 1,
            fix="compare the node's labels with the node selector of "
            + ", ".join((one.ref.removeprefix("DaemonSet/") for one in there))
            if there
            else "install the GPU Operator or the device plugin",
        )


@cause("node-black-hole")
def nothing(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        zeros = [name for name, count in node.devices.items() if not count]
        meant = bool(zeros) or node.labels.get(PRESENT) == "true" or expected(patient, node)
        if any(node.devices.values()) or not meant or not _is_at_rest(patient, node):
            continue
        if node.name in patient.cluster.dra_nodes or not node.has_nvidia:
            continue
        yield found_at(
            node,
            Evidence(node.ref, "status.allocatable", "every GPU resource is 0 or missing"),
            gpus=promised(patient, node) or 1,
        )


@cause("node-product-label-missing")
def no_product(patient: Patient) -> Iterator[Found]:
    labels = "nvidia.com/gpu.deploy.gpu-feature-discovery"
    for node in patient.cluster.nodes.values():
        if node.labels.get(PRESENT) != "true" or PRODUCT in node.labels:
            continue
        if not _is_at_rest(patient, node) or not any(node.devices.values()):
            continue
        off = node.labels.get(labels) == "false"
        yield found_at(
            node,
            Evidence(node.ref, f"metadata.labels[{PRODUCT}]", "not there"),
            fix=f"kubectl label node {node.name} {labels}=true --overwrite"
            if off
            else "read the log of gpu-feature-discovery on the node; without a driver pod that is Ready it does not start",
            a=PRODUCT,
            b=": GPU Feature Discovery is kept off" if off else "",
        )


CAUSES = (lost_gpu, fewer, no_slices, no_plugin, nothing, no_product)
