"""Causes in an upgrade of the driver, and versions that do not fit each other.

Sources: NVIDIA/k8s-operator-libs 1090aef `pkg/upgrade/consts.go` (states) and `common_manager.go`
(a failed node goes on once its driver pod is in sync; the state is read from the label);
kubernetes/website, version skew policy.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator

from gpufleet.change.live_node import UPGRADE, UPGRADED
from gpufleet_policies.doctor.cause import Patient, Sighting, Sign, cause, found_at, of_nodes
from gpufleet_policies.doctor.observed import SeenNode

_SKIP = "nvidia.com/gpu-driver-upgrade.skip"
_ENABLED = "nvidia.com/gpu-driver-upgrade-enabled"
_DRIVER = "nvidia.com/cuda.driver-version.full"
_PODS = "-l app.kubernetes.io/component=nvidia-driver --field-selector spec.nodeName="
KUBELET_SKEW = 3
"""Minor versions that a kubelet may be older than the API server (version skew policy)."""


def _state(node: SeenNode) -> Sign:
    return Sign(node.ref, f"metadata.labels[{UPGRADE}]", node.labels.get(UPGRADE, ""))


@of_nodes("node-driver-upgrade-failed")
def _failed(patient: Patient, node: SeenNode) -> Sighting | None:
    return found_at(node, _state(node)) if node.labels.get(UPGRADE) == "upgrade-failed" else None


@of_nodes("node-driver-upgrade-stuck")
def _stuck(patient: Patient, node: SeenNode) -> Sighting | None:
    skipped = node.labels.get(_SKIP) == "true"
    off = node.annotations.get(_ENABLED) != "true"
    if node.labels.get(UPGRADE) != "upgrade-required" or not (skipped or off):
        return None
    if skipped:
        why = f"the label {_SKIP} keeps the upgrade away"
        return found_at(
            node, _state(node), why=why, help=f"kubectl label node {node.name} {_SKIP}-", edit=""
        )
    return found_at(
        node,
        _state(node),
        why=f"automatic upgrades are off (no annotation {_ENABLED}=true)",
        help="turn automatic upgrades on, or drain the node and delete its driver pod: kubectl "
        f"delete pod -n gpu-operator {_PODS}{node.name}",
        edit="addons.gpuOperator.driver.upgradePolicy.autoUpgrade: true",
    )


@of_nodes("node-driver-upgrading")
def _under_way(patient: Patient, node: SeenNode) -> Sighting | None:
    state = node.labels.get(UPGRADE, "")
    if state in {*UPGRADED, "upgrade-failed"}:
        return None
    if state == "upgrade-required":
        turn = "is older and waits for its turn (upgrade-required)"
        more = "raise driver.upgradePolicy.maxParallelUpgrades, or wait"
        return found_at(node, _state(node), state=turn, help=more)
    return found_at(
        node,
        _state(node),
        state=f"is being upgraded ({state}); change no layout",
        help="if the state stays, look at pods that cannot leave: kubectl get pods -A "
        f"--field-selector spec.nodeName={node.name}",
    )


@of_nodes("node-kubelet-out-of-range")
def _kubelet(patient: Patient, node: SeenNode) -> Sighting | None:
    parts = node.live.kubelet.lstrip("v").split(".")
    if patient.fleet is None or len(parts) < 2 or not parts[1].isdigit():
        return None
    server = patient.fleet.spec.cluster.kubernetes_version
    behind = int(server.split(".")[1]) - int(parts[1])
    if 0 <= behind <= KUBELET_SKEW:
        return None
    older = f"a kubelet may be {KUBELET_SKEW} minor versions older at most"
    return found_at(
        node,
        Sign(node.ref, "status.nodeInfo.kubeletVersion", node.live.kubelet),
        server=server,
        limit="a kubelet must not be newer" if behind < 0 else older,
        help="upgrade the control plane first" if behind < 0 else "replace the node first",
        edit=f'cluster.kubernetesVersion: "1.{parts[1]}"' if behind < 0 else "",
    )


@cause("node-versions-mixed")
def _mixed(patient: Patient) -> Iterator[Sighting]:
    kinds: tuple[tuple[str, str, Callable[[SeenNode], str]], ...] = (
        ("driver", f"metadata.labels[{_DRIVER}]", lambda one: one.labels.get(_DRIVER, "")),
        ("kubelet", "status.nodeInfo.kubeletVersion", lambda one: one.live.kubelet),
    )
    for pool, nodes in patient.members:
        for what, field, version in kinds:
            found: dict[str, list[SeenNode]] = defaultdict(list)
            for node in nodes:
                found[version(node)].append(node)
            found.pop("", None)
            if len(found) > 1:
                yield found_at(
                    f"pool {pool.name}",
                    *(Sign(on[0].ref, field, v) for v, on in sorted(found.items())),
                    pool=pool.name,
                    count=len(found),
                    what=what,
                    found="; ".join(f"{v} on {len(on)}" for v, on in sorted(found.items())),
                )


CAUSES = (_failed, _stuck, _under_way, _kubelet, _mixed)
