"""Causes in layouts of MIG and configurations of the device plugin.

Sources: NVIDIA/mig-parted v0.15.0 `cmd/nvidia-mig-manager` (label, state, paused operands),
NVIDIA/k8s-device-plugin `internal/rm`, `cmd/config-manager` (label, ConfigMap, fallback).
"""

from collections.abc import Mapping

from gpufleet.change.live_node import DEPLOY, PAUSED, STATE_LABEL, UNDER_WAY
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import mapping
from gpufleet.fleet.config_names import ALL_DISABLED, DEVICE_PLUGIN_CONFIG_LABEL, MIG_CONFIG_LABEL
from gpufleet_policies.doctor import operand_causes
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, found_at, of_nodes
from gpufleet_policies.doctor.observed import PRODUCT, Seen, SeenNode, text
from gpufleet_policies.doctor.snapshot import Dump

_STRATEGY = "nvidia.com/mig.strategy"
_DEFAULT_CONFIG = "default-mig-parted-config"
_SHOWN = 6
"""Names of configurations that a message lists."""


def label(node: SeenNode, key: str) -> Sign:
    """A label of a node."""
    return Sign(node.ref, f"metadata.labels[{key}]", node.labels.get(key, "not there"))


def _policy(cluster: Dump) -> Mapping[str, object]:
    return next((one.spec for one in cluster.all("ClusterPolicy")), dict[str, object]())


def _config_map(cluster: Dump, name: str) -> Seen | None:
    return next((one for one in cluster.all("ConfigMap") if one.name == name), None)


def _layouts(cluster: Dump, node: SeenNode) -> tuple[str, frozenset[str]] | None:
    """The ConfigMap of layouts that a MIG manager reads, and the names in it; None: not known.

    Without a name in the ClusterPolicy it is made for each node (GPU Operator from v26.3 on).
    """
    manager = mapping(mapping(_policy(cluster).get("migManager")).get("config"))
    name = text(manager.get("name")) or _DEFAULT_CONFIG
    found = _config_map(cluster, name) or _config_map(cluster, f"{node.name}-mig-config")
    if found is None:
        return None
    names: set[str] = set()
    for document in mapping(found.raw.get("data")).values():
        try:
            names |= set(mapping(mapping(read_go(text(document)).data).get("mig-configs")))
        except UnreadableDocumentError:
            return None
    return found.name, frozenset(names)


def _again(patient: Patient, node: SeenNode) -> str:
    """Commands that make mig-manager act once more."""
    wanted, pool = node.labels.get(MIG_CONFIG_LABEL, ALL_DISABLED), patient.pool(node)
    previous = None if pool is None else pool.previous
    before = None if previous is None else previous.labels.get(MIG_CONFIG_LABEL)
    other = before if before not in {None, wanted} else ALL_DISABLED
    if other == wanted:
        return "restart the mig-manager pod of the node, then set the label again"
    return (
        f"kubectl label node {node.name} --overwrite {MIG_CONFIG_LABEL}={other}, wait for "
        f"{STATE_LABEL}=success, then set it to {wanted} again"
    )


@of_nodes("mig-config-unknown")
def _unknown_layout(patient: Patient, node: SeenNode) -> Sighting | None:
    wanted, known = node.labels.get(MIG_CONFIG_LABEL, ""), _layouts(patient.cluster, node)
    if not wanted or known is None or wanted in known[1]:
        return None
    shown = ", ".join(sorted(known[1])[:_SHOWN])
    evidence = label(node, MIG_CONFIG_LABEL), label(node, STATE_LABEL)
    return found_at(node, *evidence, wanted=wanted, config=known[0], shown=shown)


@of_nodes("mig-gpu-in-use")
def _in_use(patient: Patient, node: SeenNode) -> Sighting | None:
    holders = [pod for pod in patient.cluster.pods_on.get(node.name, ()) if pod.wants_gpus]
    if node.live.state not in {*UNDER_WAY, "failed"} or not holders:
        return None
    names = ", ".join(pod.ref.removeprefix("Pod/") for pod in holders[:3])
    return found_at(
        node,
        label(node, STATE_LABEL),
        *(Sign(pod.ref, "spec.nodeName", node.name) for pod in holders[:3]),
        layout=node.labels.get(MIG_CONFIG_LABEL),
        names=names + (f" and {len(holders) - 3} more" if len(holders) > 3 else ""),
        again=_again(patient, node),
    )


@of_nodes("node-paused-for-change")
def _paused(patient: Patient, node: SeenNode) -> Sighting | None:
    live = node.live
    if not live.paused or live.state in UNDER_WAY:
        return None
    return found_at(
        node,
        Sign(node.ref, f"metadata.labels[{DEPLOY}{live.paused[0]}]", PAUSED),
        label(node, STATE_LABEL),
        paused=", ".join(live.paused),
        state=live.state or "not set",
        again=_again(patient, node),
    )


@of_nodes("node-change-failed")
def _failed(patient: Patient, node: SeenNode) -> Sighting | None:
    if node.live.state != "failed":
        return None
    evidence = label(node, MIG_CONFIG_LABEL), label(node, STATE_LABEL)
    layout = node.labels.get(MIG_CONFIG_LABEL)
    return found_at(node, *evidence, layout=layout, again=_again(patient, node))


@of_nodes("node-maybe-paused-for-good")
def _under_way(patient: Patient, node: SeenNode) -> Sighting | None:
    if node.live.state not in UNDER_WAY:
        return None
    cordon = "" if node.live.cordoned else f"kubectl cordon {node.name} until it is done; "
    return found_at(node, label(node, STATE_LABEL), cordon=cordon, again=_again(patient, node))


@of_nodes("mig-strategy-mismatch")
def _mismatch(patient: Patient, node: SeenNode) -> Sighting | None:
    if "MIG-INVALID" not in node.labels.get(PRODUCT, ""):
        return None
    evidence = label(node, PRODUCT), label(node, _STRATEGY), label(node, MIG_CONFIG_LABEL)
    gpus = node.has_gpus or 1
    return found_at(node, *evidence, gpus=gpus, given=node.labels.get(_STRATEGY, "single"))


def _plugin_config(patient: Patient) -> tuple[Seen | None, str]:
    """The ConfigMap of the device plugin, and the name in it of nodes without a label."""
    plugin = mapping(mapping(_policy(patient.cluster).get("devicePlugin")).get("config"))
    return _config_map(patient.cluster, text(plugin.get("name"))), text(plugin.get("default"))


@of_nodes("mps-with-mig")
def _mps_with_mig(patient: Patient, node: SeenNode) -> Sighting | None:
    found, default = _plugin_config(patient)
    wanted = node.labels.get(DEVICE_PLUGIN_CONFIG_LABEL) or default
    if found is None:
        return None
    try:
        config = mapping(read_go(text(mapping(found.raw.get("data")).get(wanted))).data)
    except UnreadableDocumentError:
        return None
    flags, policy = mapping(config.get("flags")), mapping(_policy(patient.cluster).get("mig"))
    strategy = text(flags.get("migStrategy")) or text(policy.get("strategy"))
    cut = "MIG" in node.labels.get(PRODUCT, "") or any("/mig-" in name for name in node.capacity)
    if not mapping(config.get("sharing")).get("mps") or not (cut or strategy == "mixed"):
        return None
    shares = Sign(found.ref, f"data[{wanted}]", "sharing.mps")
    evidence = (shares, label(node, _STRATEGY), label(node, MIG_CONFIG_LABEL))
    why = "some of its GPUs are cut" if cut else "the MIG strategy is mixed"
    return found_at(node, *evidence, gpus=node.has_gpus or 1, wanted=wanted, why=why)


@of_nodes("plugin-config-unknown")
def _unknown_config(patient: Patient, node: SeenNode) -> Sighting | None:
    found, _ = _plugin_config(patient)
    wanted = node.labels.get(DEVICE_PLUGIN_CONFIG_LABEL, "")
    if found is None or not wanted or wanted in mapping(found.raw.get("data")):
        return None
    there = ", ".join(sorted(mapping(found.raw.get("data")))[:_SHOWN])
    return found_at(
        node,
        label(node, DEVICE_PLUGIN_CONFIG_LABEL),
        Sign(found.ref, "data", there),
        wanted=wanted,
        found=found,
        there=there,
    )


CAUSES = (
    *(_mps_with_mig, _mismatch, _unknown_layout, _in_use, _paused, _failed, _under_way),
    _unknown_config,
    *operand_causes.LATER,
)
