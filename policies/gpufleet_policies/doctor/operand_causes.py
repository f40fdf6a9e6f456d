"""Causes in the operands of a node: driver, toolkit, runtime, plugin, discovery, validator.

One operand waits for the one before it, so only the first that fails on a node is a cause.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator

from gpufleet_policies.doctor.cause import Cause, Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.node_causes import promised
from gpufleet_policies.doctor.observed import NO_IMAGE, Node, Pod, Trouble, text
from gpufleet_policies.doctor.operands import Part, kept_by, operands, sets

_OPERANDS = "nvidia.com/gpu.deploy.operands"
_WORKLOAD = "nvidia.com/gpu.workload.config"
_FOR_MACHINES = frozenset({"vm-passthrough", "vm-vgpu"})
_OPERATOR = "NVIDIA/gpu-operator 04751ec controllers/state_manager.go"
_ISSUES = "https://github.com/NVIDIA/gpu-operator/issues/"
_NO_RUNTIME = re.compile(r'no runtime for \\?"(\S+?)\\?" is configured')
_UNRESOLVED = re.compile(r"unresolvable CDI devices? ([\w./-]+)=")
_NO_DEVICE = re.compile(r"No devices found\. Waiting indefinitely")


def log_of(pod: Pod, container: str = "") -> str:
    """The command that shows a pod's log."""
    named = f" -c {container}" if container else ""
    return f"kubectl logs -n {pod.namespace or 'default'} {pod.name}{named} --previous"


def _state(pod: Pod, trouble: Trouble) -> Evidence:
    value = f"{trouble.reason} (container {trouble.container or '?'}, {trouble.restarts} restarts)"
    return Evidence(pod.ref, trouble.place, value)


def _node(patient: Patient, pod: Pod) -> Node | None:
    return patient.cluster.nodes.get(pod.node)


def _failing(
    code: str,
    part: Part,
    title: str,
    fix: Callable[[Pod, Trouble], str],
    *reports: str,
    image: bool | None = None,
) -> Cause:
    """A cause for pods of a part that do not come up, on nodes without one before."""

    @cause(code, title, *reports, sure=Sure.CERTAIN if image else Sure.LIKELY)
    def find(patient: Patient) -> Iterator[Found]:
        for played, pod in operands(patient.cluster):
            trouble = pod.trouble
            if played is not part or trouble is None or f"Node/{pod.node}" in patient.explained:
                continue
            if image is not None and (trouble.reason in NO_IMAGE) is not image:
                continue
            node = _node(patient, pod)
            gpus = 0 if node is None else promised(patient, node)
            what = "its image cannot be pulled" if trouble.reason in NO_IMAGE else trouble.reason
            yield Found(
                pod.ref,
                f"the {part.value} of {pod.node} does not run: {what}",
                fix(pod, trouble),
                (_state(pod, trouble), *_image(patient, pod, trouble)),
                (
                    f"without its {part.value} {pod.node} gives no GPU"
                    if part in _NEEDED
                    else f"{pod.node} lacks what the {part.value} does",
                ),
                explains=(f"Node/{pod.node}",),
                gpus=gpus if part in _NEEDED else 0,
            )

    return find


_NEEDED = frozenset({Part.DRIVER, Part.TOOLKIT, Part.PLUGIN, Part.MPS, Part.DRA})


def _image(patient: Patient, pod: Pod, trouble: Trouble) -> Iterator[Evidence]:
    if trouble.reason not in NO_IMAGE:
        return
    for one in pod.containers:
        if text(one.get("name")) == trouble.container and text(one.get("image")):
            yield Evidence(pod.ref, "spec.containers[].image", text(one.get("image")))
    node = _node(patient, pod)
    system = text(node.status.get("nodeInfo", {}).get("osImage")) if node is not None else ""
    if node is not None and system:
        yield Evidence(node.ref, "status.nodeInfo.osImage", system)


driver_image = _failing(
    "driver-image-missing",
    Part.DRIVER,
    "NVIDIA publishes no driver image for the node's system, or the registry does not give it.",
    lambda pod, _: (
        "use a system that NVIDIA builds drivers for (GPU Operator, platform support), "
        "install the driver in the node image and set driver.enabled=false, or mirror the image"
    ),
    f"{_ISSUES}418",
    f"{_ISSUES}1212",
    f"{_ISSUES}686",
    image=True,
)
driver_pod = _failing(
    "driver-pod-fails",
    Part.DRIVER,
    "The driver container fails: kernel headers, secure boot, a GPU it does not know, or a host "
    "driver beside it.",
    lambda pod, t: f"{log_of(pod, t.container)}; then `dmesg | grep -i nvrm` on the machine",
    f"{_ISSUES}85",
    f"{_ISSUES}1623",
    image=False,
)
toolkit_pod = _failing(
    "toolkit-pod-fails",
    Part.TOOLKIT,
    "The container toolkit fails, so containers get no GPU.",
    lambda pod, t: (
        f"{log_of(pod, t.container)}; the paths of the runtime's configuration and "
        "socket must be those of the node (CONTAINERD_CONFIG, CONTAINERD_SOCKET)"
    ),
    f"{_ISSUES}388",
    f"{_ISSUES}549",
)


@cause("runtime-not-configured")
def runtime(patient: Patient) -> Iterator[Found]:
    said: set[str] = set()
    for pod in (pod for pods in patient.cluster.pods_on.values() for pod in pods):
        node = _node(patient, pod)
        if node is None or node.name in said or node.ref in patient.explained:
            continue
        for event in patient.cluster.events_of(pod):
            found = _NO_RUNTIME.search(event.message)
            if found is None:
                continue
            said.add(node.name)
            yield found_at(node, Evidence(pod.ref, f"events[{event.reason}]", found[0]), a=found[1])
            break


@cause("cdi-device-unresolved")
def unresolved(patient: Patient) -> Iterator[Found]:
    for pod in (pod for pod in patient.cluster.pods if pod.wants_gpus and pod.node):
        told = [event.message for event in patient.cluster.events_of(pod)]
        trouble = pod.trouble
        found = _UNRESOLVED.search(" ".join([trouble.message if trouble else "", *told]))
        if found is None:
            continue
        own = found[1].startswith("k8s.")
        yield found_at(
            pod,
            Evidence(pod.ref, "status.containerStatuses[].state", found[0]),
            explains=(f"held:{pod.ref}",),
            gpus=sum(pod.devices.values()) or 1,
            fix="let the runtime read the folder that the DRA driver writes (/var/run/cdi; cdi_spec_dirs of containerd, kubelet plugin's cdiRoot)"
            if own
            else "leave runtimeClassName out, or write the specification again on the node (`nvidia-ctk cdi generate`), and use a toolkit that names devices by UUID",
            a=found[1],
        )


mps_pod = _failing(
    "mps-daemon-fails",
    Part.MPS,
    "The MPS control daemon fails; the device plugin waits for it and advertises nothing.",
    lambda pod, t: f"{log_of(pod, t.container)}; MPS and MIG do not go together on one GPU",
    "https://github.com/NVIDIA/k8s-device-plugin/blob/v0.17.0/cmd/mps-control-daemon/main.go",
)


@cause("plugin-finds-no-gpu")
def no_gpu(patient: Patient) -> Iterator[Found]:
    for part, pod in operands(patient.cluster):
        node = _node(patient, pod)
        log = patient.cluster.logs.get(pod.name, "")
        found = _NO_DEVICE.search(log)
        if part is not Part.PLUGIN or found is None or node is None:
            continue
        if node.ref in patient.explained:
            continue
        yield found_at(node, Evidence(pod.ref, "log", found[0]))


discovery_pod = _failing(
    "discovery-pod-fails",
    Part.DISCOVERY,
    "GPU Feature Discovery fails: nodes get no labels of product, memory and MIG.",
    lambda pod, t: log_of(pod, t.container),
    f"{_ISSUES}1230",
)
mig_pod = _failing(
    "mig-manager-fails",
    Part.MIG,
    "The MIG manager fails: layouts of the node do not change.",
    lambda pod, t: f"{log_of(pod, t.container)}; its configuration must be valid: gpufleet check",
    f"{_ISSUES}652",
)
validator_pod = _failing(
    "validator-fails",
    Part.VALIDATOR,
    "The validator fails: CUDA does not start. `system not yet initialized` (802) is a fabric "
    "manager that does not run; `insufficient` is a driver older than CUDA needs.",
    lambda pod, t: (
        f"{log_of(pod, t.container)}; on machines with NVSwitches see that "
        "nvidia-fabricmanager has the version of the driver"
    ),
    f"{_ISSUES}1043",
    f"{_ISSUES}1947",
    f"{_ISSUES}176",
)
dra_pod = _failing(
    "dra-driver-fails",
    Part.DRA,
    "The kubelet plugin of the DRA driver fails: the node publishes no devices.",
    lambda pod, t: f"{log_of(pod, t.container)}; feature gates that exclude each other end it",
    "https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/issues/149",
)
# The strategy of MIG is looked at before the plugin: it makes the plugin fail.
plugin_pod = _failing(
    "plugin-pod-fails",
    Part.PLUGIN,
    "The device plugin fails: the node advertises no GPU.",
    lambda pod, t: log_of(pod, t.container),
    "https://github.com/NVIDIA/k8s-device-plugin/issues/253",
)


@cause("node-operands-disabled")
def disabled(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        if node.labels.get(_OPERANDS) != "false":
            continue
        yield found_at(
            node, Evidence(node.ref, f"metadata.labels[{_OPERANDS}]", "false"), a=_OPERANDS
        )


@cause("node-for-virtual-machines")
def machines(patient: Patient) -> Iterator[Found]:
    for node in patient.cluster.nodes.values():
        value = node.labels.get(_WORKLOAD, "")
        if value not in _FOR_MACHINES or any(node.devices.values()):
            continue
        yield found_at(
            node,
            Evidence(node.ref, f"metadata.labels[{_WORKLOAD}]", value),
            a=_WORKLOAD,
            value=value,
        )


@cause("operands-kept-away-by-taint")
def kept_away(patient: Patient) -> Iterator[Found]:
    there: dict[str, set[Part]] = defaultdict(set)
    for part, pod in operands(patient.cluster):
        there[pod.node].add(part)
    for node in patient.cluster.nodes.values():
        if node.ref in patient.explained:
            continue
        for part in Part:
            found = [(one, kept_by(one, node)) for one in sets(patient.cluster, part)]
            kept = next(((one, taint) for one, taint in found if taint is not None), None)
            if kept is None or part in there[node.name] or not _is_meant(node):
                continue
            one, taint = kept
            shown = f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}"
            yield found_at(
                node,
                Evidence(node.ref, "spec.taints", shown),
                Evidence(one.ref, "spec.template.spec.tolerations", "no entry for it"),
                chain=("a node without its device plugin advertises no GPU",)
                if part in _NEEDED
                else (),
                shown=shown,
                one=one,
                part=part,
                a=taint.get("key"),
            )
            break


def _is_meant(node: Node) -> bool:
    """Whether operands are wanted there, as far as labels say: without any they are wanted where a
    taint keeps discovery away as well."""
    labelled = any(key.startswith("nvidia.com/gpu.deploy.") for key in node.labels)
    return (
        node.has_nvidia
        or labelled
        or "gpu" in " ".join(f"{t.get('key')}={t.get('value', '')}" for t in node.taints)
    )


@cause("gpus-advertised-twice")
def twice(patient: Patient) -> Iterator[Found]:
    serving: dict[str, list[Pod]] = defaultdict(list)
    for part, pod in operands(patient.cluster):
        if part in {Part.PLUGIN, Part.DRA}:
            serving[pod.node].append(pod)
    for name, pods in serving.items():
        node = patient.cluster.nodes.get(name)
        owners = {pod.owner if pod.owner[1] else ("Pod", pod.name) for pod in pods}
        if node is None or len(owners) < 2:
            continue
        claimed = [pod for pod in pods if name in patient.cluster.dra_nodes]
        if not claimed and any("kubelet-plugin" in pod.name for pod in pods):
            continue
        yield found_at(
            node,
            *tuple((Evidence(pod.ref, "spec.nodeName", name) for pod in pods)),
            a=len(owners),
            name=name,
            b=", ".join(sorted((owner for _, owner in owners))),
        )


CAUSES = (
    driver_image,
    driver_pod,
    disabled,
    machines,
    toolkit_pod,
    runtime,
    mps_pod,
    dra_pod,
    twice,
    kept_away,
    no_gpu,
    unresolved,
)
LATER = (plugin_pod, mig_pod, discovery_pod, validator_pod)
"""Looked for after layouts, which make them fail."""
