"""Causes of pods that wait, were refused by a kubelet, or were never made.

Sources: kubernetes `pkg/kubelet/cm/devicemanager` (requested number of devices unavailable, no
healthy devices), `pkg/kubelet/cm/topologymanager`, `pkg/kubelet/lifecycle` (UnexpectedAdmissionError);
NVIDIA/k8s-device-plugin `internal/plugin/server.go` (requests of shared resources);
kubernetes/autoscaler `cluster-autoscaler/FAQ.md` (NotTriggerScaleUp).
"""

import re
from collections.abc import Iterator

from gpufleet.documents.shapes import items
from gpufleet.findings import Severity
from gpufleet_policies.doctor.cause import Cause, Evidence, Found, Patient, found_at, Sure, cause
from gpufleet_policies.doctor.fit import device_resources, selector_text, shown
from gpufleet_policies.doctor.observed import PRODUCT, Node, Pod, Seen, is_device, text
from gpufleet_policies.doctor.pending import NodeAnswer, Proof, missing_volumes
from gpufleet_policies.doctor.pools import makes_gpus

_KUBE = "https://github.com/kubernetes/kubernetes/issues/"
_PLUGIN = "https://github.com/NVIDIA/k8s-device-plugin/issues/"
_SCHEDULER = "kubernetes/kubernetes pkg/scheduler/framework/plugins"
_DEFAULT = "default-scheduler"
KUEUE_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology")
_GPU, _SHARED, _MIG = "nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-"
_KNOWN_SCHEDULERS = {
    "kai-scheduler": ("scheduling.run.ai", "kai-scheduler"),
    "volcano": ("scheduling.volcano.sh", "volcano-scheduler"),
}


def waiting(patient: Patient) -> Iterator[Proof]:
    """Proofs of pods that the scheduler looks at and that no cause explains yet."""
    for proof in patient.proofs:
        if proof.pod.ref not in patient.explained and not proof.fits and not proof.pod.gates:
            yield proof


def _asked(pod: Pod) -> Evidence:
    shown_ = ", ".join(f"{n}: {c}" for n, c in pod.devices.items()) or "claims"
    return Evidence(pod.ref, "spec.containers[].resources", shown_)


def _many(proof: Proof) -> str:
    return f" (and {proof.same - 1} pods like it)" if proof.same > 1 else ""


def _gpus(proof: Proof) -> int:
    return proof.same * (sum(proof.pod.devices.values()) or 1)


def offered(patient: Patient) -> set[str]:
    """Accelerators that any node registers, with devices or without."""
    found = {name for node in patient.cluster.nodes.values() for name in node.capacity}
    found |= {name for node in patient.cluster.nodes.values() for name in node.allocatable}
    if patient.fleet is not None:
        found |= {name for pool in patient.fleet.pools for name in pool.advertised}
    return {name for name in found if is_device(name)}


def _with_devices(patient: Patient, pod: Pod) -> list[Node]:
    wanted = device_resources(pod)
    return [
        node
        for node in patient.cluster.nodes.values()
        if all(node.allocatable.get(name) for name in wanted)
    ]


@cause("pod-gated")
def gated(patient: Patient) -> Iterator[Found]:
    for proof in patient.proofs:
        others = [gate for gate in proof.pod.gates if gate not in KUEUE_GATES]
        if others and proof.pod.ref not in patient.explained:
            yield found_at(
                proof,
                Evidence(proof.pod.ref, "spec.schedulingGates", ", ".join(proof.pod.gates)),
                b=others[0],
                c=others[0].partition("/")[0],
            )


@cause("pod-scheduler-missing")
def no_scheduler(patient: Patient) -> Iterator[Found]:
    cluster = patient.cluster
    for proof in patient.proofs:
        name = proof.pod.scheduler
        if name == _DEFAULT or proof.pod.conditions.get("PodScheduled"):
            continue
        group, program = _KNOWN_SCHEDULERS.get(name, ("", name))
        runs = any(program in pod.name or program in " ".join(pod.images) for pod in cluster.pods)
        knows = group and any(text(s.raw.get("apiVersion")).startswith(group) for s in cluster.seen)
        if runs or knows:
            continue
        yield found_at(proof, Evidence(proof.pod.ref, "spec.schedulerName", name), name=name)


@cause("pod-volume-missing")
def no_volume(patient: Patient) -> Iterator[Found]:
    for proof in patient.proofs:
        missing = missing_volumes(patient.cluster, proof.pod)
        known = patient.cluster.has("PersistentVolumeClaim")
        said = text(proof.pod.conditions.get("PodScheduled", {}).get("message"))
        # Of a dump without claims only a pod that fits, and waits, says that one is missing.
        if not missing or not (known or proof.fits or "persistentvolumeclaim" in said):
            continue
        yield found_at(
            proof,
            Evidence(proof.pod.ref, "spec.volumes[].persistentVolumeClaim", missing[0]),
            b=missing[0],
        )


def _renamed(patient: Patient, name: str, given: set[str]) -> str:
    """Another name under which nodes offer what a pod asks for; empty: none."""
    slices = sorted(one for one in given if one.startswith(_MIG))
    if name == _GPU and (_SHARED in given or slices):
        return _SHARED if _SHARED in given else slices[0]
    if name.startswith(f"{_GPU}.") and _GPU in given:
        return _GPU
    if name.startswith(_MIG) and _GPU in given and not slices:
        profile = name.removeprefix(_MIG)
        for node in patient.cluster.nodes.values():
            if f"-MIG-{profile}" in node.labels.get(PRODUCT, ""):
                return _GPU
    return f"{name}.shared" if f"{name}.shared" in given else ""


@cause("pod-resource-renamed")
def renamed(patient: Patient) -> Iterator[Found]:
    given = offered(patient)
    for proof in waiting(patient):
        for name in device_resources(proof.pod):
            other = "" if name in given else _renamed(patient, name, given)
            if not other:
                continue
            yield found_at(
                proof,
                _asked(proof.pod),
                Evidence("Node", "status.allocatable", ", ".join(sorted(given))),
                name=name,
                other=other,
                b=proof.pod.devices[name],
            )
            break


def _would_offer(patient: Patient) -> bool:
    """Whether nodes or pools with GPUs are there that may come to offer something."""
    cluster = patient.cluster
    if any(makes_gpus(pool) for pool in cluster.all("NodePool")):
        return True
    return any(node.ref in patient.explained for node in cluster.nodes.values() if node.has_nvidia)


@cause("pod-resource-unknown")
def unknown(patient: Patient) -> Iterator[Found]:
    given = offered(patient)
    pools = [p for p in patient.cluster.all("NodePool") if p.spec.get("template")]
    for proof in waiting(patient):
        for name in device_resources(proof.pod):
            if name in given or (name == _GPU and (pools or _would_offer(patient))):
                continue
            near = ", ".join(sorted(given)) or "no accelerator at all"
            yield found_at(
                proof,
                _asked(proof.pod),
                Evidence("Node", "status.allocatable", near),
                fix=f"ask for one of {near}"
                if given
                else "add nodes with GPUs, and a device plugin",
                name=name,
            )
            break


@cause("pod-request-above-node")
def above(patient: Patient) -> Iterator[Found]:
    for proof in waiting(patient):
        nodes = _with_devices(patient, proof.pod)
        if not nodes or proof.pools or proof.before:
            continue
        for name, amount in proof.pod.requests.items():
            most = max((node.allocatable.get(name, 0) for node in nodes), default=0)
            if not amount or amount <= most:
                continue
            broken = any(
                node.ref in patient.explained and node.capacity.get(name, 0) >= amount
                for node in patient.cluster.nodes.values()
            )
            if broken:
                continue
            largest = max(nodes, key=lambda node: node.allocatable.get(name, 0))
            yield found_at(
                proof,
                Evidence(proof.pod.ref, f"requests[{name}]", shown(name, amount)),
                Evidence(
                    largest.ref,
                    f"status.allocatable[{name}]",
                    shown(name, largest.allocatable.get(name, amount * 0)),
                ),
                b=shown(name, amount),
                name=name,
                c=shown(name, largest.allocatable.get(name, amount * 0)),
                d=", and use several pods" if is_device(name) else "",
            )
            break


def _nearest(patient: Patient, proof: Proof) -> NodeAnswer | None:
    """The node with its devices that needs the smallest change; None where another cause explains
    the nodes, or pools decide."""
    nodes = {node.name for node in _with_devices(patient, proof.pod)}
    if proof.pod.claims and not proof.pod.devices:
        nodes = {n for n in patient.cluster.dra_nodes if n in patient.cluster.nodes}
    well = [
        one
        for one in proof.nodes
        if one.node in nodes and f"Node/{one.node}" not in patient.explained
    ]
    return min(well, key=lambda one: (one.cost, one.node), default=None)


def _blocked_by(patient: Patient, kind: str) -> Iterator[tuple[Proof, NodeAnswer, Node]]:
    for proof in waiting(patient):
        if proof.before or (proof.pools and any(not one.reason for one in proof.pools)):
            continue
        near = _nearest(patient, proof)
        if near is not None and near.first.filter == kind:
            yield proof, near, patient.cluster.nodes[near.node]


@cause("pod-taint-not-tolerated")
def taint(patient: Patient) -> Iterator[Found]:
    for proof, near, node in _blocked_by(patient, "TaintToleration"):
        yield found_at(
            proof,
            Evidence(
                proof.pod.ref,
                "spec.tolerations",
                f"{len(items(proof.pod.spec.get('tolerations')))} entries, none for it",
            ),
            Evidence(node.ref, "spec.taints", near.first.reason),
            fix=near.first.change,
            b=near.first.reason.removeprefix("node(s) had untolerated taint "),
        )


@cause("pod-selector-matches-no-node")
def selector(patient: Patient) -> Iterator[Found]:
    for proof, near, node in _blocked_by(patient, "NodeAffinity"):
        wrong = selector_text(proof.pod.spec, node)
        yield found_at(
            proof,
            Evidence(proof.pod.ref, "spec.nodeSelector, spec.affinity", wrong),
            Evidence(
                node.ref, f"metadata.labels[{PRODUCT}]", node.labels.get(PRODUCT, "not there")
            ),
            fix=near.first.change,
            wrong=wrong,
        )


@cause("autoscaler-at-maximum")
def at_maximum(patient: Patient) -> Iterator[Found]:
    for proof in waiting(patient):
        for event in patient.cluster.events_of(proof.pod):
            found = re.search(r"(\d+) max node group size reached", event.message)
            if event.reason != "NotTriggerScaleUp" or found is None:
                continue
            yield found_at(
                proof, Evidence(proof.pod.ref, "events[NotTriggerScaleUp]", found[0]), b=found[1]
            )
            break


@cause("pod-waits-for-busy-gpus")
def busy(patient: Patient) -> Iterator[Found]:
    for proof, near, node in _blocked_by(patient, "NodeResourcesFit"):
        if proof.pod.scheduler != _DEFAULT and proof.pod.labels.get("kai.scheduler/queue"):
            continue
        name = near.first.resource or "pods"
        holders = [p for p in patient.cluster.pods_on.get(node.name, ()) if p.requests.get(name)]
        holders.sort(key=lambda pod: -pod.requests[name])
        named = ", ".join(pod.ref.removeprefix("Pod/") for pod in holders[:3])
        yield found_at(
            proof,
            _asked(proof.pod),
            *(
                Evidence(pod.ref, f"requests[{name}]", shown(name, pod.requests[name]))
                for pod in holders[:3]
            ),
            near=near,
            node=node,
            b=f", held by {named}" if named else "",
        )


_REFUSED = (
    (
        "pod-shared-request-above-one",
        re.compile(r"maximum request size for shared resources is 1"),
        "A pod asks for more than one share; the plugin refuses it (failRequestsGreaterThanOne, and "
        "always under MPS).",
        "{name} asks for more than one share of a GPU, which the device plugin of {node} refuses",
        "ask for 1: several shares are not more of a GPU; or set failRequestsGreaterThanOne: false "
        "(time-slicing only)",
        (f"{_PLUGIN}929",),
    ),
    (
        "pod-devices-unavailable",
        re.compile(r"requested number of devices unavailable for \S+ Requested: \d+, Available: \d+"),
        "The kubelet has fewer devices free than the scheduler thought: devices of pods deleted by "
        "force stay taken until it restarts.",
        "{name} was refused: the kubelet of {node} has fewer devices free than its node shows",
        "delete the pod; if it comes again, restart the kubelet of {node}, and do not delete pods "
        "with --force",
        (f"{_KUBE}130145",),
    ),
    (
        "pod-devices-unhealthy",
        re.compile(r"no healthy devices present; cannot allocate unhealthy devices \S+"),
        "Every device of the node is unhealthy, or its plugin had not come back when the kubelet "
        "started the pod.",
        "{name} was refused: no device of {node} is healthy",
        "see that the device plugin of {node} runs and registers (after a reboot it comes after the "
        "pods), then delete the pod",
        ("https://github.com/trueforge-org/truecharts/issues/19201",),
    ),
    (
        "pod-topology-refused",
        re.compile(r"Resources cannot be allocated with Topology locality"),
        "The topology manager finds no NUMA node with the GPUs and CPUs of the pod.",
        "{name} was refused: no NUMA node of {node} has its GPUs and CPUs together",
        "keep small GPU pods off these nodes, ask for as many GPUs as one socket has, or use the "
        "policy best-effort or restricted; the scheduler does not see NUMA nodes",
        ("https://github.com/pytorch/ci-infra/issues/696", f"{_KUBE}84597"),
    ),
)  # fmt: skip


def _refusal(
    code: str, form: re.Pattern[str], title: str, said: str, fix: str, reports: tuple[str, ...]
) -> Cause:
    @cause(code, title, *reports)
    def find(patient: Patient) -> Iterator[Found]:
        groups: dict[tuple[str, str], list[Pod]] = {}
        for pod in patient.cluster.pods:
            found = form.search(text(pod.status.get("message")))
            if found is not None and pod.ref not in patient.explained:
                groups.setdefault((pod.node, found[0]), []).append(pod)
        for (node, words), pods in groups.items():
            pod = pods[0]
            more = f" (and {len(pods) - 1} pods like it)" if len(pods) > 1 else ""
            yield Found(
                pod.ref,
                said.format(name=f"{pod.name}{more}", node=node or "its node"),
                fix.format(node=node or "its node"),
                (
                    Evidence(pod.ref, "status.reason", text(pod.status.get("reason"))),
                    Evidence(pod.ref, "status.message", words.rstrip(".,")),
                ),
                gpus=sum(sum(one.devices.values()) for one in pods),
            )

    return find


_QUOTA = re.compile(r"exceeded quota: ([\w.-]+), requested: ([^,]+), used: ([^,]+), limited: (\S+)")
_CLASS = re.compile(r'RuntimeClass "([\w.-]+)" not found')


def _not_made(patient: Patient, form: re.Pattern[str]) -> Iterator[tuple[Seen, re.Match[str]]]:
    for (kind, namespace, name), events in patient.cluster.events.items():
        for event in events:
            found = form.search(event.message)
            if found is not None and event.reason == "FailedCreate":
                owner = patient.cluster.get(kind, name, namespace)
                metadata = {"name": name, "namespace": namespace}
                yield owner or Seen({"kind": kind, "metadata": metadata}), found
                break


@cause("pod-quota-exceeded")
def quota(patient: Patient) -> Iterator[Found]:
    for owner, found in _not_made(patient, _QUOTA):
        name, asked, used, most = found.groups()
        limit = most.rstrip(".")
        yield found_at(
            owner,
            Evidence(f"ResourceQuota/{owner.namespace}/{name}", "status.hard", limit),
            Evidence(f"ResourceQuota/{owner.namespace}/{name}", "status.used", used),
            name=name,
            limit=limit,
            used=used,
            asked=asked,
        )


@cause("pod-runtime-class-missing")
def no_class(patient: Patient) -> Iterator[Found]:
    for owner, found in _not_made(patient, _CLASS):
        yield found_at(
            owner, Evidence(owner.ref, "spec.template.spec.runtimeClassName", found[1]), a=found[1]
        )


CAUSES = (
    *(_refusal(*row) for row in _REFUSED),
    quota,
    no_class,
    gated,
    no_scheduler,
    no_volume,
    renamed,
    unknown,
    above,
    at_maximum,
    taint,
    selector,
    busy,
)
