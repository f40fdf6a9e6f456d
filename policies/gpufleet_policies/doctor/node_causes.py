"""Causes at nodes that take more than a row: conditions, taints, operands, devices that are lost,
layouts of MIG and configurations of the device plugin.

Sources: NVSentinel (docs.nvidia.com/nvsentinel, conditions `Gpu*Watch`, `SysLogs*`); aws/
eks-node-monitoring-agent (`AcceleratedHardwareReady`, reasons `Nvidia*`); Azure/AKS node problem
detector (`GPUMissing`, `XIDErrors`); NVIDIA, "Analyzing Xid Errors with the Xid Catalog",
docs.nvidia.com/deploy/xid-errors (resolution bucket, immediate action; 48 and 74 name workflows
whose first step is a reset); kubernetes/autoscaler `cluster-autoscaler/utils/taints`;
kubernetes-sigs/karpenter `pkg/apis/v1/taints.go`; kubernetes/kubernetes `pkg/kubelet/cm/
devicemanager/manager.go` GetCapacity (capacity counts unhealthy devices, allocatable does not);
NVIDIA/mig-parted v0.15.0 `cmd/nvidia-mig-manager` (label, state, paused operands),
NVIDIA/k8s-device-plugin `internal/rm`, `cmd/config-manager` (label, ConfigMap, fallback).
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from gpufleet.catalogue import Catalogue, Gpu, load
from gpufleet.catalogue.edition import RawRow, read_rows
from gpufleet.change.live_node import UNDER_WAY
from gpufleet.contract.driver_ranges import driver_problem, operator_problem
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.paths import mapping_at
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import mapping
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL
from gpufleet_policies.doctor.cause import ROWS, Patient, Sighting, Sign, cause, each, of_nodes
from gpufleet_policies.doctor.observed import PRODUCT, Seen, SeenNode, SeenPod, few, text
from gpufleet_policies.doctor.rows import again
from gpufleet_policies.doctor.snapshot import Dump, Part, kept_by, operands, parts_on, sets
from gpufleet_policies.names import names
from gpufleet_policies.readers.scheduling import PRESENT

_GPU, _DRIVER = "nvidia.com/gpu", "nvidia.com/cuda.driver-version"
_SERVING = {Part.PLUGIN, Part.DRA}
_NAMES_FAULT = re.compile(
    r"(Gpu|GPU|SysLogs|Nvidia|NVIDIA|XID|IB|Nvlink|NVLink|NVSwitch|Accelerator)\w*(?<!Ready)"
)
"""Types of conditions about GPUs, which are True when something is wrong."""
_DETAIL = re.compile(r"\b(?:DCGM_FR_\w+|DCGM_HEALTH_\w+|Recommended ?Action=\w+)")
"""Parts of a message that may be repeated: names of its program."""
_PASSING = frozenset(names("taint of another cause"))
"""Taints whose remedy another cause states, or that repel no pod."""
_NUMBER = re.compile(
    r"\b(?:NvidiaXID|Xid\b[^:\n]{0,60}:|XID[-_ ]?|ErrorCode:)\s*(\d{1,3})(?!\d|\w)", re.I
)
_REASON = re.compile(r"NvidiaXID(\d{1,3})(?:Error|Warning)")
XIDS: dict[int, RawRow] = {row["xid"]: row for row in read_rows(Path(__file__).parent, "xids")}
"""Rows of NVIDIA's catalogue by number: `xid`, `name`, and `action`, its immediate action."""


def _xid_in(said: str) -> dict[str, Any] | None:
    """The first XID of the catalogue in a reason, message or log."""
    numbers = (int(found[1]) for form in (_REASON, _NUMBER) for found in form.finditer(said))
    return next((XIDS[number] for number in numbers if number in XIDS), None)


def _faults(node: SeenNode) -> Iterator[tuple[str, dict[str, Any] | None, str]]:
    """Conditions that report a GPU fault: type, XID, names in its message."""
    for kind, one in node.conditions.items():
        is_ready = kind == "AcceleratedHardwareReady"
        bad = one.get("status") == ("False" if is_ready else "True")
        if bad and (is_ready or _NAMES_FAULT.fullmatch(kind)):
            said = f"{text(one.get('reason'))} {text(one.get('message'))}"
            yield kind, _xid_in(said), ", ".join(dict.fromkeys(_DETAIL.findall(said)))


@of_nodes("gpu-xid")
def _xid(patient: Patient, node: SeenNode) -> Sighting | None:
    for kind, row, _ in _faults(node):
        if row is not None:
            return Sighting(node, case=row["action"], row=row, kind=kind, said=node.said[kind])
    return None


@of_nodes("node-health-condition")
def _condition(patient: Patient, node: SeenNode) -> Sighting | None:
    for kind, _, detail in _faults(node):
        named = f" ({detail})" if detail else ""
        return Sighting(node, kind=kind, named=named, said=node.said[kind])
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
        return Sighting(
            node,
            case=key if helped else "by hand",
            key=key,
            effect=effect,
            pool=pool,
            undeclared=f", which {pool.name} does not declare" if pool else "",
            why=": the program that sets it at start has not removed it" if key in starting else "",
        )
    return None


@cause("operands-kept-away-by-taint")
def _kept_away(patient: Patient) -> Iterator[Sighting]:
    for node in patient.cluster.nodes.values():
        said = " ".join(f"{taint.get('key')}={taint.get('value')}" for taint in node.taints)
        if node.ref in patient.explained or not (node.has_nvidia or "gpu" in said):
            continue
        there = parts_on(patient.cluster, node)
        missing = (one for part in Part if part not in there for one in sets(patient.cluster, part))
        one, taint = next(((s, t) for s in missing if (t := kept_by(s, node))), (None, None))
        if one is not None and taint is not None:
            yield Sighting(node, one=one, key=taint["key"], shown=taint["shown"])


@of_nodes("gpus-advertised-twice")
def _twice(patient: Patient, node: SeenNode) -> Sighting | None:
    serving: dict[str, SeenPod] = {}
    for part, pod in operands(patient.cluster, node.name):
        if part is Part.PLUGIN or (part is Part.DRA and node.name in patient.cluster.dra_nodes):
            serving.setdefault(f"{pod.namespace}/{pod.owner[1] or pod.name}", pod)
    if len(serving) < 2:
        return None
    signs = (Sign(pod.ref, "spec.nodeName", node.name) for pod in serving.values())
    return Sighting(node, *signs, count=len(serving), names=", ".join(sorted(serving)))


def _expected(patient: Patient, node: SeenNode) -> dict[str, int]:
    """Expected resources of a node: by its declared pool, else by feature discovery."""
    pool = patient.pool(node)
    if pool is not None:
        return dict(pool.advertised)
    counted = node.labels.get("nvidia.com/gpu.count", "")
    offered = [name for name in (_GPU, f"{_GPU}.shared") if name in node.capacity]
    if not counted.isdecimal() or len(offered) != 1:
        return {}
    replicas = node.labels.get("nvidia.com/gpu.replicas", "1")
    return {offered[0]: int(counted) * max(int(replicas) if replicas.isdecimal() else 1, 1)}


def _resting(patient: Patient) -> Iterator[SeenNode]:
    """Nodes on which no layout and no driver changes."""
    for node in patient.nodes:
        if node.live.state not in UNDER_WAY and not node.live.is_upgrading:
            yield node


def _silent(patient: Patient) -> Iterator[SeenNode]:
    """Those of them that offer no accelerator, by resources or by claims."""
    for node in _resting(patient):
        if not any(node.devices.values()) and node.name not in patient.cluster.dra_nodes:
            yield node


_of_silent = each(_silent)


@each(_resting)("node-gpus-lost")
def _fewer(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted = _expected(patient, node)
    for name in sorted({*wanted, *(n for n in node.devices if n.startswith("nvidia.com/"))}):
        offered = node.devices.get(name, 0)
        registered = int(node.capacity.get(name, offered))
        whole = max(wanted.get(name, 0), registered)
        if 0 < offered < whole:
            case = "unhealthy" if registered >= whole else "unseen"
            counts: dict[str, Any] = {"offered": offered, "registered": registered, "whole": whole}
            return Sighting(node, case=case, gpus=whole - offered, name=name, **counts)
    return None


@_of_silent("dra-slices-missing")
def _no_slices(patient: Patient, node: SeenNode) -> Sighting | None:
    cluster, dra = patient.cluster, Part.DRA
    served = cluster.dra_nodes or sets(cluster, dra) or dra in parts_on(cluster, node)
    drawn = node.labels.get("nvidia.com/gpu.deploy.device-plugin") == "false"
    by_claims = served and (drawn or not sets(cluster, Part.PLUGIN))
    return Sighting(node, gpus=node.has_gpus or 1) if by_claims else None


@_of_silent("plugin-missing")
def _no_plugin(patient: Patient, node: SeenNode) -> Sighting | None:
    # A dump of nodes alone has no facts about operands.
    if not patient.cluster.all("Pod") or _SERVING & parts_on(patient.cluster, node):
        return None
    there = ", ".join(f"{one.namespace}/{one.name}" for one in sets(patient.cluster, Part.PLUGIN))
    case = "elsewhere" if there else "nowhere"
    return Sighting(node, case=case, gpus=node.has_gpus or 1, there=there)


@_of_silent("node-black-hole")
def _nothing(patient: Patient, node: SeenNode) -> Sighting | None:
    meant = node.devices or node.labels.get(PRESENT) == "true" or _expected(patient, node)
    return Sighting(node, gpus=node.has_gpus or 1) if meant else None


def _not_for_gpu(
    node: SeenNode, version: str, problem_of: Callable[[Gpu, str, Catalogue], object]
) -> Sighting | None:
    """A release that does not serve the GPU of the catalogue that a node's product label names."""
    product = re.sub(r"(-MIG-[\w.]+)?(-SHARED)?$", "", node.labels.get(PRODUCT, ""))
    gpus = (gpu for gpu in load().gpus.values() if version and gpu.product_label == product)
    problem = next((problem_of(gpu, version, load()) for gpu in gpus), None)
    return None if problem is None else Sighting(node, problem=problem, version=version)


@of_nodes("driver-not-for-gpu")
def _driver(patient: Patient, node: SeenNode) -> Sighting | None:
    return _not_for_gpu(node, node.version(_DRIVER), driver_problem)


@lru_cache(maxsize=1)
def _operator(cluster: Dump) -> str:
    """The release of the GPU Operator, by the image of its pod; empty: not known."""
    images = (image for pod in cluster.pods for image in pod.images)
    found = (re.search(r"/gpu-operator:v?(\d+\.\d+[\w.-]*)", image) for image in images)
    return next((one[1] for one in found if one is not None), "")


@of_nodes("operator-not-for-gpu")
def _range(patient: Patient, node: SeenNode) -> Sighting | None:
    return _not_for_gpu(node, _operator(patient.cluster), operator_problem)


_SHOWN = 6
"""Names of configurations that a message lists."""


def _policy(cluster: Dump, path: str) -> dict[str, Any]:
    policies = cluster.all("ClusterPolicy")
    return mapping_at(policies[0].spec, path) if policies else {}


def _config_map(cluster: Dump, *names: object) -> tuple[Seen, dict[str, Any]]:
    """The ConfigMap that is there of these names, one without a name if none is, and its data."""
    maps = cluster.all("ConfigMap")
    found = next((one for name in names for one in maps if one.name == name), Seen({}))
    return found, mapping_at(found.raw, "data")


def _read(document: object) -> dict[str, Any] | None:
    """A configuration as NVIDIA's programs read it; None where it is not YAML."""
    try:
        return mapping(read_go(text(document)).data)
    except UnreadableDocumentError:
        return None


@of_nodes("mig-config-unknown")
def _unknown_layout(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted = node.labels.get(MIG_CONFIG_LABEL, "")
    # Without a name in the ClusterPolicy it is made for each node (GPU Operator from v26.3 on).
    name = _policy(patient.cluster, "migManager.config").get("name") or "default-mig-parted-config"
    config, data = _config_map(patient.cluster, name, f"{node.name}-mig-config")
    read = [_read(one) for one in data.values()]
    known = {name for one in read for name in mapping((one or {}).get("mig-configs"))}
    if not wanted or not config.name or None in read or wanted in known:
        return None
    return Sighting(node, wanted=wanted, config=config, shown=", ".join(sorted(known)[:_SHOWN]))


@of_nodes("mig-gpu-in-use")
def _in_use(patient: Patient, node: SeenNode) -> Sighting | None:
    holders = [pod for pod in patient.cluster.pods_on.get(node.name, ()) if pod.wants_gpus]
    if node.live.state not in {*UNDER_WAY, "failed"} or not holders:
        return None
    names = few([pod.ref.removeprefix("Pod/") for pod in holders])
    signs = (Sign(pod.ref, "spec.nodeName", node.name) for pod in holders[:3])
    return Sighting(node, *signs, names=names, again=again(patient, node))


def _plugin_config(patient: Patient, node: SeenNode) -> tuple[str, Seen, dict[str, Any]]:
    """The configuration that a node's device plugin takes, its ConfigMap, and what is in it."""
    plugin = _policy(patient.cluster, "devicePlugin.config")
    wanted = node.labels.get(DEVICE_PLUGIN_CONFIG_LABEL) or text(plugin.get("default"))
    return wanted, *_config_map(patient.cluster, plugin.get("name"))


@of_nodes("mps-with-mig")
def _mps_with_mig(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted, found, data = _plugin_config(patient, node)
    config = _read(data.get(wanted)) or {}
    strategy = mapping_at(config, "flags").get("migStrategy")
    strategy = strategy or _policy(patient.cluster, "mig").get("strategy")
    cut = "MIG" in node.labels.get(PRODUCT, "") or any("/mig-" in name for name in node.capacity)
    if not mapping_at(config, "sharing.mps") or not (cut or strategy == "mixed"):
        return None
    case = "cut" if cut else "mixed"
    return Sighting(node, case=case, gpus=node.has_gpus or 1, found=found, wanted=wanted)


@of_nodes("plugin-config-unknown")
def _unknown_config(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted, found, data = _plugin_config(patient, node)
    if not found.name or not node.labels.get(DEVICE_PLUGIN_CONFIG_LABEL) or wanted in data:
        return None
    return Sighting(node, wanted=wanted, found=found, there=", ".join(sorted(data)[:_SHOWN]))
