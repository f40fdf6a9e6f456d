"""What a Node object says is wrong with it, whether a layout changes or not.

Sources: NVIDIA/k8s-operator-libs 1090aef `pkg/upgrade/consts.go` (states of a driver upgrade) and
`common_manager.go` (ProcessUpgradeFailedNodes: a failed node goes on once its driver pod is in
sync; the state is read from the label); NVIDIA/gpu-operator 04751ec `controllers/state_manager.go`
(labels of operands, `gpu.deploy.operands`, the annotation of automatic upgrades);
kubernetes/kubernetes `pkg/kubelet/cm/devicemanager/manager.go` GetCapacity (capacity counts
unhealthy devices, allocatable does not); kubernetes/autoscaler `cluster-autoscaler/utils/taints`;
kubernetes-sigs/karpenter `pkg/apis/v1/taints.go`; kubernetes/website version skew policy.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpufleet.change.live_node import UNDER_WAY, LiveNode
from gpufleet.findings import Finding, error, info, warning
from gpufleet.fleet.model import Fleet, Pool

UPGRADE = "nvidia.com/gpu-driver-upgrade-state"
UPGRADE_SKIP = "nvidia.com/gpu-driver-upgrade.skip"
UPGRADE_ENABLED = "nvidia.com/gpu-driver-upgrade-enabled"
CORDONED_BEFORE = "nvidia.com/gpu-driver-upgrade.node-initial-state.unschedulable"
_SAFE_LOAD = "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load"
_UPGRADED = frozenset({"", "upgrade-done"})
_OPERANDS = "nvidia.com/gpu.deploy.operands"
_DISCOVERY = "nvidia.com/gpu.deploy.gpu-feature-discovery"
_PRESENT, _PRODUCT = "nvidia.com/gpu.present", "nvidia.com/gpu.product"
_DRIVER = "nvidia.com/cuda.driver-version.full"
_DRIVER_PODS = "app.kubernetes.io/component=nvidia-driver"
_LIBS = "NVIDIA/k8s-operator-libs 1090aef pkg/upgrade"
_OPERATOR = "NVIDIA/gpu-operator 04751ec controllers/state_manager.go"
KUBELET_SKEW = 3
"""Minor versions that a kubelet may be older than the API server (version skew policy)."""

_PASSING: Mapping[str, str] = {
    "node.kubernetes.io/unschedulable": "",
    "node.kubernetes.io/not-ready": "",
    "node.kubernetes.io/unreachable": "",
    "karpenter.sh/unregistered": "the node never registered with Karpenter: look at its log, then "
    "`kubectl delete node {name}`",
    "karpenter.sh/disrupted": "Karpenter is replacing the node; if that was given up, it takes the "
    "taint away itself when its controller runs",
    "ToBeDeletedByClusterAutoscaler": "Cluster Autoscaler was to delete the node and did not: if "
    "its log names no deletion under way, `kubectl taint node {name} "
    "ToBeDeletedByClusterAutoscaler-`",
    "DeletionCandidateOfClusterAutoscaler": "",
    "node.cloudprovider.kubernetes.io/uninitialized": "the cloud controller manager has not seen "
    "the node: look at its log",
}
"""Taints that others set for a time: what is done when they stay; empty: another finding says so,
or they keep no pod away."""


def validate_node(
    fleet: Fleet, pool: Pool, node: LiveNode, promised: Mapping[str, int]
) -> Iterator[Finding]:
    """Everything about one node of a pool."""
    place = f"nodes[{node.name}]"
    namespace = fleet.addons.gpu_operator.namespace
    yield from _ready(place, node)
    yield from _upgrade(place, node, namespace)
    yield from _lost(place, node, promised, _plugin_log(fleet, pool, node))
    yield from _unlabelled(place, pool, node, namespace)
    yield from _cordoned(place, node)
    yield from _taints(place, pool, node)


def validate_nodes(
    fleet: Fleet, nodes: Sequence[LiveNode], pools: Sequence[str]
) -> Iterator[Finding]:
    """What only all nodes together show: versions that differ, and nodes of no pool. `pools` names
    the pool of each node, empty for none."""
    yield from _kubelets(fleet, nodes)
    yield from _strangers(nodes, pools)
    members: dict[str, list[LiveNode]] = {}
    for node, pool in zip(nodes, pools, strict=True):
        if pool:
            members.setdefault(pool, []).append(node)
    kinds: tuple[tuple[str, str, Callable[[LiveNode], str]], ...] = (
        ("node-driver-skew", "driver", lambda one: one.labels.get(_DRIVER, "")),
        ("node-kubelet-skew", "kubelet", lambda one: one.kubelet),
    )
    for pool, some in members.items():
        for code, what, version in kinds:
            by_version: dict[str, list[str]] = {}
            for node in some:
                if version(node):
                    by_version.setdefault(version(node), []).append(node.name)
            if len(by_version) > 1:
                shown = "; ".join(f"{v}: {_some(names)}" for v, names in sorted(by_version.items()))
                yield_fix = (
                    f"kubectl get nodes -L {UPGRADE}, and finish the upgrade of the older ones"
                    if what == "driver"
                    else "finish the roll-out of the older nodes before the next change"
                )
                yield warning(
                    code,
                    f"nodes of {pool}",
                    f"{pool} runs {len(by_version)} versions of the {what}: {shown}",
                    yield_fix,
                    versions={v: sorted(names) for v, names in sorted(by_version.items())},
                )


def is_upgrading(node: LiveNode) -> bool:
    """Whether the GPU Operator is changing the driver."""
    return node.labels.get(UPGRADE, "") not in {*_UPGRADED, "upgrade-failed", "upgrade-required"}


def _ready(place: str, node: LiveNode) -> Iterable[Finding]:
    if node.ready:
        return
    yield error(
        "node-not-ready",
        place,
        f"{node.name} is not Ready: its GPUs serve no pod, and its machine costs its price",
        f"kubectl describe node {node.name}; where a MIG change stopped the kubelet, start it "
        "(`systemctl start kubelet` on the machine), else replace the machine",
        facts=_facts(node, "condition Ready is not True", "kubelet, through the API server"),
    )


def _upgrade(place: str, node: LiveNode, namespace: str) -> Iterable[Finding]:
    state = node.labels.get(UPGRADE, "")
    again = f"kubectl label node {node.name} --overwrite {UPGRADE}=upgrade-required"
    if state == "upgrade-failed":
        yield error(
            "node-driver-upgrade-failed",
            place,
            f"the driver upgrade of {node.name} failed, and the node stays cordoned",
            f"read the log of its driver pod ({_log(namespace, _DRIVER_PODS, node)}), remove the "
            f"cause, then: {again}",
            state=state,
            facts=_facts(node, f"{UPGRADE} is {state}", _LIBS),
        )
    elif state == "upgrade-required":
        yield from _waiting(place, node, namespace)
    elif state not in _UPGRADED:
        waits = (
            " and its driver waits until no pod uses a GPU"
            if _SAFE_LOAD in node.annotations
            else ""
        )
        yield info(
            "node-driver-upgrading",
            place,
            f"the driver of {node.name} is being upgraded ({state}){waits}; change no layout",
            f"if the state stays, look at pods that cannot leave: kubectl get pods -A "
            f"--field-selector spec.nodeName={node.name}",
            state=state,
        )


def _waiting(place: str, node: LiveNode, namespace: str) -> Iterable[Finding]:
    skipped = node.labels.get(UPGRADE_SKIP) == "true"
    off = node.annotations.get(UPGRADE_ENABLED) != "true"
    if not skipped and not off:
        yield info(
            "node-driver-upgrade-waits",
            place,
            f"{node.name} has an older driver and waits for its turn (upgrade-required)",
            "raise driver.upgradePolicy.maxParallelUpgrades, or wait",
        )
        return
    why = (
        f"the label {UPGRADE_SKIP} keeps the upgrade away"
        if skipped
        else f"automatic upgrades are off (no annotation {UPGRADE_ENABLED}=true)"
    )
    fix = (
        f"kubectl label node {node.name} {UPGRADE_SKIP}-"
        if skipped
        else "write addons.gpuOperator.driver.upgradePolicy.autoUpgrade: true, or drain the node "
        f"and delete its driver pod: kubectl delete pod -n {namespace} -l {_DRIVER_PODS} "
        f"--field-selector spec.nodeName={node.name}"
    )
    yield warning(
        "node-driver-upgrade-stuck",
        place,
        f"{node.name} needs a driver upgrade and nothing will start it: {why}",
        fix,
        facts=_facts(node, f"{UPGRADE} is upgrade-required: no action is taken in it", _LIBS),
    )


def _lost(place: str, node: LiveNode, promised: Mapping[str, int], log: str) -> Iterable[Finding]:
    """Fewer devices than the machine of the catalogue gives; none at all is a black hole."""
    if node.state in UNDER_WAY or is_upgrading(node):
        return
    for name, wanted in promised.items():
        found = node.offers.get(name, 0)
        if not 0 < found < wanted:
            continue
        registered = node.capacity.get(name, found)
        if registered >= wanted:
            why = "the device plugin marks the others unhealthy"
            fix = (
                f"kubectl cordon {node.name}; the plugin's log names the Xid: {log}; then drain "
                "the node and reset or replace the GPU"
            )
        else:
            why = f"the device plugin registered {registered}: the driver does not see the others"
            fix = (
                f"kubectl cordon {node.name}, drain it, and compare `nvidia-smi -L` in its driver "
                "pod with the machine; a GPU that fell off the bus needs a reboot, else another "
                "machine"
            )
        yield error(
            "node-gpus-lost",
            place,
            f"{node.name} offers {found} of {wanted} {name}: {why}",
            fix,
            found=found,
            limit=wanted,
            facts=_facts(
                node,
                f"capacity {registered}, allocatable {found}",
                "kubernetes/kubernetes pkg/kubelet/cm/devicemanager/manager.go",
            ),
        )


def _unlabelled(place: str, pool: Pool, node: LiveNode, namespace: str) -> Iterable[Finding]:
    if pool.served_by_platform or pool.gpu.vendor != "nvidia":
        return
    if node.labels.get(_OPERANDS) == "false":
        yield error(
            "node-operands-disabled",
            place,
            f"{node.name} has {_OPERANDS}=false: the GPU Operator removes every operand from it",
            f"kubectl label node {node.name} {_OPERANDS}-",
            facts=_facts(node, f"{_OPERANDS} is false", _OPERATOR),
        )
    elif node.labels.get(_PRESENT) == "true" and _PRODUCT not in node.labels:
        off = node.labels.get(_DISCOVERY) == "false"
        yield error(
            "node-product-label-missing",
            place,
            f"{node.name} has no label {_PRODUCT}: GPU Feature Discovery "
            + ("is kept off the node" if off else "has not run on it, or sees no driver")
            + ", and pods that select the product never go there",
            f"kubectl label node {node.name} {_DISCOVERY}=true --overwrite"
            if off
            else f"{_log(namespace, 'app=gpu-feature-discovery', node)}; without a driver pod "
            "that is Ready it does not start",
            facts=_facts(node, f"{_PRESENT} is true, {_PRODUCT} is missing", _OPERATOR),
        )


def _cordoned(place: str, node: LiveNode) -> Iterable[Finding]:
    state = node.labels.get(UPGRADE, "")
    busy = node.state in UNDER_WAY or state not in _UPGRADED or bool(node.paused)
    if not node.cordoned or busy or node.state == "failed":
        return
    before = CORDONED_BEFORE in node.annotations
    yield warning(
        "node-left-cordoned",
        place,
        f"{node.name} is cordoned and nothing is under way on it: it takes no pod"
        + (" (it was cordoned before its driver upgrade, which left it so)" if before else ""),
        f"kubectl uncordon {node.name}, unless someone keeps it back",
        facts=_facts(node, "spec.unschedulable is true", f"{_LIBS}: {CORDONED_BEFORE}"),
    )


def _taints(place: str, pool: Pool, node: LiveNode) -> Iterable[Finding]:
    known = {taint.key for taint in pool.taints}
    options = pool.spec.karpenter
    starting = set[str]() if options is None else {one.key for one in options.startup_taints}
    for key, effect in node.taints:
        fix = _PASSING.get(key)
        if key in known or fix == "" or effect == "PreferNoSchedule":
            continue
        why = "whoever sets it at the start has not removed it" if key in starting else ""
        yield warning(
            "node-taint-left",
            place,
            f"{node.name} has the taint {key}:{effect}, which {pool.name} does not declare"
            + (f": {why}" if why else "")
            + "; pods without a toleration stay away",
            fix.format(name=node.name)
            if fix is not None
            else f"kubectl taint node {node.name} {key}:{effect}-, or declare it under taints",
            taint=key,
        )


def _kubelets(fleet: Fleet, nodes: Sequence[LiveNode]) -> Iterable[Finding]:
    server = fleet.spec.cluster.kubernetes_version
    wanted = int(server.split(".")[1])
    for node in nodes:
        parts = node.kubelet.lstrip("v").split(".")
        if len(parts) < 2 or not parts[1].isdigit():
            continue
        behind = wanted - int(parts[1])
        if 0 <= behind <= KUBELET_SKEW:
            continue
        yield error(
            "node-kubelet-out-of-range",
            f"nodes[{node.name}]",
            f"{node.name} runs kubelet {node.kubelet}, and the declared API server is {server}: a "
            + (
                "kubelet must not be newer"
                if behind < 0
                else f"kubelet may be {KUBELET_SKEW} minor versions older at most"
            ),
            "upgrade the control plane first" if behind < 0 else "replace the node first",
            found=node.kubelet,
            limit=server,
        )


def _strangers(nodes: Sequence[LiveNode], pools: Sequence[str]) -> Iterable[Finding]:
    names = [
        node.name
        for node, pool in zip(nodes, pools, strict=True)
        if not pool and (any(node.capacity.values()) or node.labels.get(_PRESENT) == "true")
    ]
    if names:
        yield warning(
            "node-of-no-pool",
            "nodes",
            f"{len(names)} nodes with GPUs belong to no pool of the declaration and were not "
            f"judged: {_some(names)}",
            "declare their pool (`ownership: existing` where others make it)",
            nodes=names,
        )


def _plugin_log(fleet: Fleet, pool: Pool, node: LiveNode) -> str:
    plugin = fleet.addons.device_plugin
    if pool.served_by_platform:
        return "the platform's device plugin, in kube-system"
    if plugin.enabled and pool.name in plugin.pools:
        return _log(plugin.namespace, "app.kubernetes.io/name=nvidia-device-plugin", node)
    return _log(fleet.addons.gpu_operator.namespace, "app=nvidia-device-plugin-daemonset", node)


def _log(namespace: str, selector: str, node: LiveNode) -> str:
    """Pods of a DaemonSet on one node; `kubectl logs` has no field selector."""
    return (
        f"kubectl get pods -n {namespace} -l {selector} --field-selector "
        f"spec.nodeName={node.name} -o name | xargs kubectl logs -n {namespace}"
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(sorted(names)[:3]) + more


def _facts(node: LiveNode, fact: str, source: str) -> list[dict[str, str]]:
    return [{"fact": fact, "source": f"node {node.name}; {source}"}]
