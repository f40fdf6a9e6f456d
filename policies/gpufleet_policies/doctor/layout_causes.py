"""Causes in layouts of MIG and configurations of the device plugin.

Sources: NVIDIA/mig-parted v0.15.0 `cmd/nvidia-mig-manager` (label, state, paused operands),
NVIDIA/k8s-device-plugin `internal/rm`, `cmd/config-manager` (label, ConfigMap, fallback).
"""

from gpufleet.change.live_node import UNDER_WAY
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import mapping
from gpufleet.fleet.config_names import DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, found_at, of_nodes
from gpufleet_policies.doctor.observed import PRODUCT, Seen, SeenNode, below, text
from gpufleet_policies.doctor.rows import again
from gpufleet_policies.doctor.snapshot import Dump

_SHOWN = 6
"""Names of configurations that a message lists."""


def _policy(cluster: Dump, path: str) -> dict[str, object]:
    policies = cluster.all("ClusterPolicy")
    return below(policies[0].spec, path) if policies else {}


def _config_map(cluster: Dump, name: object) -> Seen | None:
    return next((one for one in cluster.all("ConfigMap") if one.name == name), None)


def _layouts(cluster: Dump, node: SeenNode) -> tuple[str, frozenset[str]] | None:
    """The ConfigMap of layouts that a MIG manager reads, and the names in it; None: not known.

    Without a name in the ClusterPolicy it is made for each node (GPU Operator from v26.3 on).
    """
    name = _policy(cluster, "migManager.config").get("name") or "default-mig-parted-config"
    found = _config_map(cluster, name) or _config_map(cluster, f"{node.name}-mig-config")
    if found is None:
        return None
    names: set[str] = set()
    for document in below(found.raw, "data").values():
        try:
            names |= set(mapping(mapping(read_go(text(document)).data).get("mig-configs")))
        except UnreadableDocumentError:
            return None
    return found.name, frozenset(names)


@of_nodes("mig-config-unknown")
def _unknown_layout(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted, known = node.labels.get(MIG_CONFIG_LABEL, ""), _layouts(patient.cluster, node)
    if not wanted or known is None or wanted in known[1]:
        return None
    shown = ", ".join(sorted(known[1])[:_SHOWN])
    return found_at(node, wanted=wanted, config=known[0], shown=shown)


@of_nodes("mig-gpu-in-use")
def _in_use(patient: Patient, node: SeenNode) -> Sighting | None:
    holders = [pod for pod in patient.cluster.pods_on.get(node.name, ()) if pod.wants_gpus]
    if node.live.state not in {*UNDER_WAY, "failed"} or not holders:
        return None
    names = ", ".join(pod.ref.removeprefix("Pod/") for pod in holders[:3])
    names += f" and {len(holders) - 3} more" if len(holders) > 3 else ""
    signs = (Sign(pod.ref, "spec.nodeName", node.name) for pod in holders[:3])
    return found_at(node, *signs, names=names, again=again(patient, node))


def _plugin_config(patient: Patient) -> tuple[Seen | None, str]:
    """The ConfigMap of the device plugin, and the name in it of nodes without a label."""
    plugin = _policy(patient.cluster, "devicePlugin.config")
    return _config_map(patient.cluster, plugin.get("name")), text(plugin.get("default"))


@of_nodes("mps-with-mig")
def _mps_with_mig(patient: Patient, node: SeenNode) -> Sighting | None:
    found, default = _plugin_config(patient)
    wanted = node.labels.get(DEVICE_PLUGIN_CONFIG_LABEL) or default
    try:
        data = below(found.raw, "data") if found is not None else {}
        config = mapping(read_go(text(data.get(wanted))).data)
    except UnreadableDocumentError:
        return None
    strategy = below(config, "flags").get("migStrategy")
    strategy = strategy or _policy(patient.cluster, "mig").get("strategy")
    cut = "MIG" in node.labels.get(PRODUCT, "") or any("/mig-" in name for name in node.capacity)
    if not below(config, "sharing.mps") or not (cut or strategy == "mixed"):
        return None
    case = "cut" if cut else "mixed"
    return found_at(node, case=case, gpus=node.has_gpus or 1, found=found, wanted=wanted)


@of_nodes("plugin-config-unknown")
def _unknown_config(patient: Patient, node: SeenNode) -> Sighting | None:
    found, _ = _plugin_config(patient)
    wanted = node.labels.get(DEVICE_PLUGIN_CONFIG_LABEL, "")
    names = {} if found is None else below(found.raw, "data")
    if found is None or not wanted or wanted in names:
        return None
    return found_at(node, wanted=wanted, found=found, there=", ".join(sorted(names)[:_SHOWN]))
