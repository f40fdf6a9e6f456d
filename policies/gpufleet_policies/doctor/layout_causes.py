"""Causes in layouts of MIG and configurations of the device plugin.

Sources: NVIDIA/mig-parted v0.15.0 `cmd/nvidia-mig-manager` (label, state, paused operands),
NVIDIA/k8s-device-plugin `internal/rm`, `cmd/config-manager` (label, ConfigMap, fallback).
"""

from collections.abc import Iterator, Mapping

from gpufleet.change.live_node import DEPLOY, PAUSED, STATE_LABEL, UNDER_WAY
from gpufleet.documents.limits import UnreadableDocumentError
from gpufleet.documents.reading import read_go
from gpufleet.documents.shapes import mapping
from gpufleet.findings import Severity
from gpufleet.fleet.config_names import (
    ALL_DISABLED,
    DEVICE_PLUGIN_CONFIG_LABEL,
    MIG_CONFIG_LABEL,
    POOL_LABEL,
)
from gpufleet_policies.doctor import operand_causes
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, Sure, cause
from gpufleet_policies.doctor.node_causes import promised
from gpufleet_policies.doctor.observed import PRODUCT, Cluster, Node, Seen, text

_ISSUES = "https://github.com/NVIDIA/gpu-operator/issues/"
_STRATEGY = "nvidia.com/mig.strategy"
_DEFAULT_CONFIG = "default-mig-parted-config"


def label(node: Node, key: str) -> Evidence:
    """A label of a node."""
    return Evidence(node.ref, f"metadata.labels[{key}]", node.labels.get(key, "not there"))


def _policy(cluster: Cluster) -> Mapping[str, object]:
    return next((one.spec for one in cluster.all("ClusterPolicy")), {})


def _config_map(cluster: Cluster, name: str) -> Seen | None:
    return next((one for one in cluster.all("ConfigMap") if one.name == name), None)


def _layouts(cluster: Cluster) -> tuple[str, frozenset[str]] | None:
    """The ConfigMap of layouts that the MIG manager reads, and the names in it; None: not known."""
    manager = mapping(mapping(_policy(cluster).get("migManager")).get("config"))
    name = text(manager.get("name")) or _DEFAULT_CONFIG
    found = _config_map(cluster, name)
    if found is None:
        return None
    names: set[str] = set()
    for document in mapping(found.raw.get("data")).values():
        try:
            names |= set(mapping(mapping(read_go(text(document)).data).get("mig-configs")))
        except UnreadableDocumentError:
            return None
    return name, frozenset(names)


def _again(patient: Patient, node: Node) -> str:
    """Commands that make mig-manager act once more."""
    wanted = node.labels.get(MIG_CONFIG_LABEL, ALL_DISABLED)
    before = None
    if patient.fleet is not None:
        for pool in patient.fleet.pools:
            if pool.name == node.labels.get(POOL_LABEL) and pool.previous is not None:
                before = pool.previous.labels.get(MIG_CONFIG_LABEL)
    other = before if before not in {None, wanted} else ALL_DISABLED
    if other == wanted:
        return "restart the mig-manager pod of the node, then set the label again"
    return (
        f"kubectl label node {node.name} --overwrite {MIG_CONFIG_LABEL}={other}, wait for "
        f"{STATE_LABEL}=success, then set it to {wanted} again"
    )


@cause(
    "mig-config-unknown",
    "The label of a node names a layout that is in no configuration of the MIG manager.",
    "https://github.com/NVIDIA/mig-parted/issues/100",
)
def unknown_layout(patient: Patient) -> Iterator[Found]:
    known = _layouts(patient.cluster)
    if known is None:
        return
    config, names = known
    for node in patient.cluster.nodes.values():
        wanted = node.labels.get(MIG_CONFIG_LABEL, "")
        if not wanted or wanted in names:
            continue
        shown = ", ".join(sorted(names)[:6])
        yield Found(
            node.ref,
            f"{node.name} asks for the layout {wanted}, which {config} does not have",
            f"use one of {shown}: kubectl label node {node.name} --overwrite "
            f"{MIG_CONFIG_LABEL}=NAME; or add {wanted} to {config}",
            (label(node, MIG_CONFIG_LABEL), label(node, STATE_LABEL)),
            ("mig-manager fails before it changes anything",),
            gpus=promised(patient, node),
        )


@cause(
    "mig-gpu-in-use",
    "A layout cannot be applied while pods hold the GPUs of the node.",
    f"{_ISSUES}2376",
    "https://github.com/NVIDIA/mig-parted/issues/157",
    sure=Sure.LIKELY,
)
def in_use(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        state = node.live.state
        if node.ref in patient.explained or not (state == "failed" or state in UNDER_WAY):
            continue
        holders = [pod for pod in patient.cluster.pods_on.get(node.name, ()) if pod.wants_gpus]
        if not holders:
            continue
        names = ", ".join(pod.ref.removeprefix("Pod/") for pod in holders[:3])
        more = f" and {len(holders) - 3} more" if len(holders) > 3 else ""
        yield Found(
            node.ref,
            f"the layout {node.labels.get(MIG_CONFIG_LABEL)} of {node.name} is not applied "
            f"({state}): pods hold its GPUs: {names}{more}",
            f"kubectl cordon {node.name}, move these pods, then: {_again(patient, node)}",
            (
                label(node, STATE_LABEL),
                *(Evidence(pod.ref, "spec.nodeName", node.name) for pod in holders[:3]),
            ),
            ("mig-manager must reset a GPU that no process uses",),
            gpus=promised(patient, node),
        )


@cause(
    "node-paused-for-change",
    "Operands of a node stay paused after a MIG change that ended.",
    f"{_ISSUES}2833",
    "https://github.com/NVIDIA/mig-parted/pull/485",
)
def paused(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        live = node.live
        if not live.paused or live.state in UNDER_WAY or node.ref in patient.explained:
            continue
        yield Found(
            node.ref,
            f"{', '.join(live.paused)} of {node.name} are paused for a MIG change and the state is "
            f"`{live.state or 'not set'}`: nothing will start them again",
            _again(patient, node),
            (
                Evidence(node.ref, f"metadata.labels[{DEPLOY}{live.paused[0]}]", PAUSED),
                label(node, STATE_LABEL),
            ),
            (
                "mig-manager gives the operands back when it ends; up to v0.15.0 not when they "
                "did not stop in time, nor when it was killed",
                "then it waits for another value of the label, which nothing writes",
            ),
            gpus=promised(patient, node),
        )


@cause(
    "node-change-failed",
    "The MIG manager could not apply a layout, and does not try again under the same name.",
    f"{_ISSUES}603",
    "NVIDIA/mig-parted v0.15.0 cmd/nvidia-mig-manager",
)
def failed(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.live.state != "failed" or node.ref in patient.explained:
            continue
        yield Found(
            node.ref,
            f"mig-manager could not apply {node.labels.get(MIG_CONFIG_LABEL)} on {node.name}, and "
            "does not try again under the same name",
            "empty the node (its log says which GPU was in use or could not be reset; some GPUs "
            f"need a reboot), then: {_again(patient, node)}",
            (label(node, MIG_CONFIG_LABEL), label(node, STATE_LABEL)),
            (
                "it fails where a process holds a GPU, where a reset is forbidden, and where a "
                "profile does not fit",
            ),
            gpus=promised(patient, node),
        )


@cause(
    "node-maybe-paused-for-good",
    "A MIG change is under way; if that lasts, the MIG manager has given up.",
    f"{_ISSUES}2833",
    sure=Sure.POSSIBLE,
    severity=Severity.INFO,
)
def under_way(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.live.state not in UNDER_WAY or node.ref in patient.explained:
            continue
        cordon = "" if node.live.cordoned else f"kubectl cordon {node.name} until it is done; "
        yield Found(
            node.ref,
            f"the layout of {node.name} is being changed ({node.live.state})",
            f"{cordon}if it lasts longer than a few minutes: {_again(patient, node)}",
            (label(node, STATE_LABEL),),
            ("pods that fit its other resources can be bound to it, and make the change fail",)
            if cordon
            else (),
        )


@cause(
    "mig-strategy-mismatch",
    "The MIG strategy does not fit the instances of a node, so the device plugin refuses it.",
    f"{_ISSUES}460",
    f"{_ISSUES}132",
    "https://github.com/NVIDIA/k8s-device-plugin/issues/253",
)
def strategy(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        product = node.labels.get(PRODUCT, "")
        if "MIG-INVALID" not in product or node.ref in patient.explained:
            continue
        given = node.labels.get(_STRATEGY, "single")
        yield Found(
            node.ref,
            f"{node.name} has MIG instances of several sizes, or MIG on without any, and the "
            f"strategy is {given}: the device plugin refuses the node",
            "set mig.strategy=mixed in the GPU Operator, or give every GPU the same layout: "
            f"kubectl label node {node.name} --overwrite {MIG_CONFIG_LABEL}=all-1g.10gb (or "
            "all-disabled)",
            (label(node, PRODUCT), label(node, _STRATEGY), label(node, MIG_CONFIG_LABEL)),
            ("under `single` all GPUs must have MIG instances of one size",),
            gpus=promised(patient, node) or 1,
            declared="sharing.mig.strategy: mixed",
        )


@cause(
    "plugin-config-unknown",
    "The label of a node names a configuration of the device plugin that is not there.",
    "NVIDIA/k8s-device-plugin cmd/config-manager/main.go",
)
def unknown_config(patient: Patient) -> Iterator[Found]:
    plugin = mapping(mapping(_policy(patient.cluster).get("devicePlugin")).get("config"))
    found = _config_map(patient.cluster, text(plugin.get("name")))
    if found is None:
        return
    names = mapping(found.raw.get("data"))
    for node in patient.cluster.nodes.values():
        wanted = node.labels.get(DEVICE_PLUGIN_CONFIG_LABEL, "")
        if not wanted or wanted in names or node.ref in patient.explained:
            continue
        yield Found(
            node.ref,
            f"{node.name} asks for the device plugin's configuration {wanted}, which {found.name} "
            "does not have",
            f"kubectl label node {node.name} --overwrite {DEVICE_PLUGIN_CONFIG_LABEL}=NAME, one of "
            f"{', '.join(sorted(names)[:6])}; or add {wanted} to {found.name}",
            (
                label(node, DEVICE_PLUGIN_CONFIG_LABEL),
                Evidence(found.ref, "data", ", ".join(sorted(names)[:6])),
            ),
            ("its config manager waits for the name, and the plugin with it",),
            gpus=promised(patient, node),
        )


CAUSES = (
    strategy,
    unknown_layout,
    in_use,
    paused,
    failed,
    under_way,
    unknown_config,
    *operand_causes.LATER,
)
