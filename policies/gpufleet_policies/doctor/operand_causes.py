"""Causes in the operands of a node: driver, toolkit, runtime, plugin, discovery, validator.

One operand waits for the one before it, so only the first that fails on a node is a cause.
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from gpufleet.documents.shapes import mapping
from gpufleet_policies.doctor.cause import (
    Cause,
    Patient,
    Sighting,
    Sign,
    cause,
    found_at,
    of_nodes,
)
from gpufleet_policies.doctor.observed import NO_IMAGE, SeenNode, SeenPod, text
from gpufleet_policies.doctor.operands import Part, kept_by, operands, sets

_OPERANDS = "nvidia.com/gpu.deploy.operands"
_WORKLOAD = "nvidia.com/gpu.workload.config"
_FOR_MACHINES = frozenset({"vm-passthrough", "vm-vgpu"})
_NO_RUNTIME = re.compile(r'no runtime for \\?"(\S+?)\\?" is configured')
_UNRESOLVED = re.compile(r"unresolvable CDI devices? ([\w./-]+)=")
_NO_DEVICE = re.compile(r"No devices found\. Waiting indefinitely")
_NEEDED = frozenset({Part.DRIVER, Part.TOOLKIT, Part.PLUGIN, Part.MPS, Part.DRA})
"""Parts without which a node gives no GPU."""


def _failing(code: str, part: Part, *, image: bool | None = None) -> Cause:
    """A cause of pods of a part that do not come up, on nodes where nothing before it fails.

    `image`: whether it is about images that cannot be pulled; None: about both.
    """

    def find(patient: Patient) -> Iterator[Sighting]:
        for played, pod in operands(patient.cluster):
            trouble, node = pod.trouble, patient.cluster.nodes.get(pod.node)
            if played is not part or trouble is None or f"Node/{pod.node}" in patient.explained:
                continue
            if image is not None and (trouble.reason in NO_IMAGE) is not image:
                continue
            said = f"{trouble.reason} ({trouble.restarts} restarts)"
            shown = [Sign(pod.ref, trouble.place, said)]
            if trouble.reason in NO_IMAGE:
                shown.append(Sign(pod.ref, "spec.containers[].image", ", ".join(pod.images)))
                info = mapping(None if node is None else node.status.get("nodeInfo"))
                system = text(info.get("osImage")) or "not known"
                shown.append(Sign(f"Node/{pod.node}", "status.nodeInfo.osImage", system))
            log = f"kubectl logs -n {pod.namespace} {pod.name} -c {trouble.container} --previous"
            yield found_at(
                pod,
                *shown,
                gpus=0 if node is None or part not in _NEEDED else node.has_gpus,
                explains=(f"Node/{pod.node}",),
                part=part.value,
                reason="its image cannot be pulled"
                if trouble.reason in NO_IMAGE
                else trouble.reason,
                log=log,
            )

    return cause(code)(find)


@cause("runtime-not-configured")
def _runtime(patient: Patient) -> Iterator[Sighting]:
    for pod in (pod for pods in patient.cluster.pods_on.values() for pod in pods):
        node = patient.cluster.nodes.get(pod.node)
        for event in patient.cluster.events_of(pod):
            found = _NO_RUNTIME.search(event.message)
            if found is not None and node is not None and node.ref not in patient.explained:
                shown = Sign(pod.ref, f"events[{event.reason}]", found[0])
                yield found_at(node, shown, handler=found[1])


@cause("cdi-device-unresolved")
def _unresolved(patient: Patient) -> Iterator[Sighting]:
    for pod in (pod for pod in patient.cluster.pods if pod.wants_gpus and pod.node):
        found = _UNRESOLVED.search(patient.cluster.said_of(pod))
        if found is None:
            continue
        yield found_at(
            pod,
            Sign(pod.ref, "status.containerStatuses[].state", found[0]),
            explains=(f"held:{pod.ref}",),
            kind=found[1],
            help="let the runtime read the folder that the DRA driver writes (/var/run/cdi; "
            "cdi_spec_dirs of containerd, cdiRoot of the kubelet plugin)"
            if found[1].startswith("k8s.")
            else "leave runtimeClassName out, or write the specification again on the node "
            "(`nvidia-ctk cdi generate`), and use a toolkit that names devices by UUID",
        )


@of_nodes("plugin-finds-no-gpu")
def _no_gpu(patient: Patient, node: SeenNode) -> Sighting | None:
    for part, pod in operands(patient.cluster, node.name):
        found = _NO_DEVICE.search(patient.cluster.logs.get(pod.name, ""))
        if part is Part.PLUGIN and found is not None:
            return found_at(node, Sign(pod.ref, "log", found[0]))
    return None


@of_nodes("node-operands-disabled")
def _disabled(patient: Patient, node: SeenNode) -> Sighting | None:
    if node.labels.get(_OPERANDS) != "false":
        return None
    return found_at(node, Sign(node.ref, f"metadata.labels[{_OPERANDS}]", "false"))


@of_nodes("node-for-virtual-machines")
def _machines(patient: Patient, node: SeenNode) -> Sighting | None:
    value = node.labels.get(_WORKLOAD, "")
    if value not in _FOR_MACHINES or any(node.devices.values()):
        return None
    return found_at(node, Sign(node.ref, f"metadata.labels[{_WORKLOAD}]", value), value=value)


@cause("operands-kept-away-by-taint")
def _kept_away(patient: Patient) -> Iterator[Sighting]:
    for node in patient.cluster.nodes.values():
        meant = node.has_nvidia or any(
            "gpu" in f"{t.get('key')}={t.get('value')}" for t in node.taints
        )
        if node.ref in patient.explained or not meant:
            continue
        there = {part for part, _ in operands(patient.cluster, node.name)}
        for one in (
            one for part in Part if part not in there for one in sets(patient.cluster, part)
        ):
            taint = kept_by(one, node)
            if taint is None:
                continue
            shown = f"{taint.get('key')}={taint.get('value', '')}:{taint.get('effect')}"
            yield found_at(
                node,
                Sign(node.ref, "spec.taints", shown),
                Sign(one.ref, "spec.template.spec.tolerations", "no entry for it"),
                shown=shown,
                one=one,
                key=taint.get("key"),
            )
            break


@of_nodes("gpus-advertised-twice")
def _twice(patient: Patient, node: SeenNode) -> Sighting | None:
    serving: dict[tuple[str, str], list[SeenPod]] = defaultdict(list)
    for part, pod in operands(patient.cluster, node.name):
        if part is Part.PLUGIN or (part is Part.DRA and node.name in patient.cluster.dra_nodes):
            serving[pod.owner[1] or pod.name, pod.namespace].append(pod)
    if len(serving) < 2:
        return None
    evidence = (Sign(pods[0].ref, "spec.nodeName", node.name) for pods in serving.values())
    names = ", ".join(sorted(f"{namespace}/{name}" for name, namespace in serving))
    return found_at(node, *evidence, count=len(serving), name=node.name, names=names)


CAUSES = (
    _failing("driver-image-missing", Part.DRIVER, image=True),
    _failing("driver-pod-fails", Part.DRIVER, image=False),
    _disabled,
    _machines,
    _failing("toolkit-pod-fails", Part.TOOLKIT),
    _runtime,
    _failing("mps-daemon-fails", Part.MPS),
    _failing("dra-driver-fails", Part.DRA),
    _twice,
    _kept_away,
    _no_gpu,
    _unresolved,
)
LATER = (
    _failing("plugin-pod-fails", Part.PLUGIN),
    _failing("mig-manager-fails", Part.MIG),
    _failing("discovery-pod-fails", Part.DISCOVERY),
    _failing("validator-fails", Part.VALIDATOR),
)
"""Looked for after layouts, which make them fail."""
