"""Causes at nodes that take more than a row: conditions, taints, operands, devices that are lost.

Sources: NVSentinel (docs.nvidia.com/nvsentinel, conditions `Gpu*Watch`, `SysLogs*`); aws/
eks-node-monitoring-agent (`AcceleratedHardwareReady`, reasons `Nvidia*`); Azure/AKS node problem
detector (`GPUMissing`, `XIDErrors`); kubernetes/autoscaler `cluster-autoscaler/utils/taints`;
kubernetes-sigs/karpenter `pkg/apis/v1/taints.go`; kubernetes/kubernetes `pkg/kubelet/cm/
devicemanager/manager.go` GetCapacity (capacity counts unhealthy devices, allocatable does not);
NVIDIA/k8s-operator-libs 1090aef `pkg/upgrade/consts.go` (states of upgrades).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gpufleet.catalogue import Gpu, load
from gpufleet.change.live_node import UNDER_WAY
from gpufleet.contract.driver_ranges import driver_problem, operator_problem
from gpufleet_policies.doctor.cause import (
    ROWS,
    Patient,
    Sighting,
    Sign,
    cause,
    each,
    found_at,
    of_nodes,
)
from gpufleet_policies.doctor.observed import PRESENT, PRODUCT, SeenNode, SeenPod, text
from gpufleet_policies.doctor.operands import Part, kept_by, operands, sets
from gpufleet_policies.doctor.snapshot import Dump
from gpufleet_policies.doctor.xids import xid_in

_GPU, _DRIVER = "nvidia.com/gpu", "nvidia.com/cuda.driver-version"
_NAMES_FAULT = re.compile(
    r"(Gpu|GPU|SysLogs|Nvidia|NVIDIA|XID|IB|Nvlink|NVLink|NVSwitch|Accelerator)\w*(?<!Ready)"
)
"""Types of conditions about GPUs, which are True when something is wrong."""
_DETAIL = re.compile(r"\b(?:DCGM_FR_\w+|DCGM_HEALTH_\w+|Recommended ?Action=\w+)")
"""What may be repeated of a message: names of its program."""
_PASSING = frozenset(
    {
        *(f"node.kubernetes.io/{one}" for one in ("unschedulable", "not-ready", "unreachable")),
        "DeletionCandidateOfClusterAutoscaler",
    }
)
"""Taints of which another cause says what is to be done, or that keep no pod away."""


def _faults(node: SeenNode) -> Iterator[tuple[str, dict[str, Any] | None, str]]:
    """Conditions about GPUs that say something is wrong: type, XID, what its message names."""
    for kind, one in node.conditions.items():
        is_ready = kind == "AcceleratedHardwareReady"
        bad = one.get("status") == ("False" if is_ready else "True")
        if bad and (is_ready or _NAMES_FAULT.fullmatch(kind)):
            said = f"{text(one.get('reason'))} {text(one.get('message'))}"
            yield kind, xid_in(said), ", ".join(dict.fromkeys(_DETAIL.findall(said)))


@of_nodes("gpu-xid")
def _xid(patient: Patient, node: SeenNode) -> Sighting | None:
    found = ((kind, row) for kind, row, _ in _faults(node) if row is not None)
    kind, row = next(found, ("", None))
    said = node.said[kind]
    return (
        None if row is None else found_at(node, case=row["action"], row=row, kind=kind, said=said)
    )


@of_nodes("node-health-condition")
def _condition(patient: Patient, node: SeenNode) -> Sighting | None:
    for kind, _, detail in _faults(node):
        named = f" ({detail})" if detail else ""
        return found_at(node, kind=kind, named=named, said=node.said[kind])
    return None


_HELPED = next(row["cases"] for row in ROWS if row["code"] == "node-taint-left")


@of_nodes("node-taint-left")
def _taint_left(patient: Patient, node: SeenNode) -> Sighting | None:
    pool = patient.pool(node)
    known = {taint.key for taint in pool.taints} if pool else set[str]()
    options = pool.spec.karpenter if pool else None
    starting = {one.key for one in options.startup_taints} if options else set[str]()
    for taint in node.taints:
        key, effect = text(taint.get("key")), text(taint.get("effect"))
        helped = key in _HELPED
        if key in known | _PASSING or effect == "PreferNoSchedule" or not (helped or pool):
            continue
        return found_at(
            node,
            case=key if helped else "by hand",
            key=key,
            effect=effect,
            pool=pool,
            undeclared=f", which {pool.name} does not declare" if pool else "",
            why=": what sets it at the start has not removed it" if key in starting else "",
        )
    return None


@cause("operands-kept-away-by-taint")
def _kept_away(patient: Patient) -> Iterator[Sighting]:
    for node in patient.cluster.nodes.values():
        said = " ".join(f"{taint.get('key')}={taint.get('value')}" for taint in node.taints)
        if node.ref in patient.explained or not (node.has_nvidia or "gpu" in said):
            continue
        there = {part for part, _ in operands(patient.cluster, node.name)}
        missing = (one for part in Part if part not in there for one in sets(patient.cluster, part))
        one, taint = next(((s, t) for s in missing if (t := kept_by(s, node))), (None, None))
        if one is not None and taint is not None:
            shown = f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}"
            yield found_at(node, shown=shown, one=one, key=taint.get("key"))


@of_nodes("gpus-advertised-twice")
def _twice(patient: Patient, node: SeenNode) -> Sighting | None:
    serving: dict[tuple[str, str], list[SeenPod]] = defaultdict(list)
    for part, pod in operands(patient.cluster, node.name):
        if part is Part.PLUGIN or (part is Part.DRA and node.name in patient.cluster.dra_nodes):
            serving[pod.owner[1] or pod.name, pod.namespace].append(pod)
    if len(serving) < 2:
        return None
    signs = (Sign(pods[0].ref, "spec.nodeName", node.name) for pods in serving.values())
    names = ", ".join(sorted(f"{namespace}/{name}" for name, namespace in serving))
    return found_at(node, *signs, count=len(serving), names=names)


def _expected(patient: Patient, node: SeenNode) -> dict[str, int]:
    """What a node must offer: by its pool of the declaration, else by what discovery counted."""
    pool = patient.pool(node)
    if pool is not None:
        return dict(pool.advertised)
    counted = node.labels.get("nvidia.com/gpu.count", "")
    offered = [name for name in (_GPU, f"{_GPU}.shared") if name in node.capacity]
    if not counted.isdecimal() or len(offered) != 1:
        return {}
    replicas = node.labels.get("nvidia.com/gpu.replicas", "1")
    return {offered[0]: int(counted) * max(int(replicas) if replicas.isdecimal() else 1, 1)}


def _is_resting(node: SeenNode) -> bool:
    return node.live.state not in UNDER_WAY and not node.live.is_upgrading


_resting = each(lambda patient: filter(_is_resting, patient.nodes))
"""Causes of nodes on which no layout and no driver changes."""


def _empty(patient: Patient, node: SeenNode) -> bool:
    """Whether a node offers no accelerator, by resources or by claims."""
    return not any(node.devices.values()) and node.name not in patient.cluster.dra_nodes


@_resting("node-gpus-lost")
def _fewer(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted = _expected(patient, node)
    for name in sorted({*wanted, *(n for n in node.devices if n.startswith("nvidia.com/"))}):
        offered = node.devices.get(name, 0)
        registered = int(node.capacity.get(name, offered))
        whole = max(wanted.get(name, 0), registered)
        if 0 < offered < whole:
            case = "unhealthy" if registered >= whole else "unseen"
            counts: dict[str, Any] = {"offered": offered, "registered": registered, "whole": whole}
            return found_at(node, case=case, gpus=whole - offered, name=name, **counts)
    return None


@_resting("dra-slices-missing")
def _no_slices(patient: Patient, node: SeenNode) -> Sighting | None:
    cluster = patient.cluster
    runs = any(part is Part.DRA for part, _ in operands(cluster, node.name))
    served = runs or cluster.dra_nodes or sets(cluster, Part.DRA)
    drawn = node.labels.get("nvidia.com/gpu.deploy.device-plugin") == "false"
    if not served or not _empty(patient, node) or (sets(cluster, Part.PLUGIN) and not drawn):
        return None
    return found_at(node, gpus=node.has_gpus or 1)


@_resting("plugin-missing")
def _no_plugin(patient: Patient, node: SeenNode) -> Sighting | None:
    serving = (part in {Part.PLUGIN, Part.DRA} for part, _ in operands(patient.cluster, node.name))
    # A dump of nodes alone says nothing about operands.
    if not patient.cluster.has("Pod") or not _empty(patient, node) or any(serving):
        return None
    there = ", ".join(f"{one.namespace}/{one.name}" for one in sets(patient.cluster, Part.PLUGIN))
    case = "elsewhere" if there else "nowhere"
    return found_at(node, case=case, gpus=node.has_gpus or 1, there=there)


@_resting("node-black-hole")
def _nothing(patient: Patient, node: SeenNode) -> Sighting | None:
    meant = node.devices or node.labels.get(PRESENT) == "true" or _expected(patient, node)
    return found_at(node, gpus=node.has_gpus or 1) if meant and _empty(patient, node) else None


def _gpu_of(node: SeenNode) -> Gpu | None:
    """The GPU of the catalogue that a node's product label names."""
    product = re.sub(r"(-MIG-[\w.]+)?(-SHARED)?$", "", node.labels.get(PRODUCT, ""))
    return next((gpu for gpu in load().gpus.values() if gpu.product_label == product), None)


@of_nodes("driver-not-for-gpu")
def _driver(patient: Patient, node: SeenNode) -> Sighting | None:
    gpu, driver = _gpu_of(node), node.version(_DRIVER)
    problem = driver_problem(gpu, driver, load()) if gpu is not None and driver else None
    return None if problem is None else found_at(node, problem=problem, version=driver)


@lru_cache(maxsize=1)
def _operator(cluster: Dump) -> str:
    """The release of the GPU Operator, by the image of its pod; empty: not known."""
    images = (image for pod in cluster.pods for image in pod.images)
    found = (re.search(r"/gpu-operator:v?(\d+\.\d+[\w.-]*)", image) for image in images)
    return next((one[1] for one in found if one is not None), "")


@of_nodes("operator-not-for-gpu")
def _range(patient: Patient, node: SeenNode) -> Sighting | None:
    gpu = _gpu_of(node)
    release = _operator(patient.cluster) if gpu is not None else ""
    problem = operator_problem(gpu, release, load()) if gpu is not None and release else None
    return None if problem is None else found_at(node, problem=problem, version=release)
