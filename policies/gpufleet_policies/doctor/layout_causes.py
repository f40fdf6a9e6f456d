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
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, Sure, cause
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


@cause("mig-config-unknown")
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
        yield found_at(
            node,
            label(node, MIG_CONFIG_LABEL),
            label(node, STATE_LABEL),
            wanted=wanted,
            config=config,
            shown=shown,
            a=MIG_CONFIG_LABEL,
        )


@cause("mig-gpu-in-use")
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
        yield found_at(
            node,
            label(node, STATE_LABEL),
            *(Evidence(pod.ref, "spec.nodeName", node.name) for pod in holders[:3]),
            a=node.labels.get(MIG_CONFIG_LABEL),
            state=state,
            names=names,
            more=more,
            b=_again(patient, node),
        )


@cause("node-paused-for-change")
def paused(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        live = node.live
        if not live.paused or live.state in UNDER_WAY or node.ref in patient.explained:
            continue
        yield found_at(
            node,
            Evidence(node.ref, f"metadata.labels[{DEPLOY}{live.paused[0]}]", PAUSED),
            label(node, STATE_LABEL),
            fix=_again(patient, node),
            a=", ".join(live.paused),
            b=live.state or "not set",
        )


@cause("node-change-failed")
def failed(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.live.state != "failed" or node.ref in patient.explained:
            continue
        yield found_at(
            node,
            label(node, MIG_CONFIG_LABEL),
            label(node, STATE_LABEL),
            a=node.labels.get(MIG_CONFIG_LABEL),
            b=_again(patient, node),
        )


@cause("node-maybe-paused-for-good")
def under_way(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.live.state not in UNDER_WAY or node.ref in patient.explained:
            continue
        cordon = "" if node.live.cordoned else f"kubectl cordon {node.name} until it is done; "
        yield found_at(
            node,
            label(node, STATE_LABEL),
            chain=(
                "pods that fit its other resources can be bound to it, and make the change fail",
            )
            if cordon
            else (),
            cordon=cordon,
            a=_again(patient, node),
        )


@cause("mig-strategy-mismatch")
def strategy(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        product = node.labels.get(PRODUCT, "")
        if "MIG-INVALID" not in product or node.ref in patient.explained:
            continue
        given = node.labels.get(_STRATEGY, "single")
        yield found_at(
            node,
            label(node, PRODUCT),
            label(node, _STRATEGY),
            label(node, MIG_CONFIG_LABEL),
            gpus=promised(patient, node) or 1,
            given=given,
            a=MIG_CONFIG_LABEL,
        )


@cause("plugin-config-unknown")
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
        yield found_at(
            node,
            label(node, DEVICE_PLUGIN_CONFIG_LABEL),
            Evidence(found.ref, "data", ", ".join(sorted(names)[:6])),
            wanted=wanted,
            found=found,
            a=DEVICE_PLUGIN_CONFIG_LABEL,
            b=", ".join(sorted(names)[:6]),
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
