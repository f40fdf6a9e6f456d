"""Causes in an upgrade of the driver, and versions that do not fit each other.

Sources: NVIDIA/k8s-operator-libs 1090aef `pkg/upgrade/consts.go` (states) and `common_manager.go`
(a failed node goes on once its driver pod is in sync; the state is read from the label);
kubernetes/website, version skew policy.
"""

from collections.abc import Callable, Iterator

from gpufleet.change.live_node import UPGRADE, UPGRADED
from gpufleet.findings import Severity
from gpufleet.fleet.config_names import POOL_LABEL
from gpufleet_policies.doctor.cause import Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.node_causes import promised
from gpufleet_policies.doctor.observed import Node, text

_SKIP = "nvidia.com/gpu-driver-upgrade.skip"
_ENABLED = "nvidia.com/gpu-driver-upgrade-enabled"
_DRIVER = "nvidia.com/cuda.driver-version.full"
_SOURCE = "NVIDIA/k8s-operator-libs 1090aef pkg/upgrade/consts.go"
_SKEW = "https://kubernetes.io/releases/version-skew-policy/"
KUBELET_SKEW = 3
"""Minor versions that a kubelet may be older than the API server (version skew policy)."""


def _state(node: Node) -> Evidence:
    return Evidence(node.ref, f"metadata.labels[{UPGRADE}]", node.labels.get(UPGRADE, ""))


@cause("node-driver-upgrade-failed")
def failed(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.labels.get(UPGRADE) != "upgrade-failed":
            continue
        yield found_at(node, _state(node), a=UPGRADE)


@cause("node-driver-upgrade-stuck")
def stuck(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        skipped = node.labels.get(_SKIP) == "true"
        off = node.annotations.get(_ENABLED) != "true"
        if node.labels.get(UPGRADE) != "upgrade-required" or not (skipped or off):
            continue
        why = (
            f"the label {_SKIP} keeps the upgrade away"
            if skipped
            else f"automatic upgrades are off (no annotation {_ENABLED}=true)"
        )
        yield found_at(
            node,
            _state(node),
            fix=f"kubectl label node {node.name} {_SKIP}-"
            if skipped
            else f"turn automatic upgrades on, or drain the node and delete its driver pod: kubectl delete pod -n gpu-operator -l app.kubernetes.io/component=nvidia-driver --field-selector spec.nodeName={node.name}",
            declared="" if skipped else "addons.gpuOperator.driver.upgradePolicy.autoUpgrade: true",
            why=why,
        )


@cause("node-driver-upgrading")
def under_way(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        state = node.labels.get(UPGRADE, "")
        if state in {*UPGRADED, "upgrade-failed"} or node.ref in patient.explained:
            continue
        waits = state == "upgrade-required"
        yield found_at(
            node,
            _state(node),
            message=f"{node.name} has an older driver and waits for its turn ({state})"
            if waits
            else f"the driver of {node.name} is being upgraded ({state}); change no layout",
            fix="raise driver.upgradePolicy.maxParallelUpgrades, or wait"
            if waits
            else f"if the state stays, look at pods that cannot leave: kubectl get pods -A --field-selector spec.nodeName={node.name}",
        )


@cause("node-kubelet-out-of-range")
def kubelets(patient: Patient) -> Iterator[Found]:
    if patient.fleet is None:
        return
    server = patient.fleet.spec.cluster.kubernetes_version
    wanted = int(server.split(".")[1])
    for node in patient.cluster.nodes.values():
        parts = node.live.kubelet.lstrip("v").split(".")
        if len(parts) < 2 or not parts[1].isdigit():
            continue
        behind = wanted - int(parts[1])
        if 0 <= behind <= KUBELET_SKEW:
            continue
        limit = (
            "a kubelet must not be newer"
            if behind < 0
            else f"a kubelet may be {KUBELET_SKEW} minor versions older at most"
        )
        yield found_at(
            node,
            Evidence(node.ref, "status.nodeInfo.kubeletVersion", node.live.kubelet),
            fix="upgrade the control plane first" if behind < 0 else "replace the node first",
            declared=f'cluster.kubernetesVersion: "1.{parts[1]}"' if behind < 0 else "",
            server=server,
            limit=limit,
        )


@cause("node-versions-mixed")
def mixed(patient: Patient) -> Iterator[Found]:
    if patient.fleet is None:
        return
    members: dict[str, list[Node]] = {pool.name: [] for pool in patient.fleet.pools}
    for node in patient.cluster.nodes.values():
        members.get(node.labels.get(POOL_LABEL, ""), []).append(node)
    kinds: tuple[tuple[str, str, Callable[[Node], str]], ...] = (
        ("driver", f"metadata.labels[{_DRIVER}]", lambda one: one.labels.get(_DRIVER, "")),
        ("kubelet", "status.nodeInfo.kubeletVersion", lambda one: one.live.kubelet),
    )
    for pool, nodes in members.items():
        for what, field, version in kinds:
            found: dict[str, list[Node]] = {}
            for node in nodes:
                if text(version(node)):
                    found.setdefault(version(node), []).append(node)
            if len(found) > 1:
                yield found_at(
                    f"pool {pool}",
                    *tuple((Evidence(on[0].ref, field, v) for v, on in sorted(found.items()))),
                    pool=pool,
                    a=len(found),
                    what=what,
                    b="; ".join((f"{v} on {len(on)}" for v, on in sorted(found.items()))),
                )


CAUSES = (failed, stuck, under_way, kubelets, mixed)
